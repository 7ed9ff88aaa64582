package assign

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/pack/compile"
	"github.com/karpenter-go/karpenter/engine/pack/encode"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// A Choice is one of the ways in which pods of a class can get new nodes. It has one domain of each topology key that
// matters to them (such as zone a), and the node term that is preferred. Fit has the pools and types that hold such a
// pod.
type Choice struct {
	Keys    []int              // indices of the topology keys
	Domains []int              // Domains[i] is the domain of Keys[i], or Outside or Unsettled
	Terms   *catalog.NodeTerms // the node terms, with the preferred one in front
	Fit     *catalog.Fit
}

// maxChoices is the number of choices after which combinations looks for no more.
const maxChoices = 256

// A choiceKey identifies a result of combinations. Many classes share it.
type choiceKey struct {
	terms, pinnedTerms             *catalog.NodeTerms
	tolerations, pinnedTolerations *catalog.Tolerations
	demand                         *catalog.Demand
	daemons                        *catalog.DaemonFilter
	ports, keys                    string
	anyDomain                      bool
}

// Domain returns the domain of the key, Outside if the key is not in Keys.
func (ch *Choice) Domain(key int) int {
	if i := slices.Index(ch.Keys, key); i >= 0 {
		return ch.Domains[i]
	}
	return compile.Outside
}

// Choices returns the choices with which the class may get new nodes in stage s. It also chooses domains of the keys in
// more. The domains of a key come in this order: an unknown value, no label, values by name.
func (a *Assignment) Choices(c *compile.Class, s *compile.Stage, more ...int) []*Choice {
	keys := slices.Concat(s.Keys, more)
	slices.Sort(keys)
	return a.combinations(c, s, slices.Compact(keys), s.Daemons)
}

// combinations returns choices for combinations of domains of the keys, on nodes that f admits, at most maxChoices: the first
// by name (see walk). If no pool can launch a node for any of them, and takesAnyDomain is true, it returns choices in which no
// domain is settled.
func (a *Assignment) combinations(c *compile.Class, s *compile.Stage, keys []int, f *catalog.DaemonFilter) []*Choice {
	all := a.Problem.NarrowToDaemons(s.Terms, f)
	terms, tolerations := a.pinned(c, s, all)
	k := choiceKey{
		terms: all, tolerations: s.Tolerations, demand: c.Demand, daemons: f,
		pinnedTerms: terms, pinnedTolerations: tolerations, keys: string(encode.Ints(nil, keys)), anyDomain: a.takesAnyDomain(c, s),
	}
	if len(c.Ports) > 0 {
		k.ports = string(catalog.EncodePorts(nil, c.Ports))
	}
	out, known := a.choices[k]
	if known {
		return out
	}
	needs := catalog.Needs{Terms: terms, Tolerations: tolerations, Demand: c.Demand, Ports: c.Ports, Daemons: f}
	wider := needs
	wider.Terms, wider.Tolerations = all, s.Tolerations
	choose := func(domains []int) bool {
		ch, from := Choice{Keys: keys, Domains: slices.Clone(domains)}, len(out)
		needs.Extra = a.Problem.LabelsIn(keys, domains)
		out = a.appendRotations(out, ch, needs)
		if len(out) == from && (terms != all || tolerations != s.Tolerations) {
			wider.Extra = needs.Extra
			out = a.appendRotations(out, ch, wider)
		}
		return len(out) < maxChoices
	}
	w := walk{assignment: a, keys: keys, needs: wider, yield: choose}
	w.run(c.Pod.Object.Namespace)
	if len(out) == 0 && k.anyDomain { // for example because minValues needs instance types of several zones
		choose(slices.Repeat([]int{compile.Unsettled}, len(keys)))
	}
	a.choices[k] = out
	return out
}

// takesAnyDomain reports whether new nodes of the pods can be planned without a known domain. That is so if the stage has no
// rules over labels that nodes share, and no spread constraint over such a label counts the pods.
func (a *Assignment) takesAnyDomain(c *compile.Class, s *compile.Stage) bool {
	return len(s.OverDomains) == 0 && !a.isCountedByDomainSpread(c)
}

// appendRotations appends a copy of ch for each node term that may be preferred (Interner.Rotations). It omits choices for
// which no pool can launch a node, and those with the same offerings as an earlier copy.
func (a *Assignment) appendRotations(out []*Choice, ch Choice, needs catalog.Needs) []*Choice {
	from := len(out)
	for _, terms := range a.Problem.Intern.Rotations(needs.Terms) {
		needs.Terms = terms
		f := a.Problem.Catalog.Fit(needs)
		if !a.Problem.Catalog.Launchable(a.Limits, f) ||
			slices.ContainsFunc(out[from:], func(o *Choice) bool { return o.Fit.Like(f) }) {
			continue
		}
		next := ch
		next.Terms, next.Fit = terms, f
		out = append(out, &next)
	}
	return out
}

// pinned returns terms and the tolerations of the stage, narrowed to nodes on which all required spread constraints that
// select the pods count them. On other nodes a constraint might not count them, so the number of counted pods would not be
// known. Spread over the hostname is ignored. So is nodeAffinityPolicy of a constraint whose nodes cannot meet the terms.
func (a *Assignment) pinned(c *compile.Class, s *compile.Stage, terms *catalog.NodeTerms) (*catalog.NodeTerms, *catalog.Tolerations) {
	tolerations := s.Tolerations
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
			tolerations = in.IntersectTolerations(tolerations, in.SoftTolerations(f.List))
		}
	}
	return terms, tolerations
}
