package floor

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/bench/workload"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A configuration is a relaxation that, like the plain one (Price), uses fractions of nodes. But each is a fraction of a
// node with whole pods. For each set of pods that fits on a type, the relaxation chooses how often the set is launched,
// which may be a fraction, so that all pods are placed at the least cost (Gilmore and Gomory, 1961). There are too many
// sets to list. So sets that lower the cost are found one after another, by dynamic programming over cpu and memory.
// Other requirements of pods are ignored, because they can only raise the cost of a plan.
type configuration struct {
	items []item
	bins  []bin
	full  grid // has all bins
	part  grid // has the bins that are cheap for their capacity, and smaller ones
}

// An item is a set of pods with equal requests, in cells of the grid.
type item struct{ cpu, memory, count int }

// A bin is an instance type, in cells of the grid.
type bin struct {
	cpu, memory int
	price       float64
}

func (b bin) holds(it item) bool { return b.cpu >= it.cpu && b.memory >= it.memory }

// A set is the contents of one bin: items with their numbers.
type set struct {
	price   float64
	entries []entry
}

// An entry is an item of a set and its number.
type entry struct {
	item  int
	count float64
}

// cells is the maximum number of grid cells for each of cpu and memory. If a request is not a multiple of a cell, it is
// rounded down. The lower bound may then be smaller, and is still a lower bound.
const cells = 1536

// The search for the bound ends when the cost of the relaxation exceeds the bound by at most the fraction gap. Every
// fullRound-th round searches all bins and yields a bound. Prices are moved towards the prices of the best bound by the
// factor pull, so that they do not oscillate.
const (
	gap       = 1e-4
	fullRound = 10
	pull      = 0.5
)

// Configuration returns a lower bound like Price, but considers which pods fit together on a node. It searches for at
// most the given number of rounds; with fewer rounds the bound may be lower.
//
// Each bound comes from prices for the pods: if no set of pods on any type is worth more than f times the price of the
// type, no plan is cheaper than the worth of all pods divided by f (Farley, 1990). cost is the cost of the relaxation
// with the sets found; the bound is at most cost.
func Configuration(c *workload.Cluster, rounds int, capacityTypes ...string) (bound, cost float64, err error) {
	k, err := newConfiguration(c, capacityTypes)
	if err != nil || len(k.items) == 0 {
		return 0, 0, err
	}
	center := k.plain()
	m := newMaster(k)
	y := slices.Clone(center)
	cost = math.Inf(1)
	for round := range rounds {
		g := &k.part
		if round%fullRound == 0 {
			g = &k.full
		}
		sets, over := k.search(g, y)
		if b := k.worth(y) / over; g == &k.full && b > bound {
			bound = b
			for i := range y {
				center[i] = y[i] / over
			}
		}
		if g == &k.full && cost <= bound*(1+gap) {
			break
		}
		if cost, err = m.solve(sets); err != nil {
			return bound, cost, err
		}
		for i, v := range m.worth {
			if y[i] = max(v, 0); (round+1)%(2*fullRound) > 0 { // every second bound uses the unchanged prices
				y[i] = pull*center[i] + (1-pull)*y[i]
			}
		}
	}
	return bound, cost, nil
}

func newConfiguration(c *workload.Cluster, capacityTypes []string) (*configuration, error) {
	k := &configuration{}
	over := Overhead(c)
	var rooms, requests []model.Resources
	var prices []float64
	for i := range c.Catalogue {
		room, err := c.Catalogue[i].Resources()
		if err != nil {
			return nil, err
		}
		room = room.Minus(over)
		price := cheapest(&c.Catalogue[i], capacityTypes)
		if !math.IsInf(price, 1) && min(room[corev1.ResourceCPU], room[corev1.ResourceMemory]) > 0 {
			rooms, prices = append(rooms, room), append(prices, price)
		}
	}
	for _, p := range c.Pods {
		if p.Spec.NodeName == "" {
			requests = append(requests, model.NewPod(p).Requests)
		}
	}
	cpu, memory := cell(corev1.ResourceCPU, requests, rooms), cell(corev1.ResourceMemory, requests, rooms)
	counts := map[[2]int]int{}
	for _, r := range requests {
		counts[[2]int{int(r[corev1.ResourceCPU] / cpu), int(r[corev1.ResourceMemory] / memory)}]++
	}
	for at, n := range counts {
		k.items = append(k.items, item{at[0], at[1], n})
	}
	slices.SortFunc(k.items, func(a, b item) int { return cmp.Or(b.cpu-a.cpu, b.memory-a.memory) })
	for i, r := range rooms {
		k.bins = append(k.bins, bin{int(r[corev1.ResourceCPU] / cpu), int(r[corev1.ResourceMemory] / memory), prices[i]})
	}
	k.dropDominated()
	for _, b := range k.bins {
		k.full.include(b)
	}
	for _, it := range k.items {
		if !slices.ContainsFunc(k.bins, func(b bin) bool { return b.holds(it) }) {
			return nil, fmt.Errorf("no type holds a pod of %dm cpu and %d bytes of memory", int64(it.cpu)*cpu, int64(it.memory)*memory)
		}
	}
	return k, nil
}

