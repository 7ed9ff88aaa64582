package verify

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// limits checks that no pool exceeds its limits by the planned nodes, even if each is launched as its largest option.
func (c *checker) limits() {
	existing := append(slices.Clone(c.snapshot.Nodes()), c.removed...)
	for i, detail := range c.catalog.excesses(c.plan.Nodes, existing, nil) {
		if detail != "" {
			c.add(Violation{Rule: RuleLimits, Pool: c.plan.Nodes[i].Pool.Name, Detail: detail})
		}
	}
}

// Charge returns the most that the planned node can add to the usage of its pool.
func Charge(n *model.PlannedNode) model.Resources { return largest(n.Options) }

// WithinLimits reports for each planned node whether its launch keeps its pool within the limits. The nodes before it
// in the list that are within the limits count as launched. reserved is, by pool, the capacity of nodes that are about
// to be launched and are not in s.
func (r Rules) WithinLimits(s *model.Snapshot, nodes []model.PlannedNode, reserved map[string]model.Resources) []bool {
	ok := make([]bool, len(nodes))
	for i, detail := range newCatalog(s, r).excesses(nodes, s.Nodes(), reserved) {
		ok[i] = detail == ""
	}
	return ok
}

// excesses returns for each planned node how its launch would exceed a limit of its pool, empty if it would not. The pool
// then has the existing nodes, the reserved capacity, and the nodes before it in the list that exceed no limit. Resources
// that the node does not have are not compared.
func (c *catalog) excesses(nodes []model.PlannedNode, existing []*model.Node, reserved map[string]model.Resources) []string {
	used, details := make(map[string]model.Resources), make([]string, len(nodes))
	for i := range nodes {
		pool := nodes[i].Pool
		if pool == nil || pool.Object == nil || len(pool.Object.Spec.Limits) == 0 {
			continue
		}
		if used[pool.Name] == nil {
			used[pool.Name] = c.usage(pool.Name, existing)
			used[pool.Name] = used[pool.Name].Plus(reserved[pool.Name])
		}
		have, plus := used[pool.Name], largest(nodes[i].Options)
		limits := model.CapacityOf(corev1.ResourceList(pool.Object.Spec.Limits))
		for _, name := range limits.Names() {
			if plus[name] > 0 && have[name]+plus[name] > limits[name] {
				details[i] = fmt.Sprintf("may have %d of %s, has %d and would get up to %d more",
					limits[name], name, have[name], plus[name])
				break
			}
		}
		if details[i] == "" {
			used[pool.Name] = have.Plus(plus)
		}
	}
	return details
}

// largest returns the maximum of each resource over the types, and 1 of the resource "nodes".
func largest(types []*model.InstanceType) model.Resources {
	most := model.Resources{model.Nodes: 1}
	for _, t := range types {
		for name, v := range t.Capacity {
			most[name] = max(most[name], v)
		}
	}
	return most
}

// usage returns the sum of the capacity of the nodes that belong to the pool. A claim that is not launched counts as
// the largest type that may be launched for it.
func (c *catalog) usage(pool string, nodes []*model.Node) model.Resources {
	sum := model.Resources{}
	for _, n := range nodes {
		switch {
		case n.Pool != pool:
		case n.Launched():
			sum = sum.Plus(n.Capacity)
		default:
			sum = sum.Plus(largest(c.claimTypes(n)))
		}
	}
	return sum
}
