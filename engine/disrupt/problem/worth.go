package problem

import (
	"cmp"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/binpack/lp"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A tariff has the dual price of one unit of each resource, in dollars per hour. The prices are those of a linear
// program that buys the total demand of the candidates' pods in fractions of the cheapest offerings. At dual prices,
// the resources of no instance type cost more than the type. So the worth of pods is a lower bound of the price of any
// nodes that hold them.
type tariff map[corev1.ResourceName]float64

// worth returns the worth of the amounts in dollars per hour.
func (t tariff) worth(r model.Resources) float64 {
	total := 0.0
	for _, name := range r.Names() {
		total += t[name] * float64(max(r[name], 0))
	}
	return total
}

// appraise sets the worth of the pods of each candidate.
func (p *Problem) appraise() {
	demand := model.Resources{}
	for _, c := range p.Candidates {
		for _, pod := range c.Pods {
			for name, v := range pod.Requests {
				demand[name] += v
			}
		}
	}
	types, prices := p.machines()
	p.tariff = tariffOf(demand, types, prices)
	for _, c := range p.Candidates {
		for _, pod := range c.Pods {
			c.Worth += p.tariff.worth(pod.Requests)
		}
	}
}

// FullWorth returns the worth of the capacity that DaemonSet pods leave on the node, as a share of the node's price, +Inf if
// the node costs nothing. The worth of the pods that the node could hold is at most that.
func (p *Problem) FullWorth(c *Candidate) float64 {
	if c.Price <= 0 {
		return math.Inf(1)
	}
	return p.tariff.worth(c.Node.Allocatable.Minus(c.Node.DaemonUsed)) / c.Price
}

// machines returns the instance types that usable NodePools may launch, cheapest first, and the lowest price of each.
// Offerings that cost nothing are ignored.
func (p *Problem) machines() (types []*model.InstanceType, prices map[*model.InstanceType]float64) {
	prices = map[*model.InstanceType]float64{}
	for _, pool := range p.Snapshot.Pools() {
		if !pool.Usable().OK() {
			continue
		}
		for t, o := range model.Launchable(p.Snapshot.Types(pool.Name), pool.Requirements) {
			if o.Price <= 0 {
				continue
			}
			old, seen := prices[t]
			if !seen {
				types = append(types, t)
			}
			if !seen || o.Price < old {
				prices[t] = o.Price
			}
		}
	}
	slices.SortFunc(types, func(a, b *model.InstanceType) int {
		return cmp.Or(cmp.Compare(prices[a], prices[b]), strings.Compare(a.Name, b.Name))
	})
	return types, prices
}

// tariffOf solves the dual linear program
//
//	maximise    sum over r of demand[r]*y[r]
//	subject to  sum over r of allocatable[r]*y[r] <= price   for every type,   y >= 0
//
// Amounts are scaled by the total demand, for numerical accuracy. A resource without demand, or that no type has,
// has no price.
func tariffOf(demand model.Resources, types []*model.InstanceType, price map[*model.InstanceType]float64) tariff {
	var names []corev1.ResourceName
	for _, name := range demand.Names() {
		if demand[name] > 0 && slices.ContainsFunc(types, func(t *model.InstanceType) bool { return t.Allocatable[name] > 0 }) {
			names = append(names, name)
		}
	}
	program := lp.NewProgram(slices.Repeat([]float64{1}, len(names)))
	for _, t := range types {
		row := make([]float64, len(names))
		for j, name := range names {
			row[j] = float64(max(t.Allocatable[name], 0)) / float64(demand[name])
		}
		program.AddRow(row, price[t])
	}
	program.Solve()
	prices := make([]float64, len(names))
	program.Solution(prices)
	t := tariff{}
	for j, name := range names {
		if prices[j] > 0 {
			t[name] = prices[j] / float64(demand[name])
		}
	}
	return t
}
