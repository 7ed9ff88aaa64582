package disrupt

import (
	"cmp"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/binpack/lp"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A tariff is what a unit of each resource is worth, in dollars per hour, at the best prices on offer: the dual prices of
// buying all that the candidates' pods ask for in fractions of machines. No machine gives more worth than it costs, so what
// pods are worth is a price below which no set of machines holds them.
type tariff map[corev1.ResourceName]float64

// worthOf returns what the amounts are worth.
func (t tariff) of(r model.Resources) float64 {
	total := 0.0
	for _, name := range r.Names() {
		total += t[name] * float64(max(r[name], 0))
	}
	return total
}

// efficient is the share of its price that a node must be able to hold in worth to be kept and filled rather than replaced.
const efficient = 0.95

// appraise sets what the pods of every candidate are worth.
func (d *decider) appraise() {
	demand := model.Resources{}
	for _, c := range d.ours {
		for _, p := range c.pods {
			for name, v := range p.Requests {
				demand[name] += v
			}
		}
	}
	d.tariff = tariffOf(demand, d.machines(demand))
	for _, c := range d.ours {
		for _, p := range c.pods {
			c.worth += d.tariff.of(p.Requests)
		}
	}
}

// fillable returns what the node would be worth if it were full, as a share of its price.
func (d *decider) fillable(c *candidate) float64 {
	if c.price <= 0 {
		return math.Inf(1)
	}
	return d.tariff.of(c.node.Allocatable.Minus(c.node.DaemonUsed)) / c.price
}

// A machine is what one instance type holds, and its best price.
type machine struct {
	room  model.Resources
	price float64
}

// machines returns what may be bought for pods, in any pool, dominated ones left out.
func (d *decider) machines(demand model.Resources) []machine {
	best := map[*model.InstanceType]float64{}
	var types []*model.InstanceType
	for _, p := range d.s.Pools() {
		if !p.Usable().OK() {
			continue
		}
		for _, t := range d.s.Types(p.Name) {
			if _, ok := t.Requirements.Intersects(p.Requirements); !ok {
				continue
			}
			o, ok := t.Cheapest(p.Requirements)
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

// tariffOf solves the linear program
//
//	maximise    sum over r of demand[r]*y[r]
//	subject to  sum over r of room[r]*y[r] <= price   for every machine,   y >= 0
//
// Amounts are in units of the total demand, so that all numbers are of one size. A resource without demand has no price.
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
