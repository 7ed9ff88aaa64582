package compile

import (
	"maps"
	"slices"

	"github.com/karpenter-go/karpenter/engine/require"
)

// A Key is a topology key: a node label whose values are domains. Domains are numbered from zero.
type Key struct {
	Label string
	Names []string // Names[d] is the label value of domain d
	// Reach lists the domains in which a new node may be, ordered by name.
	Reach []int
	// Open says that a new node may get a value of the label that is not known in advance, for example because a NodePool
	// allows any value. InFlightOpen says the same of a node in flight.
	Open, InFlightOpen bool
	// MayLack says that a new node may come without the label.
	MayLack bool

	number map[string]int // number[value] is the domain with that label value
}

// HostKey is the index of kubernetes.io/hostname in Problem.Keys. Its domain i is the node Problem.Nodes[i].
const HostKey = 0

// Values that are used instead of a domain.
const (
	// Outside stands for a node without the label. For new nodes it can also mean that no domain of the key was chosen, so
	// that a node may get any value.
	Outside = -1
	// Unsettled stands for a node that will have the label, with a value that is not known yet.
	Unsettled = -2
)

// domain returns the number of the domain with this label value. A new domain gets the next number.
func (k *Key) domain(value string) int {
	n, ok := k.number[value]
	if !ok {
		n = len(k.Names)
		k.number[value] = n
		k.Names = append(k.Names, value)
	}
	return n
}

// keyOf returns the index in Keys of a topology key. It adds the key if it is new. A deprecated label has the key of its
// current name.
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

// setReach sets Reach, Open and MayLack of each key except HostKey.
func (c *compiler) setReach() {
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

// LabelsIn returns the label requirements of nodes that are in domains[i] of keys[i], for each i. Outside requires that
// the label is absent, if new nodes may have it. Unsettled requires nothing.
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
