package provision

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// inZones returns a required node affinity. Each argument is a term with these zones. An argument without zones is a term about
// another key.
func inZones(terms ...[]string) *corev1.Affinity {
	selector := &corev1.NodeSelector{}
	for _, zones := range terms {
		expression := corev1.NodeSelectorRequirement{Key: corev1.LabelTopologyZone, Operator: corev1.NodeSelectorOpIn, Values: zones}
		if zones == nil {
			expression = corev1.NodeSelectorRequirement{Key: "team", Operator: corev1.NodeSelectorOpExists}
		}
		selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, corev1.NodeSelectorTerm{
			MatchExpressions: []corev1.NodeSelectorRequirement{expression},
		})
	}
	return &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: selector}}
}

// spreadOver returns a required spread constraint over zones for the pods with label app=web.
func spreadOver(change func(*corev1.TopologySpreadConstraint)) []corev1.TopologySpreadConstraint {
	c := corev1.TopologySpreadConstraint{
		MaxSkew: 1, TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.DoNotSchedule,
		LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
	}
	if change != nil {
		change(&c)
	}
	return []corev1.TopologySpreadConstraint{c}
}

// threeZones returns a cluster with nodes in the zones a, b and c, on which two, one and one pods of app=web run. Claim "disk" is
// bound to a volume in zone a or b.
func threeZones() *model.Snapshot {
	var d model.Delta
	for i, zone := range []string{"a", "a", "b", "c"} {
		name := fmt.Sprintf("node-%d", i)
		d.Nodes = append(d.Nodes, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{corev1.LabelTopologyZone: zone},
		}})
		d.Pods = append(d.Pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "web-" + name, Labels: map[string]string{"app": "web"}},
			Spec:       corev1.PodSpec{NodeName: name}, Status: corev1.PodStatus{Phase: corev1.PodRunning},
		})
	}
	d.VolumeClaims = []*corev1.PersistentVolumeClaim{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "disk", Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"}},
		Spec:       corev1.PersistentVolumeClaimSpec{VolumeName: "pv"},
		Status:     corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound},
	}}
	affinity := inZones([]string{"a"}, []string{"b"}).NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	d.Volumes = []*corev1.PersistentVolume{{
		ObjectMeta: metav1.ObjectMeta{Name: "pv"},
		Spec: corev1.PersistentVolumeSpec{
			ClaimRef:     &corev1.ObjectReference{Namespace: "ns", Name: "disk"},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: affinity},
		},
	}}
	return (&model.Snapshot{}).Apply(d)
}

func TestEffectiveZone(t *testing.T) {
	in := func(zone string) map[string]string { return map[string]string{corev1.LabelTopologyZone: zone} }
	disk := []corev1.Volume{{VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "disk"},
	}}}
	lost := []corev1.Volume{{VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "lost"},
	}}}
	for _, tt := range []struct {
		name string
		spec corev1.PodSpec
		want string
	}{
		{"no constraint", corev1.PodSpec{}, "flexible"},
		{"selector", corev1.PodSpec{NodeSelector: in("a")}, "a"},
		{"selector by deprecated label", corev1.PodSpec{NodeSelector: map[string]string{corev1.LabelFailureDomainBetaZone: "a"}}, "a"},
		{"deprecated label and affinity contradict", corev1.PodSpec{
			NodeSelector: map[string]string{corev1.LabelFailureDomainBetaZone: "a"}, Affinity: inZones([]string{"b"}),
		}, "none"},
		{"two zones", corev1.PodSpec{Affinity: inZones([]string{"a", "b"})}, "flexible"},
		{"selector and affinity meet", corev1.PodSpec{NodeSelector: in("a"), Affinity: inZones([]string{"a", "b"})}, "a"},
		{"contradiction", corev1.PodSpec{NodeSelector: in("a"), Affinity: inZones([]string{"b"})}, "none"},
		{"alternatives", corev1.PodSpec{Affinity: inZones([]string{"a"}, []string{"b"})}, "flexible"},
		{"one alternative is free", corev1.PodSpec{Affinity: inZones([]string{"a"}, nil)}, "flexible"},
		{"volume in two zones", corev1.PodSpec{Volumes: disk}, "flexible"},
		{"volume and selector meet", corev1.PodSpec{Volumes: disk, NodeSelector: in("b")}, "b"},
		{"volume and selector contradict", corev1.PodSpec{Volumes: disk, NodeSelector: in("c")}, "none"},
		{"volume claim does not exist", corev1.PodSpec{Volumes: lost}, "none"},
		{"spread allows the zones with fewest", corev1.PodSpec{TopologySpreadConstraints: spreadOver(nil)}, "flexible"},
		{"spread and volume meet", corev1.PodSpec{TopologySpreadConstraints: spreadOver(nil), Volumes: disk}, "b"},
		{"spread counts only eligible zones", corev1.PodSpec{
			TopologySpreadConstraints: spreadOver(nil), NodeSelector: in("a"),
		}, "a"},
		{"spread that ignores the selector", corev1.PodSpec{
			TopologySpreadConstraints: spreadOver(func(c *corev1.TopologySpreadConstraint) {
				ignore := corev1.NodeInclusionPolicyIgnore
				c.NodeAffinityPolicy = &ignore
			}), NodeSelector: in("a"),
		}, "none"},
		{"a preference does not count", corev1.PodSpec{
			TopologySpreadConstraints: spreadOver(func(c *corev1.TopologySpreadConstraint) {
				c.WhenUnsatisfiable = corev1.ScheduleAnyway
			}), Volumes: disk,
		}, "flexible"},
		{"fewer zones than minDomains", corev1.PodSpec{
			TopologySpreadConstraints: spreadOver(func(c *corev1.TopologySpreadConstraint) {
				four := int32(4)
				c.MinDomains = &four
			}),
		}, "none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.spec.Containers = []corev1.Container{{Name: "main"}}
			p := model.NewPod(&corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", Labels: map[string]string{"app": "web"}}, Spec: tt.spec,
			})
			if got := newZones(threeZones(), []*model.Pod{p}, apiv1.CoreLabels().Aliases, nil).of(p); got != tt.want {
				t.Errorf("zone is %q, want %q", got, tt.want)
			}
		})
	}
}

// Default spread constraints count for pods without constraints of their own.
func TestEffectiveZoneOfDefaultSpread(t *testing.T) {
	defaults := func(*model.Pod) []corev1.TopologySpreadConstraint { return spreadOver(nil) }
	affinity := inZones([]string{"a", "b"})
	own := spreadOver(func(c *corev1.TopologySpreadConstraint) { c.WhenUnsatisfiable = corev1.ScheduleAnyway })
	for want, spec := range map[string]corev1.PodSpec{
		"b": {Affinity: affinity}, "flexible": {Affinity: affinity, TopologySpreadConstraints: own},
	} {
		p := model.NewPod(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", Labels: map[string]string{"app": "web"}}, Spec: spec,
		})
		if got := newZones(threeZones(), []*model.Pod{p}, nil, defaults).of(p); got != want {
			t.Errorf("zone is %q, want %q", got, want)
		}
	}
}
