package pack

import (
	"cmp"
	"slices"
)

// improve looks for cheaper nodes by ruin and recreate: it closes a few nodes, mostly those that hold least worth for their
// price, opens others for their pods in ways that differ from attempt to attempt, and keeps what is cheaper. See Schrimpf
// et al., Record breaking optimization results using the ruin and recreate principle (2000).
//
// The attempts are bounded by a count of units looked at, so that a plan is the same on any machine.
func (t *tier) improve(nodes []*opened) []*opened {
	if len(nodes) < 2 || t.limited() {
		return nodes
	}
	budget := t.opts.Effort * 4_000_000
	base := map[*kind]float64{}
	for _, k := range t.kinds {
		base[k] = k.value
	}
	seed := uint64(0x9e3779b97f4a7c15)
	for attempt := 0; attempt < maxAttempts && budget > 0 && len(nodes) > 1; attempt++ {
		seed = seed*6364136223846793005 + 1442695040888963407
		ruined, kept := pickRuin(nodes, t.wasteOf(nodes), sizes[attempt%len(sizes)], seed>>33)
		before := 0.0
		for _, o := range ruined {
			before += o.price
			t.move(o, -1)
		}
		t.jitter = 0
		if attempt > 0 {
			t.jitter = seed | 1
		}
		fresh := t.fill()
		after := 0.0
		for _, o := range fresh {
			after += o.price
		}
		budget -= (len(fresh) + 1) * t.tried * len(t.kinds) * 8
		whole := !slices.ContainsFunc(t.kinds, func(k *kind) bool { return k.left > 0 })
		if whole && (after < before*(1-same) || after <= before*(1+same) && len(fresh) < len(ruined)) {
			nodes = append(kept, fresh...)
			continue
		}
		for _, o := range fresh {
			t.move(o, -1)
		}
		for _, o := range ruined {
			t.move(o, 1)
		}
	}
	t.jitter = 0
	return nodes
}

const maxAttempts = 120

// sizes are how many nodes are closed at once, in turn.
var sizes = [...]int{3, 5, 2, 8, 4, 12, 3, 6}

// limited reports whether some shelf has limits or reservations: what is opened there first is chosen with care already.
func (t *tier) limited() bool {
	return slices.ContainsFunc(t.shelves, func(s *shelf) bool {
		return s.pool.remaining != nil || slices.ContainsFunc(s.pool.shapes, func(sh *shape) bool { return sh.reserved != nil })
	})
}

// wasteOf returns what each node costs beyond the worth of its pods, by the prices at which they were last found.
func (t *tier) wasteOf(nodes []*opened) []float64 {
	waste := make([]float64, len(nodes))
	for i, o := range nodes {
		held := 0.0
		for _, part := range o.share {
			held += float64(part.kind.value * float64(part.n))
		}
		waste[i] = (o.price - held) / o.price
	}
	return waste
}

// pickRuin returns n nodes to close, half of them the most wasteful, and the others.
func pickRuin(nodes []*opened, waste []float64, n int, seed uint64) (ruined, kept []*opened) {
	order := make([]int, len(nodes))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(waste[b], waste[a]) })
	n = min(n, len(nodes))
	out := make([]bool, len(nodes))
	picked := 0
	worst := (n + 1) / 2
	start := int(seed % uint64(max(1, min(len(order), 3*worst)-worst+1)))
	for _, i := range order[start : start+worst] {
		out[i] = true
		picked++
	}
	for ; picked < n; seed = seed*2862933555777941757 + 3037000493 {
		i := int((seed >> 20) % uint64(len(nodes)))
		for out[i] {
			i = (i + 1) % len(nodes)
		}
		out[i] = true
		picked++
	}
	for i, o := range nodes {
		if out[i] {
			ruined = append(ruined, o)
		} else {
			kept = append(kept, o)
		}
	}
	return ruined, kept
}
