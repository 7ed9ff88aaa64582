package pack

import "slices"

// How often a sparse plan is filled anew, how far values move each time towards what units really cost, and how much more than
// it costs a node may hold by such values.
const (
	corrections = 4
	correction  = 0.2
	overworth   = 1.03
)

// corrected bounds the corrections: how many kinds all patterns of all fills may look at.
const corrected = 8_000_000

// thorough is how many kinds the corrections of a plan may look at to be made even where it was composed: it costs next to
// nothing then.
const thorough = 500_000

// correct looks for a sparse plan that is cheaper: by what fits together, and by values that were corrected by what units really
// cost. The units of the nodes that it returns have their place.
func (t *tier) correct(nodes []*opened) []*opened {
	if !t.sparse || t.opts.Effort < 0 || t.limited() || slices.ContainsFunc(t.kinds, func(k *kind) bool { return k.left > 0 }) {
		return nodes
	}
	t.rebase()
	each := max(t.made, 1) // what one fill looks at
	for _, o := range nodes {
		t.move(o, -1)
	}
	best := t.compose(nodes)
	if best == nil || each*corrections <= thorough {
		best = t.refill(nodes, best, min(t.opts.Effort*corrections, t.opts.Effort*corrected/each))
	}
	for _, o := range best {
		t.move(o, 1)
	}
	t.usual() // what is looked for from now on is for a few nodes at a time
	return best
}

// refill fills a sparse plan anew, a few times, at values that were corrected by what units really cost: a unit on a node that
// is badly filled is hard to place, and is worth more than what it takes of the node. The cheapest plan is kept, nodes or
// best if it is not nil. This is sequential value correction; see Belov and Scheithauer, Setup and open-stacks minimization in
// one-dimensional stock cutting (2007). No unit has its place before and after.
func (t *tier) refill(nodes, best []*opened, times int) []*opened {
	t.ceiling = near * overworth
	if best == nil {
		best = nodes
	}
	least := cost(best)
	for range times {
		t.revalue(nodes)
		t.rank()
		t.rankShops()
		nodes = t.buy(false)
		if sum := cost(nodes); sum < least*(1-same) && !slices.ContainsFunc(t.kinds, func(k *kind) bool { return k.left > 0 }) {
			best, least = nodes, sum
		}
		for _, o := range nodes {
			t.move(o, -1)
		}
	}
	return best
}

// cost sums what nodes cost.
func cost(nodes []*opened) float64 {
	sum := 0.0
	for _, o := range nodes {
		sum += o.price
	}
	return sum
}

// revalue moves the value of each kind towards what its units cost on these nodes, if the price of a node is parted among its
// units by value.
func (t *tier) revalue(nodes []*opened) {
	paid, units := make([]float64, len(t.kinds)), make([]int, len(t.kinds))
	for _, o := range nodes {
		held := 0.0
		for _, part := range o.share {
			held += float64(part.kind.value * float64(part.n))
		}
		for _, part := range o.share {
			paid[part.kind.index] += float64(part.kind.value*float64(part.n)) * o.price / held
			units[part.kind.index] += part.n
		}
	}
	for i, k := range t.kinds {
		if n := units[i]; n > 0 {
			k.value += float64(correction * (paid[i]/float64(n) - k.value))
		}
		k.stuck = false
	}
}