// cell returns the size of a cell: the greatest common divisor of all requests, or more if the grid would be too large.
func cell(name corev1.ResourceName, requests, rooms []model.Resources) int64 {
	divisor, most := int64(0), int64(0)
	for _, r := range requests {
		a, b := divisor, r[name]
		for b != 0 {
			a, b = b, a%b
		}
		divisor = a
	}
	for _, r := range rooms {
		most = max(most, r[name])
	}
	return max(divisor, most/cells, 1)
}

// dropDominated removes bins with no more capacity than a cheaper one, and sorts the others by price.
func (k *configuration) dropDominated() {
	slices.SortFunc(k.bins, func(a, b bin) int {
		return cmp.Or(cmp.Compare(a.price, b.price), b.cpu-a.cpu, b.memory-a.memory)
	})
	var kept []bin
	for _, b := range k.bins {
		if !slices.ContainsFunc(kept, func(o bin) bool { return o.cpu >= b.cpu && o.memory >= b.memory }) {
			kept = append(kept, b)
		}
	}
	k.bins = kept
}

// cheap is the smallest ratio of worth to price of a bin that plain includes in the grid part. The worth is that of the
// bin's capacity by the dual prices of the plain relaxation. Most rounds of Configuration search only the bins that this
// grid holds.
const cheap = 0.97

// plain returns the worth of each item by the plain relaxation's dual prices of cpu and memory, and includes in part
// the bins that are cheap by these prices. The pods are worth most at these prices, and no bin is worth more than its
// price. Two bins determine the prices, or one bin if only one resource has a price.
func (k *configuration) plain() []float64 {
	cpu, memory := 0, 0
	for _, it := range k.items {
		cpu, memory = cpu+it.cpu*it.count, memory+it.memory*it.count
	}
	var perCPU, perMemory float64
	try := func(a, b float64) {
		for _, r := range k.bins {
			if a < 0 || b < 0 || a*float64(r.cpu)+b*float64(r.memory) > r.price*(1+1e-9) {
				return
			}
		}
		if (a-perCPU)*float64(cpu)+(b-perMemory)*float64(memory) > 0 {
			perCPU, perMemory = a, b
		}
	}
	for i, p := range k.bins {
		if p.cpu == 0 || p.memory == 0 {
			continue
		}
		try(p.price/float64(p.cpu), 0)
		try(0, p.price/float64(p.memory))
		for _, q := range k.bins[:i] {
			if d := float64(p.cpu*q.memory - q.cpu*p.memory); d != 0 {
				try((p.price*float64(q.memory)-q.price*float64(p.memory))/d, (float64(p.cpu)*q.price-float64(q.cpu)*p.price)/d)
			}
		}
	}
	for _, b := range k.bins {
		if perCPU*float64(b.cpu)+perMemory*float64(b.memory) >= cheap*b.price {
			k.part.include(b)
		}
	}
	worth := make([]float64, len(k.items))
	for i, it := range k.items {
		worth[i] = perCPU*float64(it.cpu) + perMemory*float64(it.memory)
	}
	return worth
}

// worth sums the worth of all items.
func (k *configuration) worth(y []float64) float64 {
	sum := 0.0
	for i, v := range y {
		sum += v * float64(k.items[i].count)
	}
	return sum
}
