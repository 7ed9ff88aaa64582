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
	p.tariff = tariffOf(demand, p.machines())
	for _, c := range p.Candidates {
		for _, pod := range c.Pods {
			c.Worth += p.tariff.worth(pod.Requests)
		}
	}
}

// FullWorth returns the worth of the capacity that DaemonSet pods leave on the node, as a share of the node's price.
// The worth of the pods that the node could hold is at most that.
func (p *Problem) FullWorth(c *Candidate) float64 {
	if c.Price <= 0 {
		return math.Inf(1)
	}
	return p.tariff.worth(c.Node.Allocatable.Minus(c.Node.DaemonUsed)) / c.Price
}

// A machine is an instance type with its lowest price over all NodePools.
type machine struct {
	room  model.Resources
	price float64
}

// machines returns the instance types that usable NodePools may launch, cheapest first.
func (p *Problem) machines() []machine {
	best := map[*model.InstanceType]float64{}
	var types []*model.InstanceType
	for _, pool := range p.Snapshot.Pools() {
		if !pool.Usable().OK() {
			continue
		}
		for _, t := range p.Snapshot.Types(pool.Name) {
			if _, ok := t.Requirements.Intersects(pool.Requirements); !ok {
				continue
			}
			o, ok := t.Cheapest(pool.Requirements)
			if !ok || o.Price <= 0 {
				continue
			}
			old, seen := best[t]
			if !seen {
				types = append(types, t)
			}
			if !seen || o.Price < old {
				best[t] = o.Price
			}
		}
	}
	slices.SortFunc(types, func(a, b *model.InstanceType) int {
		return cmp.Or(cmp.Compare(best[a], best[b]), strings.Compare(a.Name, b.Name))
	})
	out := make([]machine, len(types))
	for i, t := range types {
		out[i] = machine{room: t.Allocatable, price: best[t]}
	}
	return out
}

// tariffOf solves the dual linear program
//
//	maximise    sum over r of demand[r]*y[r]
//	subject to  sum over r of room[r]*y[r] <= price   for every machine,   y >= 0
//
// Amounts are scaled by the total demand, for numerical accuracy. A resource without demand has no price.
func tariffOf(demand model.Resources, machines []machine) tariff {
	var names []corev1.ResourceName
	for _, name := range demand.Names() {
		if demand[name] > 0 && slices.ContainsFunc(machines, func(m machine) bool { return m.room[name] > 0 }) {
			names = append(names, name)
		}
	}
	program := lp.NewProgram(slices.Repeat([]float64{1}, len(names)))
	for _, m := range machines {
		row := make([]float64, len(names))
		for j, name := range names {
			row[j] = float64(max(m.room[name], 0)) / float64(demand[name])
		}
		program.AddRow(row, m.price)
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
