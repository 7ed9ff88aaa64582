package assign

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/pack/compile"
	"github.com/karpenter-go/karpenter/engine/pack/encode"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// A Choice is one domain of each topology key that matters to pods on new nodes, which of the pods' node terms is preferred,
// and where such pods fit.
type Choice struct {
	Keys    []int
	Domains []int // by Keys
	Turn    int   // number of the preferred term
	Terms   *catalog.NodeTerms
	Fit     *catalog.Fit
	// Company says that the nodes bring DaemonSet pods that meet all required affinity of the pods.
	Company bool
}

// maxChoices bounds the choices of one class.
const maxChoices = 256

// A choiceKey is what the choices of a class depend on.
type choiceKey struct {
	terms, tolerations, demand, neighbours int
	pinnedTerms, pinnedTolerations         int
	ports, keys, open                      string
}

// Domain returns the domain of the key; Outside if the choice leaves it to chance.
func (ch *Choice) Domain(key int) int {
	if i := slices.Index(ch.Keys, key); i >= 0 {
		return ch.Domains[i]
	}
	return compile.Outside
}

// Choices returns the choices in which the class may get new nodes, by rising domains.
func (a *Assignment) Choices(c *compile.Class, s *compile.Stage) []*Choice {
	return a.combinations(c, s, s.Keys, nil, s.Neighbours)
}

// choicesWith is Choices with the domains of further keys settled as well.
func (a *Assignment) choicesWith(c *compile.Class, s *compile.Stage, more []int) []*Choice {
	if len(more) == 0 {
		return a.Choices(c, s)
	}
	keys := slices.Concat(s.Keys, more)
	slices.Sort(keys)
	return a.combinations(c, s, slices.Compact(keys), nil, s.Neighbours)
}

// CompanyChoices returns the choices of nodes that bring DaemonSet pods which meet all required affinity of the class.
func (a *Assignment) CompanyChoices(c *compile.Class, s *compile.Stage) []*Choice {
	if s.Company == nil {
		return nil
	}
	return a.combinations(c, s, s.Keys, nil, s.Company)
}

// LooseChoices returns further choices for a class that finds no place otherwise: those that leave open the domains that
// matter only to other pods, by their affinity or anti-affinity.
func (a *Assignment) LooseChoices(c *compile.Class, s *compile.Stage) []*Choice {
	open := a.openable(c, s)
	if len(open) == 0 {
		return nil
	}
	settled := slices.DeleteFunc(slices.Clone(s.Keys), func(key int) bool { return slices.Contains(open, key) })
	return a.combinations(c, s, settled, open, s.Neighbours)
}

// openable returns the keys of the stage that only affinity or anti-affinity of other pods looks at.
func (a *Assignment) openable(c *compile.Class, s *compile.Stage) []int {
	var settled []int
	settle := func(group int) {
		g := a.Problem.Groups[group]
		settled = append(append(settled, g.Key), g.With...)
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

// combinations returns the choices over the domains of the keys, on nodes that the filter admits. The domains of the open
// keys are left open.
func (a *Assignment) combinations(c *compile.Class, s *compile.Stage, keys, open []int, f *compile.DaemonFilter) []*Choice {
	terms, tolerations := a.pinned(c, s)
	k := choiceKey{
		terms: s.Terms.ID, tolerations: s.Tolerations.ID, demand: c.Demand.ID,
		pinnedTerms: terms.ID, pinnedTolerations: tolerations.ID, keys: s.KeysText,
	}
	if f != nil {
		k.neighbours = f.Number()
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
		ch := Choice{Keys: slices.Concat(keys, open), Domains: slices.Clone(domains), Company: f.BringsCompany()}
		for range open {
			ch.Domains = append(ch.Domains, compile.Unsettled)
		}
		needs := catalog.Needs{
			Terms: terms, Tolerations: tolerations, Demand: c.Demand, Ports: c.Ports, Extra: a.labelsOf(&ch), Neighbours: f.Filter(),
		}
		from := len(out)
		if terms != s.Terms || tolerations != s.Tolerations {
			out = a.appendTurns(out, ch, needs)
		}
		if len(out) == from {
			needs.Terms, needs.Tolerations = s.Terms, s.Tolerations
			out = a.appendTurns(out, ch, needs)
		}
		if len(out) == from && ch.Company { // some of the nodes may be without the DaemonSet
			needs.Terms = f.WithCompany(s.Terms)
			out = a.appendTurns(out, ch, needs)
		}
	})
	a.choices[k] = out
	return out
}

// combine yields each combination of domains that new nodes may be in, one of each key. New nodes may also be without the
// label, or get a value that is not known before.
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

// labelsOf returns what the choice requires of labels.
func (a *Assignment) labelsOf(ch *Choice) require.Set {
	in := a.Problem.LabelsIn(ch.Keys, ch.Domains)
	for i, d := range ch.Domains {
		if k := a.Problem.Keys[ch.Keys[i]]; ch.Company && d == compile.Unsettled && k.MayLack {
			in = in.With(require.New(k.Label, require.Exists)) // there is no company outside all domains
		}
	}
	return in
}

// appendTurns appends the choice with each node term preferred in its turn, as far as that makes a difference.
func (a *Assignment) appendTurns(out []*Choice, ch Choice, needs catalog.Needs) []*Choice {
	from := len(out)
	for turn, terms := range a.Problem.Intern.Turns(needs.Terms) {
		needs.Terms = terms
		f := a.Problem.Catalog.Fit(needs)
		if len(out) >= maxChoices || !f.OK || !a.Placed.Late && !a.Problem.Catalog.Launchable(a.Limits, f, needs.Demand) ||
			slices.ContainsFunc(out[from:], func(o *Choice) bool { return o.Fit.Like(f) }) {
			continue
		}
		next := ch
		next.Turn, next.Terms, next.Fit = turn, terms, f
		out = append(out, &next)
	}
	return out
}

// pinned returns what pods of the class require if each node that they get must count for the pods that are spread from
// them. On nodes of which only some count, it is not known how many count in a domain.
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
