package pack

import (
	"cmp"
	"slices"

	"github.com/karpenter-go/karpenter/engine/topology"
)

// A kind is all lots that ask for the same amounts and go to the same places, whatever they ask of each other.
type kind struct {
	index int
	need  *need
	fit   *fit
	// amount and scaled are those of need, in memory where the kinds lie side by side.
	amount []int64
	scaled []float64
	cargo  cargo
	weigh  []float64 // what a unit takes of columns and caps
	lots   []*lot
	bands  []band
	// social says that the units of some lot care who is on their node.
	social bool
	left   int
	group  int
	value  float64 // of a unit, in dollars per hour
	base   float64 // the value that was found first
	used   int     // by the pattern in the making
	stuck  bool    // no shape is to be had for it now
}

// A band is those lots of a kind whose units are alike in what they ask of others and what others ask of them too, so that any
// of them can stand for any other.
type band struct {
	manner int
	lots   []*lot
	head   int // lots before it have no units left
}

// left returns the lots with units left, and maybe some without.
func (b *band) left() []*lot {
	for b.head < len(b.lots) && b.lots[b.head].left() == 0 {
		b.head++
	}
	return b.lots[b.head:]
}

// A capacity is a rule that lets few pods of a group onto each node, so that the number of nodes itself is scarce. It is a
// column like cpu, of which every shape has the same.
type capacity struct{ group, each, nodes int }

// maxCaps is how many caps are priced, scarce how many nodes one must call for to be.
const (
	maxCaps = 4
	scarce  = 3
)

// findCaps picks the groups that call for most nodes.
func (t *tier) findCaps(lots []*lot) {
	units := map[int]int{}
	each := map[int]int{}
	for _, l := range lots {
		for _, r := range l.rules {
			switch {
			case r.kind == topology.Apart && r.self:
				units[r.group] += l.left()
				each[r.group] = 1
			case r.kind == topology.Spread && r.self:
				units[r.group] += l.left()
				each[r.group] = max(each[r.group], r.skew)
			}
		}
	}
	for g, n := range units {
		if n/each[g] >= scarce {
			t.caps = append(t.caps, capacity{g, each[g], n / each[g]})
		}
	}
	slices.SortFunc(t.caps, func(a, b capacity) int {
		return cmp.Or(cmp.Compare(b.nodes, a.nodes), cmp.Compare(a.group, b.group))
	})
	t.caps = t.caps[:min(len(t.caps), maxCaps)]
	t.width += len(t.caps)
}

// capped returns which caps a lot draws on, as bits.
func (t *tier) capped(l *lot) int {
	bits := 0
	for i, c := range t.caps {
		if slices.ContainsFunc(l.rules, func(r rule) bool { return r.group == c.group && r.self }) {
			bits |= 1 << i
		}
	}
	return bits
}

// gather sorts lots into kinds, and those of each kind into bands.
func (t *tier) gather(lots []*lot) {
	at := map[[3]int]*kind{}
	manners, common := map[string]int{}, map[*stage]int{}
	of := make([]*kind, len(lots))
	var sizes []int // lots by kind
	for i, l := range lots {
		caps := t.capped(l)
		key := [3]int{l.need.id, l.fit.id, caps}
		k := at[key]
		if k == nil {
			k = t.newKind(l, caps)
			at[key] = k
			sizes = append(sizes, 0)
		}
		n, known := common[l.stage]
		if !known || !l.common {
			n = t.mannerOf(l, manners)
		}
		if l.manner = n; l.common {
			common[l.stage] = n
		}
		of[i] = k
		sizes[k.index]++
		k.social = k.social || l.social()
		k.left += l.left()
	}
	t.manners = len(manners)
	list := make([]*lot, len(lots))
	for i, k := range t.kinds {
		k.lots, list = list[:0:sizes[i]], list[sizes[i]:]
	}
	for i, k := range of {
		k.lots = append(k.lots, lots[i])
	}
	t.align()
	for _, k := range t.kinds {
		k.part()
	}
}

// newKind returns the kind of a lot that draws on these caps.
func (t *tier) newKind(l *lot, caps int) *kind {
	k := &kind{index: len(t.kinds), need: l.need, fit: l.fit, cargo: l.need.cargo, weigh: make([]float64, 0, t.width)}
	k.weigh = append(k.weigh, l.need.scaled...)
	for i := range t.caps {
		k.weigh = append(k.weigh, float64(caps>>i&1))
	}
	t.kinds = append(t.kinds, k)
	return k
}

// align puts what the kinds need side by side.
func (t *tier) align() {
	width := len(t.cols)
	amounts, scaled := make([]int64, 0, len(t.kinds)*width), make([]float64, 0, len(t.kinds)*width)
	for i, k := range t.kinds {
		amounts, scaled = append(amounts, k.need.amount...), append(scaled, k.need.scaled...)
		k.amount, k.scaled = amounts[i*width:(i+1)*width], scaled[i*width:(i+1)*width]
	}
}

// part sorts the lots into bands.
func (k *kind) part() {
	slices.SortStableFunc(k.lots, func(a, b *lot) int { return a.manner - b.manner })
	n := 0
	for i, l := range k.lots {
		if i == 0 || l.manner != k.lots[i-1].manner {
			n++
		}
	}
	k.bands = make([]band, 0, n)
	for i, j := 0, 0; i < len(k.lots); i = j {
		for j = i; j < len(k.lots) && k.lots[j].manner == k.lots[i].manner; j++ {
		}
		k.bands = append(k.bands, band{manner: k.lots[i].manner, lots: k.lots[i:j]})
	}
}

// mannerOf numbers what the lot asks of others on its node, and which groups count it.
func (t *tier) mannerOf(l *lot, known map[string]int) int {
	b := putInt(t.work.manner[:0], int64(l.unit))
	for i := range l.rules {
		r := &l.rules[i]
		b = putInt(putInt(putInt(b, int64(r.kind)), int64(r.group)), int64(r.skew))
		b = append(b, bit(r.self)|bit(r.soft)<<1)
	}
	b = append(append(b, putKeys(l.members)...), putKeys(l.of)...)
	t.work.manner = b
	n, ok := known[string(b)]
	if !ok {
		n = len(known)
		known[string(b)] = n
	}
	return n
}

func bit(v bool) byte {
	if v {
		return 1
	}
	return 0
}

// maxGroups bounds the groups that are priced apart; the smallest share the last.
const maxGroups = 8

// classifyKinds groups the kinds that pay the same prices for the same shapes.
func (t *tier) classifyKinds() {
	at := map[string]int{}
	var size []float64
	var buf []byte
	for _, k := range t.kinds {
		buf = buf[:0]
		for _, s := range t.shelves {
			id := -1
			if f := k.fit.on[s.index].flavour; f != nil {
				id = f.tariff
			}
			buf = putInt(buf, int64(id))
		}
		g, ok := at[string(buf)]
		if !ok {
			g = len(size)
			at[string(buf)] = g
			size = append(size, 0)
		}
		k.group = g
		size[g] += k.fit.perPod * float64(k.left)
	}
	rank := make([]int, len(size))
	order := make([]int, len(size))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(size[b], size[a]) })
	for i, g := range order {
		rank[g] = min(i, maxGroups-1)
	}
	for _, k := range t.kinds {
		k.group = rank[k.group]
	}
	t.groups = min(len(size), maxGroups)
}
