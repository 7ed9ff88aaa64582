package random

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/engine/scenario"
)

// The features in this file are drawn after all others. So the other objects of the cluster of a seed do not depend on
// them.

// drawAttach gives attach limits to some types.
func drawAttach(d dice, c *scenario.Cluster) {
	for i := range c.Types {
		if d.oneIn(4) {
			c.Types[i].Attach = map[string]int{scenario.Driver: d.between(0, 2)}
		}
	}
}

// drawDaemonSetRules gives some DaemonSets labels that selectors of pods may match, and a namespace that pods may have
// too. Some of these DaemonSets become uncertain: by required anti-affinity, or by a host port that another DaemonSet
// may have too.
func drawDaemonSetRules(d dice, c *scenario.Cluster) {
	for i := range c.Daemons {
		p := &c.Daemons[i]
		if d.oneIn(2) {
			continue
		}
		p.Space, p.Labels = pick(d, "", "", "blue", "system"), podLabels(d)
		switch d.IntN(6) {
		case 0:
			a := affinity(&p.Spec)
			a.PodAntiAffinity = &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{podAffinityTerm(d, podLabels(d))},
			}
		case 1:
			if len(p.Spec.Containers[0].Ports) == 0 {
				drawPorts(d, &p.Spec)
			}
		}
	}
}

// drawChain gives a pod required affinity to another pod, and maybe a third pod affinity to the second.
func drawChain(d dice, c *scenario.Cluster) {
	if len(c.Pods) < 2 || !d.oneIn(5) {
		return
	}
	key := domain(d)
	for i := 1; i < min(len(c.Pods), d.between(2, 3)); i++ {
		link := fmt.Sprint(i)
		to, p := &c.Pods[i-1], &c.Pods[i]
		to.Labels = maps.Clone(to.Labels)
		to.Labels["link"] = link
		p.Space = to.Space
		for j := range p.Spec.Volumes {
			if p.Spec.Volumes[j].PersistentVolumeClaim != nil {
				p.Spec.Volumes = nil // the PersistentVolumeClaims of the pod are in its old namespace
				break
			}
		}
		a := affinity(&p.Spec)
		if a.PodAffinity == nil {
			a.PodAffinity = &corev1.PodAffinity{}
		}
		a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = []corev1.PodAffinityTerm{{
			TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"link": link}},
		}}
	}
}

// drawDefaultSpread draws default spread constraints. They apply to pods that a service selects and that have no
// constraints of their own.
func drawDefaultSpread(d dice, c *scenario.Cluster) {
	if !d.oneIn(6) {
		return
	}
	for _, key := range some(d, corev1.LabelTopologyZone, corev1.LabelHostname) {
		c.Spread = append(c.Spread, corev1.TopologySpreadConstraint{
			MaxSkew: int32(d.between(1, 3)), TopologyKey: key,
			WhenUnsatisfiable: pick(d, corev1.DoNotSchedule, corev1.DoNotSchedule, corev1.ScheduleAnyway),
		})
	}
	for i := range d.between(1, 2) {
		c.Services = append(c.Services, scenario.Service{
			Name: fmt.Sprintf("service%d", i), Space: pick(d, "", "", "blue"), Selector: map[string]string{"app": pick(d, apps...)},
		})
	}
}

// drawUncertainDaemonSets gives some DaemonSets required affinity to other pods, or spread constraints. So a node that such a
// DaemonSet selects may not run its pod.
func drawUncertainDaemonSets(d dice, c *scenario.Cluster) {
	for i := range c.Daemons {
		p := &c.Daemons[i]
		switch d.IntN(8) {
		case 0:
			a := affinity(&p.Spec)
			if a.PodAffinity == nil {
				a.PodAffinity = &corev1.PodAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{podAffinityTerm(d, podLabels(d))},
				}
			}
		case 1:
			drawSpread(d, p)
		}
	}
}
