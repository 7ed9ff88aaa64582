package assign

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/pack/compile"
	"github.com/karpenter-go/karpenter/engine/pack/encode"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// A Choice fixes where pods of a class get new nodes: one domain of each relevant topology key, and the order of their
// node terms. Fit states which pools and types can hold such a pod.
type Choice struct {
	Keys      []int
	Domains   []int // domain of each of Keys
	Preferred int   // index of the node term that is preferred
	Terms     *catalog.NodeTerms
	Fit       *catalog.Fit
	// DaemonAffinity says that the required affinity of the pods is met by DaemonSet pods on each of the nodes.
	DaemonAffinity bool
}

// maxChoices bounds the number of choices of one class.
const maxChoices = 256

// A choiceKey identifies the choices of a class in the cache.
type choiceKey struct {
	terms, tolerations, demand, daemons int
	pinnedTerms, pinnedTolerations      int
	ports, keys, open                   string
}

// Domain returns the domain of the key. It returns Outside if the choice does not fix a domain of the key.
func (ch *Choice) Domain(key int) int {
	if i := slices.Index(ch.Keys, key); i >= 0 {
		return ch.Domains[i]
	}
	return compile.Outside
}

// Choices returns the choices in which the class may get new nodes. For each key, unknown values come first, then
// nodes without the label, then domains by name.
func (a *Assignment) Choices(c *compile.Class, s *compile.Stage) []*Choice {
	return a.combinations(c, s, s.Keys, nil, s.Daemons)
}

// choicesWith is Choices, but also fixes the domains of the keys in more.
func (a *Assignment) choicesWith(c *compile.Class, s *compile.Stage, more []int) []*Choice {
	if len(more) == 0 {
		return a.Choices(c, s)
	}
	keys := slices.Concat(s.Keys, more)
	slices.Sort(keys)
	return a.combinations(c, s, slices.Compact(keys), nil, s.Daemons)
}

// DaemonAffinityChoices returns the choices for nodes on which DaemonSet pods meet all required affinity of the
// class. It returns nil if they cannot.
func (a *Assignment) DaemonAffinityChoices(c *compile.Class, s *compile.Stage) []*Choice {
	if s.DaemonAffinity == nil {
		return nil
	}
	return a.combinations(c, s, s.Keys, nil, s.DaemonAffinity)
}

// LooseChoices returns choices for a class to which no other choice gives a place. They set a key to Unsettled if
// only affinity or anti-affinity of other pods uses it.
func (a *Assignment) LooseChoices(c *compile.Class, s *compile.Stage) []*Choice {
	open := a.openable(c, s)
	if len(open) == 0 {
		return nil
	}
	settled := slices.DeleteFunc(slices.Clone(s.Keys), func(key int) bool { return slices.Contains(open, key) })
	return a.combinations(c, s, settled, open, s.Daemons)
}

// openable returns the keys of the stage that matter only to the affinity or anti-affinity of other pods.
func (a *Assignment) openable(c *compile.Class, s *compile.Stage) []int {
	var settled []int
	settle := func(group int) {
		g := a.Problem.Groups[group]
		settled = append(append(settled, g.Key), g.OtherKeys...)
	}
	for i := range s.OverDomains {
		settle(s.OverDomains[i].Group)
	}
	for _, m := range c.Members {
		if a.Problem.Groups[m].Kind == topology.Spread {
			settle(m)
		}
	}
	return slices.DeleteFunc(slices.Clone(s.Keys), func(key int) bool { return slices.Contains(settled, key) })
}

