package pack

import (
	"slices"
)

// improve looks for cheaper nodes by ruin and recreate: it closes a few nodes, mostly those that hold least worth for their
// price, opens others for their pods in ways that differ from attempt to attempt, and keeps what is cheaper. See Schrimpf
// et al., Record breaking optimization results using the ruin and recreate principle (2000).
//
// The attempts are bounded by a count, so that a plan is the same on any machine.
func (t *tier) improve(nodes []*opened) []*opened {
	if len(nodes) < 2 || t.opts.Effort < 0 || t.limited() || slices.ContainsFunc(t.kinds, func(k *kind) bool { return k.left > 0 }) {
		return nodes
	}
	t.rebase()
	for _, o := range nodes {
		o.weigh()
	}
	nodes = t.recombine(nodes)
	seed := uint64(0x9e3779b97f4a7c15)
	t.made = 0
	last := 0 // the attempt that was kept last
	for attempt := 0; attempt < t.opts.Effort*maxAttempts && t.made < t.opts.Effort*maxMade && len(nodes) > 1; attempt++ {
		if attempt-last > t.opts.Effort*patience {
			break
		}
		seed = seed*6364136223846793005 + 1442695040888963407
		ruined := t.pickRuin(nodes, sizes[attempt%len(sizes)], seed>>33)
		before := 0.0
		for _, i := range ruined {
			before += nodes[i].price
			t.move(nodes[i], -1)
		}
		t.disturb(seed, attempt)
		fresh := t.buy(false)
		after := 0.0
		for _, o := range fresh {
			after += o.price
			o.weigh()
		}
		whole := !slices.ContainsFunc(t.byValue, func(k *kind) bool { return k.left > 0 })
		if whole && (after < before*(1-same) || after <= before*(1+same) && len(fresh) < len(ruined)) {
			nodes = append(without(nodes, ruined), fresh...)
			last = attempt
			continue
		}
		for _, o := range fresh {
			t.move(o, -1)
		}
		for _, i := range ruined {
			t.move(nodes[i], 1)
		}
	}
	return nodes
}

// rebase goes back to the prices that were found first, when all was still to be opened: by them all nodes compare.
func (t *tier) rebase() {
	for _, k := range t.kinds {
		k.value = k.base
	}
	for _, s := range t.shops {
		s.best, s.worth = s.first, dot(s.first, s.room)
	}
}

// disturb ranks the kinds that have units left by worths that differ a little from attempt to attempt, so that the same
// units are put together otherwise.
func (t *tier) disturb(seed uint64, attempt int) {
	t.rank()
	t.rankShops()
	if attempt%4 == 0 {
		return
	}
	for _, k := range t.byValue {
		seed = seed*2862933555777941757 + 3037000493
		k.value = k.base * (0.9 + 0.2*float64(seed>>40&1023)/1024)
	}
	t.rank()
}

// weigh notes what share of the node's price buys nothing, by the first prices.
func (o *opened) weigh() {
	held := 0.0
	for _, part := range o.share {
		held += float64(part.kind.base * float64(part.n))
	}
	o.waste = (o.price - held) / o.price
}

// maxAttempts is how often nodes are closed and opened, maxMade how many kinds the patterns made for that may look at, and
// patience how many attempts in a row may be in vain.
const (
	maxAttempts = 150
	patience    = 16
	maxMade     = 15_000
)

// sizes are how many nodes are closed at once, in turn.
var sizes = [...]int{3, 5, 2, 8, 4, 12, 3, 6}

// limited reports whether some shelf has limits or reservations: what is opened there first is chosen with care already.
func (t *tier) limited() bool { return slices.ContainsFunc(t.shelves, (*shelf).limited) }

// limited reports whether the pool has limits or reservations.
func (s *shelf) limited() bool {
	return s.pool.remaining != nil || slices.ContainsFunc(s.pool.shapes, func(sh *shape) bool { return sh.reserved != nil })
}

// rivals is how many nodes are drawn for each that is closed; the most wasteful of them it is.
const rivals = 4

// pickRuin returns which n nodes to close, in order, in memory that the next call uses again.
func (t *tier) pickRuin(nodes []*opened, n int, seed uint64) []int {
	picked := t.work.ruin[:0]
	for range min(n, len(nodes)) {
		best := -1
		for range rivals {
			seed = seed*2862933555777941757 + 3037000493
			i := int((seed >> 33) % uint64(len(nodes)))
			for slices.Contains(picked, i) {
				i = (i + 1) % len(nodes)
			}
			if best < 0 || nodes[i].waste > nodes[best].waste {
				best = i
			}
		}
		picked = append(picked, best)
	}
	slices.Sort(picked)
	t.work.ruin = picked
	return picked
}

// without takes the nodes with these numbers, which are in order, out of the list.
func without(nodes []*opened, numbers []int) []*opened {
	next := 0
	kept := nodes[:0]
	for i, o := range nodes {
		if next < len(numbers) && numbers[next] == i {
			next++
			continue
		}
		kept = append(kept, o)
	}
	return kept
}
