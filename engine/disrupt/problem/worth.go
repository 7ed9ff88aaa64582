package problem

import (
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/binpack/lp"
	"github.com/karpenter-go/karpenter/engine/model"
)

// dualPrices has the dual price of one unit of each resource, in dollars per hour. The prices are those of a linear
// program that buys the total demand of the candidates' pods in fractions of the cheapest offerings. At dual prices,
// the resources of no instance type cost more than the type. So the worth of pods is a lower bound of the price of any
// nodes that hold them.
type dualPrices map[corev1.ResourceName]float64

// worth returns the worth of the amounts in dollars per hour.
func (t dualPrices) worth(r model.Resources) float64 {
	total := 0.0
	for _, name := range r.Names() {
		total += t[name] * float64(max(r[name], 0))
	}
	return total
}

// setWorths sets the worth of the pods of each candidate.
func (p *Problem) setWorths() {
	demand := model.Resources{}
	for _, c := range p.Candidates {
		for _, pod := range c.Pods {
			for name, v := range pod.Requests {
				demand[name] += v
			}
		}
	}
	p.prices = solveDual(p.Snapshot, demand)
	for _, c := range p.Candidates {
		for _, pod := range c.Pods {
			c.Worth += p.prices.worth(pod.Requests)
		}
	}
}

// FullWorth returns the worth of the capacity that DaemonSet pods leave on the node, as a share of the node's price, +Inf if
// the node costs nothing. The worth of the pods that the node could hold is at most that.
func (p *Problem) FullWorth(c *Candidate) float64 {
	if c.Price <= 0 {
		return math.Inf(1)
	}
	return p.prices.worth(c.Node.Allocatable.Minus(c.Node.DaemonUsed)) / c.Price
}

// solveDual solves the dual linear program
//
//	maximise    sum over r of demand[r]*y[r]
//	subject to  sum over r of allocatable[r]*y[r] <= price   for every type,   y >= 0
//
// The types are those that usable NodePools may launch, each with the price of its cheapest offering there. Types that cost
// nothing are ignored. Amounts are scaled by the total demand, for numerical accuracy. A resource without demand, or that no
// type has, has no price.
func solveDual(s *model.Snapshot, demand model.Resources) dualPrices {
	var types []*model.InstanceType
	var prices []float64
	for _, pool := range s.Pools() {
		if !pool.Usable().OK() {
			continue
		}
		for t, o := range model.Launchable(s.Types(pool.Name), pool.Requirements) {
			if o.Price > 0 {
				types, prices = append(types, t), append(prices, o.Price)
			}
		}
	}
	names := slices.DeleteFunc(demand.Names(), func(name corev1.ResourceName) bool {
		return demand[name] <= 0 || !slices.ContainsFunc(types, func(t *model.InstanceType) bool { return t.Allocatable[name] > 0 })
	})
	program := lp.NewProgram(slices.Repeat([]float64{1}, len(names)))
	for i, t := range types {
		row := make([]float64, len(names))
		for j, name := range names {
			row[j] = float64(max(t.Allocatable[name], 0)) / float64(demand[name])
		}
		program.AddRow(row, prices[i])
	}
	program.Solve()
	solution := make([]float64, len(names))
	program.Solution(solution)
	y := dualPrices{}
	for j, name := range names {
		if solution[j] > 0 {
			y[name] = solution[j] / float64(demand[name])
		}
	}
	return y
}