// combinations returns a choice for each combination of domains of the keys, on nodes that f admits. The domains of
// the open keys stay undecided.
func (a *Assignment) combinations(c *compile.Class, s *compile.Stage, keys, open []int, f *compile.DaemonFilter) []*Choice {
	terms, tolerations := a.pinned(c, s)
	k := choiceKey{
		terms: s.Terms.ID, tolerations: s.Tolerations.ID, demand: c.Demand.ID,
		pinnedTerms: terms.ID, pinnedTolerations: tolerations.ID, keys: s.KeysText,
	}
	if f != nil {
		k.daemons = f.Number()
	}
	if len(keys) != len(s.Keys) || len(open) > 0 {
		k.keys, k.open = string(encode.Ints(nil, keys)), string(encode.Ints(nil, open))
	}
	if len(c.Ports) > 0 {
		k.ports = string(catalog.EncodePorts(nil, c.Ports))
	}
	if out, ok := a.choices[k]; ok {
		return out
	}
	var out []*Choice
	a.combine(keys, nil, func(domains []int) {
		ch := Choice{Keys: slices.Concat(keys, open), Domains: slices.Clone(domains), DaemonAffinity: f.RequiresDaemons()}
		for range open {
			ch.Domains = append(ch.Domains, compile.Unsettled)
		}
		needs := catalog.Needs{
			Terms: terms, Tolerations: tolerations, Demand: c.Demand, Ports: c.Ports, Extra: a.labelsOf(&ch), Daemons: f.Filter(),
		}
		from := len(out)
		if terms != s.Terms || tolerations != s.Tolerations {
			out = a.appendRotations(out, ch, needs)
		}
		if len(out) == from {
			needs.Terms, needs.Tolerations = s.Terms, s.Tolerations
			out = a.appendRotations(out, ch, needs)
		}
		if len(out) == from && ch.DaemonAffinity { // some of the nodes may lack the DaemonSet
			needs.Terms = f.NarrowToDaemons(s.Terms)
			out = a.appendRotations(out, ch, needs)
		}
	})
	a.choices[k] = out
	return out
}

// combine yields each combination of domains, one of each key, that a new node may be in. Outside stands for a node
// without the label, Unsettled for a value that is not known yet.
func (a *Assignment) combine(keys, chosen []int, yield func([]int)) {
	if len(chosen) == len(keys) {
		yield(chosen)
		return
	}
	key := a.Problem.Keys[keys[len(chosen)]]
	if key.Open {
		a.combine(keys, append(chosen, compile.Unsettled), yield)
	}
	if key.MayLack {
		a.combine(keys, append(chosen, compile.Outside), yield)
	}
	for _, d := range key.Reach {
		a.combine(keys, append(chosen, d), yield)
	}
}

// labelsOf returns the label requirements of the choice's domains.
func (a *Assignment) labelsOf(ch *Choice) require.Set {
	in := a.Problem.LabelsIn(ch.Keys, ch.Domains)
	for i, d := range ch.Domains {
		if k := a.Problem.Keys[ch.Keys[i]]; ch.DaemonAffinity && d == compile.Unsettled && k.MayLack {
			in = in.With(require.New(k.Label, require.Exists)) // DaemonSet pods on nodes without the label do not match
		}
	}
	return in
}

// appendRotations appends one choice for each node term that may be preferred, except those with the same fit as
// another.
func (a *Assignment) appendRotations(out []*Choice, ch Choice, needs catalog.Needs) []*Choice {
	from := len(out)
	for preferred, terms := range a.Problem.Intern.Rotations(needs.Terms) {
		needs.Terms = terms
		f := a.Problem.Catalog.Fit(needs)
		if len(out) >= maxChoices || !f.OK || !a.Placed.Late && !a.Problem.Catalog.Launchable(a.Limits, f, needs.Demand) ||
			slices.ContainsFunc(out[from:], func(o *Choice) bool { return o.Fit.Like(f) }) {
			continue
		}
		next := ch
		next.Preferred, next.Terms, next.Fit = preferred, terms, f
		out = append(out, &next)
	}
	return out
}

// pinned returns the node terms and tolerations of the stage, narrowed to nodes on which the pods count. It considers
// each required spread constraint over shared domains that selects the pods. On other nodes they might not count, so
// the number in a domain would be unknown.
func (a *Assignment) pinned(c *compile.Class, s *compile.Stage) (*catalog.NodeTerms, *catalog.Tolerations) {
	terms, tolerations := s.Terms, s.Tolerations
	in := a.Problem.Intern
	for _, m := range c.Members {
		g := a.Problem.Groups[m]
		if g.Kind != topology.Spread || !g.Hard || g.Key == compile.HostKey {
			continue
		}
		if f := g.Filter.Terms; f != nil && f != c.Required {
			terms = in.Narrow(terms, f)
		}
		if f := g.Filter.Tolerations; f != nil && f != tolerations {
			tolerations = in.BothTolerate(tolerations, in.Tolerations(f.List, true))
		}
	}
	return terms, tolerations
}
