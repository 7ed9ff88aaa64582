package random

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

func drawType(d dice, name string) scenario.Type {
	cores := pick(d, 1, 2, 4, 8, 16)
	t := scenario.Type{
		Name: name, CPU: fmt.Sprint(cores), Memory: fmt.Sprintf("%dGi", cores*pick(d, 1, 2, 4, 8)),
		Pods:   int64(pick(d, 3, 8, 20, 110)),
		Arch:   pick(d, "amd64", "amd64", "arm64"),
		Price:  float64(cores) * float64(d.between(80, 130)) / 1000,
		Zones:  some(d, zones...),
		Labels: map[string]string{Family: pick(d, families...), Generation: pick(d, generations...)},
	}
	if d.oneIn(2) {
		t.Spot = t.Price * float64(d.between(20, 110)) / 100
	}
	if d.oneIn(5) {
		t.Reserved = d.between(1, 2)
	}
	if d.oneIn(4) {
		t.Out = []string{pick(d, zones...) + "/" + pick(d, apiv1.CapacityTypeOnDemand, apiv1.CapacityTypeSpot)}
	}
	for _, r := range resources {
		if d.oneIn(4) || r == "ephemeral-storage" {
			t.Also = with(t.Also, r, amount(r, d.between(2, 8)))
		}
	}
	return t
}

// amount returns n units of the resource. A unit has a size that pods usually request.
func amount(resource string, n int) string {
	switch resource {
	case "hugepages-2Mi":
		return fmt.Sprintf("%dMi", 64*n)
	case "ephemeral-storage":
		return fmt.Sprintf("%dGi", 10*n)
	}
	return fmt.Sprint(n)
}

func with(m map[string]string, key, value string) map[string]string {
	if m == nil {
		m = map[string]string{}
	}
	m[key] = value
	return m
}

func drawPool(d dice, name string, c *scenario.Cluster) scenario.Pool {
	p := scenario.Pool{Name: name, Weight: int32(pick(d, 0, 0, 10, 20))}
	if d.oneIn(3) {
		p.Taints = append(p.Taints, taint(d))
	}
	if d.oneIn(4) {
		p.Startup = append(p.Startup, corev1.Taint{Key: "starting", Effect: corev1.TaintEffectNoSchedule})
	}
	if d.oneIn(3) {
		p.Labels = map[string]string{Team: pick(d, teams...)}
	}
	for range d.between(0, 2) {
		p.Requirements = append(p.Requirements, drawRequirement(d, c))
	}
	if d.oneIn(5) {
		p.Limits = corev1.ResourceList{}
		if d.oneIn(2) {
			p.Limits["cpu"] = *resource.NewQuantity(int64(d.between(2, 40)), resource.DecimalSI)
		}
		if d.oneIn(2) {
			p.Limits["nodes"] = *resource.NewQuantity(int64(d.between(1, 5)), resource.DecimalSI)
		}
	}
	p.NotReady = d.oneIn(25)
	if d.oneIn(30) {
		n := int64(2)
		p.Replicas = &n
	}
	return p
}

// drawRequirement draws one requirement of a pool's template.
func drawRequirement(d dice, c *scenario.Cluster) apiv1.NodeSelectorRequirementWithMinValues {
	r := apiv1.NodeSelectorRequirementWithMinValues{Operator: corev1.NodeSelectorOpIn}
	switch d.IntN(8) {
	case 0, 1:
		r.Key, r.Values = corev1.LabelTopologyZone, some(d, zones...)
		r.Operator = pick(d, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn)
		if len(r.Values) == len(zones) {
			r.Operator = corev1.NodeSelectorOpIn
		}
	case 2:
		r.Key = apiv1.CapacityTypeLabelKey
		r.Values = some(d, apiv1.CapacityTypeOnDemand, apiv1.CapacityTypeSpot, apiv1.CapacityTypeReserved)
	case 3:
		r.Key, r.Values = Generation, []string{pick(d, "3", "4", "5")}
		r.Operator = pick(d, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt, apiv1.NodeSelectorOpGte, apiv1.NodeSelectorOpLte)
	case 4, 5:
		r.Key, r.Values = Rack, some(d, racks...)
		r.Operator = pick(d, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn,
			corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist)
	case 6:
		r.Key, r.Values = Family, []string{pick(d, families...)}
		r.Operator = pick(d, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists)
	case 7:
		r.Key, r.Operator = corev1.LabelInstanceTypeStable, corev1.NodeSelectorOpExists
		least := d.between(1, min(3, len(c.Types)))
		r.MinValues = &least
	}
	if r.Operator == corev1.NodeSelectorOpExists || r.Operator == corev1.NodeSelectorOpDoesNotExist {
		r.Values = nil
	}
	return r
}

// drawNode draws a node of a pool, or of no pool.
func drawNode(d dice, name string, c *scenario.Cluster) scenario.Node {
	t := pick(d, c.Types...)
	n := scenario.Node{Name: name, Type: t.Name, Zone: pick(d, t.Zones...), Labels: map[string]string{}}
	if t.Spot > 0 && d.oneIn(2) {
		n.CapacityType = apiv1.CapacityTypeSpot
	}
	if !d.oneIn(4) {
		p := pick(d, c.Pools...)
		n.Pool, n.Taints = p.Name, p.Taints
		for key, v := range p.Labels {
			n.Labels[key] = v
		}
		n.Starting = d.oneIn(5)
		n.Deleting = d.oneIn(8)
	} else if d.oneIn(4) {
		n.Taints = append(n.Taints, taint(d))
	}
	if d.oneIn(3) {
		n.Labels[Rack] = pick(d, racks...)
	}
	n.NotReady, n.Cordoned = d.oneIn(12), d.oneIn(12)
	if d.oneIn(4) {
		n.Attach = map[string]int32{scenario.Driver: int32(d.between(0, 2))}
	}
	if n.Starting {
		return n
	}
	for i := range d.between(0, 3) {
		p := drawBound(d, fmt.Sprintf("%s-%d", name, i), c)
		n.Pods = append(n.Pods, p)
	}
	return n
}

func drawClaim(d dice, name string, c *scenario.Cluster) scenario.Claim {
	p := pick(d, c.Pools...)
	cl := scenario.Claim{Name: name, Pool: p.Name, Taints: p.Taints}
	for _, t := range some(d, c.Types...) {
		cl.Types = append(cl.Types, t.Name)
	}
	if d.oneIn(2) {
		cl.Zones = some(d, zones...)
	}
	return cl
}
