package verify

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/verify/nodematch"
)

// limits checks that no pool exceeds its limits by the planned nodes, even if each is launched as its largest option.
func (c *checker) limits() {
	added := make(map[string]amounts)
	for i := range c.plan.Nodes {
		n := &c.plan.Nodes[i]
		if !limited(n.Pool) {
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
		have := c.catalog.usage(pool.Name, c.snapshot.Nodes())
		have.add(c.catalog.usage(pool.Name, c.removed))
		limits := floorOf(corev1.ResourceList(pool.Object.Spec.Limits))
		if name, ok := within(have, plus, limits); !ok {
			c.add(Violation{Rule: RuleLimits, Pool: pool.Name, Detail: fmt.Sprintf(
				"may have %d of %s, has %d and would get up to %d more",
				limits[name], name, have[name], plus[name])})
		}
	}
}

// limited reports whether the pool has limits.
func limited(pool *model.Pool) bool {
	return pool != nil && pool.Object != nil && len(pool.Object.Spec.Limits) > 0
}

// within reports whether have and plus together are within the limits. Resources of which plus has nothing are not compared.
// If the result is false, name is the first resource that exceeds its limit.
func within(have, plus, limits amounts) (name corev1.ResourceName, ok bool) {
	for _, name := range limits.names() {
		if plus[name] > 0 && have[name]+plus[name] > limits[name] {
			return name, false
		}
	}
	return "", true
}

// Charge returns the most that the planned node can add to the usage of its pool.
func Charge(n *model.PlannedNode) model.Resources { return model.Resources(largest(n.Options)) }

// WithinLimits reports for each planned node whether its launch keeps its pool within the limits. The nodes before it
// in the list that are within the limits count as launched. reserved is, by pool, the capacity of nodes that are about
// to be launched and are not in s.
func (r Rules) WithinLimits(s *model.Snapshot, nodes []model.PlannedNode, reserved map[string]model.Resources) []bool {
	catalog := newCatalog(s, nodematch.NewIndex(apiv1.CoreLabels().With(r.Labels).Aliases))
	have, ok := map[string]amounts{}, make([]bool, len(nodes))
	for i := range nodes {
		pool := nodes[i].Pool
		if !limited(pool) {
			ok[i] = true
			continue
		}
		if have[pool.Name] == nil {
			have[pool.Name] = catalog.usage(pool.Name, s.Nodes())
			have[pool.Name].add(amounts(reserved[pool.Name]))
		}
		charge := largest(nodes[i].Options)
		if _, ok[i] = within(have[pool.Name], charge, floorOf(corev1.ResourceList(pool.Object.Spec.Limits))); ok[i] {
			have[pool.Name].add(charge)
		}
	}
	return ok
}

// largest returns the maximum of each resource over the types, and 1 of the resource "nodes".
func largest(types []*model.InstanceType) amounts {
	most := amounts{model.Nodes: 1}
	for _, t := range types {
		for name, v := range t.Capacity {
			most[name] = max(most[name], v)
		}
	}
	return most
}

// usage returns the sum of the capacity of the nodes that belong to the pool. A claim that is not launched counts as
// the largest type that may be launched for it.
func (c *catalog) usage(pool string, nodes []*model.Node) amounts {
	sum := amounts{}
	for _, n := range nodes {
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
