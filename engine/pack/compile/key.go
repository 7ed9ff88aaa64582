package compile

import (
	"maps"
	"slices"

	"github.com/karpenter-go/karpenter/engine/binpack"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A Key is a topology key: a node label whose values are domains, numbered from zero.
type Key struct {
	Label string
	Names []string // of the domains
	// Reach are the domains that new nodes may be in, by rising name.
	Reach []int
	// Open says that new nodes may get a value that is not known before; InFlightOpen says so of nodes in flight.
	Open, InFlightOpen bool
	// MayLack says that new nodes may be without the label.
	MayLack bool

	number map[string]int
}

// HostKey is the index of kubernetes.io/hostname, whose domains are the nodes that take pods, among the keys.
const HostKey = 0

// Domains that have no number.
const (
	// Outside is the domain of a node without the label.
	Outside = -1
	// Unsettled is the domain of a node that will have one of several values.
	Unsettled = -2
)

// domain returns the number of the value, the next one if it is new.
func (k *Key) domain(value string) int {
	n, ok := k.number[value]
	if !ok {
		n = len(k.Names)
		k.number[value] = n
		k.Names = append(k.Names, value)
	}
	return n
}

// Domain returns the number of the value; false if no node has or may get it.
func (k *Key) Domain(value string) (int, bool) {
	n, ok := k.number[value]
	return n, ok
}

// keyOf returns the index of a topology key.
func (c *compiler) keyOf(label string) int {
	if stable, ok := c.Settings.Labels.Aliases[label]; ok {
		label = stable
	}
	i := slices.IndexFunc(c.Keys, func(k *Key) bool { return k.Label == label })
	if i < 0 {
		i = len(c.Keys)
		c.Keys = append(c.Keys, &Key{Label: label, number: map[string]int{}})
	}
	return i
}

// findReach finds which domains of each key new nodes may be in.
func (c *compiler) findReach() {
	for i, k := range c.Keys {
		if i == HostKey {
			continue
		}
		seen := map[string]bool{}
		for _, p := range c.Catalog.Pools {
			for _, t := range p.Types {
				values := t.Values(k.Label)
				maps.Copy(seen, values)
				if len(values) > 0 {
					continue
				}
				if r, ok := t.Allowed.Get(k.Label); ok && r.Operator() != require.DoesNotExist {
					k.Open = true
				} else {
					k.MayLack = true
				}
			}
		}
		for _, v := range slices.Sorted(maps.Keys(seen)) {
			k.Reach = append(k.Reach, k.domain(v))
		}
	}
}

// LabelsIn returns the labels of a node in these domains of the keys. That a label is absent is stated only where a new node
// might have it.
func (p *Problem) LabelsIn(keys, domains []int) require.Set {
	var out []require.Requirement
	for i, d := range domains {
		switch k := p.Keys[keys[i]]; {
		case d >= 0:
			out = append(out, require.New(k.Label, require.In, k.Names[d]))
		case d == Outside && (len(k.Reach) > 0 || k.Open):
			out = append(out, require.New(k.Label, require.DoesNotExist))
		}
	}
	return require.NewSet(out...)
}

// DomainsUnder returns the domains of the key that a new node of p may be in that is bought in the set as one of the types.
func (p *Problem) DomainsUnder(pool *catalog.Pool, s *catalog.OfferSet, types binpack.Bits, key int) []int {
	if key == HostKey {
		return nil
	}
	k := p.Keys[key]
	asked, bound := s.Requirements.Get(k.Label)
	seen := map[string]bool{}
	if bound && asked.Operator() == require.In && asked.Len() == 1 {
		seen[asked.Values()[0]] = true
	} else {
		types.Each(func(i int) {
			for v := range pool.Types[i].Values(k.Label) {
				seen[v] = seen[v] || !bound || asked.Has(v)
			}
		})
	}
	var out []int
	for d, name := range k.Names {
		if seen[name] {
			out = append(out, d)
		}
	}
	return out
}
