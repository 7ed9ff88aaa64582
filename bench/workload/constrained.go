package workload

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	zone = corev1.LabelTopologyZone
	host = corev1.LabelHostname
)

func (m *maker) diverse() {
	cpu := func() int64 { return pick[int64](m.dice, 100, 250, 500, 1000, 1500) }
	memory := func() int64 { return pick[int64](m.dice, 100, 256, 512, 1024, 2048, 4096) }
	letter := func(key string) map[string]string {
		return map[string]string{key: pick(m.dice, "a", "b", "c", "d", "e", "f", "g")}
	}
	fifth := m.want / 5
	for range fifth {
		m.add(letter("my-label"), cpu(), memory(), corev1.PodSpec{})
	}
	for _, key := range []string{zone, host} {
		for range fifth {
			m.add(letter("my-label"), cpu(), memory(), corev1.PodSpec{
				TopologySpreadConstraints: spread(key, corev1.DoNotSchedule, letter("my-label")),
			})
		}
	}
	for range fifth {
		labels := letter("my-affinity")
		m.add(labels, cpu(), memory(), corev1.PodSpec{Affinity: together(zone, labels)})
	}
	for range fifth {
		labels := map[string]string{"app": "nginx"}
		m.add(labels, cpu(), memory(), corev1.PodSpec{Affinity: apart(host, labels)})
	}
	m.until(func() { m.add(letter("my-label"), cpu(), memory(), corev1.PodSpec{}) })
}

func (m *maker) prefs() {
	cpu := pick[int64](m.dice, 100, 250, 500, 1000, 1500)
	memory := pick[int64](m.dice, 100, 256, 512, 1024, 2048, 4096)
	labels := map[string]string{"app": "nginx"}
	affinity := &corev1.Affinity{
		NodeAffinity: &corev1.NodeAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.PreferredSchedulingTerm{
			{Weight: 1, Preference: inZone("us-east-1a")},
		}},
		PodAntiAffinity: &corev1.PodAntiAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
			{Weight: 10, PodAffinityTerm: term(zone, labels)},
			{Weight: 1, PodAffinityTerm: term(host, labels)},
		}},
	}
	for range m.want {
		m.add(labels, cpu, memory, corev1.PodSpec{Affinity: affinity.DeepCopy()})
	}
}

// service adds a deployment with a random constraint for its own pods, or none, see Services.
func (m *maker) service() {
	labels := map[string]string{"app": fmt.Sprintf("s%d", m.apps)}
	m.apps++
	cpu := pick[int64](m.dice, 50, 100, 250, 500, 1000, 2000)
	memory := int64(float64(cpu)*pick(m.dice, 1.0, 2, 4, 8)) + 64
	replicas := pick(m.dice, 2, 3, 3, 6, 9, 15, 30)
	var spec corev1.PodSpec
	switch m.IntN(12) {
	case 0, 1, 2:
		spec.TopologySpreadConstraints = spread(zone, corev1.DoNotSchedule, labels)
	case 3:
		spec.TopologySpreadConstraints = append(spread(zone, corev1.DoNotSchedule, labels), spread(host, corev1.ScheduleAnyway, labels)...)
	case 4:
		spec.TopologySpreadConstraints = spread(host, corev1.DoNotSchedule, labels)
	case 5:
		spec.Affinity, replicas = apart(host, labels), min(replicas, 6)
	case 6:
		spec.Affinity = together(zone, labels)
	case 7:
		spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{
				inZone(pick(m.dice, "us-east-1a", "us-east-1b")),
			}},
		}}
	case 8:
		spec.NodeSelector = map[string]string{corev1.LabelArchStable: pick(m.dice, "amd64", "arm64")}
	}
	for range min(replicas, m.want-len(m.pods)) {
		m.add(labels, cpu, memory, *spec.DeepCopy())
	}
}

func inZone(name string) corev1.NodeSelectorTerm {
	return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{
		{Key: zone, Operator: corev1.NodeSelectorOpIn, Values: []string{name}},
	}}
}

func spread(key string, action corev1.UnsatisfiableConstraintAction, labels map[string]string) []corev1.TopologySpreadConstraint {
	return []corev1.TopologySpreadConstraint{{
		MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: action, LabelSelector: &metav1.LabelSelector{MatchLabels: labels},
	}}
}

func term(key string, labels map[string]string) corev1.PodAffinityTerm {
	return corev1.PodAffinityTerm{TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: labels}}
}

func together(key string, labels map[string]string) *corev1.Affinity {
	return &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term(key, labels)},
	}}
}

func apart(key string, labels map[string]string) *corev1.Affinity {
	return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term(key, labels)},
	}}
}
