package problem

import (
	"cmp"
	"math"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

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

// appraise sets what the pods of every candidate are worth.
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
			c.Worth += p.tariff.of(pod.Requests)
		}
	}
}

// FullWorth returns what the pods of the node would be worth if they filled it, as a share of its price.
func (p *Problem) FullWorth(c *Candidate) float64 {
	if c.Price <= 0 {
		return math.Inf(1)
	}
	return p.tariff.of(c.Node.Allocatable.Minus(c.Node.DaemonUsed)) / c.Price
}

// A machine is what one instance type holds, and its best price.
type machine struct {
	room  model.Resources
	price float64
}

// machines returns the instance types that may be launched for pods in any pool.
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

// tariffOf solves the linear programme
//
//	maximise  sum over r of demand[r]*y[r]   subject to   sum over r of room[r]*y[r] <= price for every machine, y >= 0
//
// by the simplex method from y = 0; Bland's rule keeps it from going in circles. Resources that nobody asks for are worth
// nothing.
func tariffOf(demand model.Resources, machines []machine) tariff {
	var cols []corev1.ResourceName
	for _, name := range demand.Names() {
		if demand[name] > 0 && slices.ContainsFunc(machines, func(m machine) bool { return m.room[name] > 0 }) {
			cols = append(cols, name)
		}
	}
	p := newProgramme(cols, demand, machines)
	for range maxPivots {
		if !p.improve() {
			break
		}
	}
	return p.tariff()
}

// maxPivots bounds the simplex; problems of this form take a few pivots a resource.
const maxPivots = 500

// A programme is a dictionary of the simplex method: basic variables in terms of the free ones. Amounts are in units of
// the total demand, so that all numbers are of one size.
type programme struct {
	cols  []corev1.ResourceName
	scale []float64
	a     [][]float64 // a[i][j]: how much of free variable j row i takes
	b     []float64
	c     []float64 // gain of each free variable
	basic []int     // variable of each row: below len(cols) a resource, else a slack
	free  []int
}

func newProgramme(cols []corev1.ResourceName, demand model.Resources, machines []machine) *programme {
	p := &programme{cols: cols, scale: make([]float64, len(cols)), c: make([]float64, len(cols))}
	for j, name := range cols {
		p.scale[j] = float64(demand[name])
		p.c[j] = 1
		p.free = append(p.free, j)
	}
	for i, m := range machines {
		row := make([]float64, len(cols))
		for j, name := range cols {
			row[j] = float64(max(m.room[name], 0)) / p.scale[j]
		}
		p.a, p.b = append(p.a, row), append(p.b, m.price)
		p.basic = append(p.basic, len(cols)+i)
	}
	return p
}

// improve makes one pivot. It returns false when there is nothing to gain.
func (p *programme) improve() bool {
	col := -1
	for j := range p.c {
		if p.c[j] > 1e-12 && (col < 0 || p.free[j] < p.free[col]) {
			col = j
		}
	}
	if col < 0 {
		return false
	}
	row, best := -1, math.Inf(1)
	for i := range p.a {
		if p.a[i][col] <= 1e-12 {
			continue
		}
		ratio := p.b[i] / p.a[i][col]
		if ratio < best-1e-15 || row >= 0 && ratio <= best+1e-15 && p.basic[i] < p.basic[row] {
			row, best = i, ratio
		}
	}
	if row < 0 {
		return false
	}
	p.pivot(row, col)
	return true
}

func (p *programme) pivot(row, col int) {
	inv := 1 / p.a[row][col]
	for j := range p.a[row] {
		p.a[row][j] *= inv
	}
	p.a[row][col] = inv
	p.b[row] *= inv
	for i := range p.a {
		if i == row || p.a[i][col] == 0 {
			continue
		}
		k := p.a[i][col]
		p.a[i][col] = 0
		for j := range p.a[i] {
			p.a[i][j] -= float64(k * p.a[row][j])
		}
		p.b[i] = max(0, p.b[i]-float64(k*p.b[row]))
	}
	k := p.c[col]
	p.c[col] = 0
	for j := range p.c {
		p.c[j] -= float64(k * p.a[row][j])
	}
	p.basic[row], p.free[col] = p.free[col], p.basic[row]
}

func (p *programme) tariff() tariff {
	t := tariff{}
	for i, v := range p.basic {
		if v < len(p.cols) {
			t[p.cols[v]] = p.b[i] / p.scale[v]
		}
	}
	return t
}
