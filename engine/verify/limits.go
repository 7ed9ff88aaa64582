package verify

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// limits checks that no pool exceeds its limits, even if each planned node is launched as its largest option.
func (c *checker) limits() {
	added := make(map[string]amounts)
	for i := range c.plan.Nodes {
		n := &c.plan.Nodes[i]
		if n.Pool == nil || n.Pool.Object == nil || len(n.Pool.Object.Spec.Limits) == 0 {
			continue
		}
		if added[n.Pool.Name] == nil {
			added[n.Pool.Name] = amounts{}
		}
		added[n.Pool.Name].add(largest(n.Options))
	}
	for _, pool := range c.snapshot.Pools() {
		plus := added[pool.Name]
		if plus == nil {
			continue
		}
		have := c.catalog.usage(pool.Name)
		limits := floorOf(corev1.ResourceList(pool.Object.Spec.Limits))
		for _, name := range limits.names() {
			if plus[name] > 0 && have[name]+plus[name] > limits[name] {
				c.add(Violation{Rule: RuleLimits, Pool: pool.Name, Detail: fmt.Sprintf(
					"may have %d of %s, has %d and would get up to %d more",
					limits[name], name, have[name], plus[name])})
			}
		}
	}
}

// largest returns the maximum of each resource over the types, and one of "nodes".
func largest(types []*model.InstanceType) amounts {
	most := amounts{model.Nodes: 1}
	for _, t := range types {
		for name, v := range t.Capacity {
			most[name] = max(most[name], v)
		}
	}
	return most
}

// usage returns the capacity of the nodes of a pool. A claim that is not launched counts as the largest type that may
// be launched for it.
func (c *catalog) usage(pool string) amounts {
	sum := amounts{}
	for _, n := range c.snapshot.Nodes() {
		switch {
		case poolOf(n) != pool:
			continue
		case !launched(n):
			sum.add(largest(c.claimTypes(n)))
			continue
		}
		sum[model.Nodes]++
		var node, claim corev1.ResourceList
		if n.Object != nil {
			node = n.Object.Status.Capacity
		}
		if n.Claim != nil {
			claim = n.Claim.Status.Capacity
		}
		sum.add(reported(n, node, claim))
	}
	return sum
}

// floorOf converts capacities and limits and rounds fractions down.
func floorOf(list corev1.ResourceList) amounts {
	out := amountsOf(list)
	for name, v := range out {
		q := list[name]
		back := model.Quantity(name, v)
		if back.Cmp(q) > 0 {
			out[name] = v - 1
		}
	}
	return out
}
