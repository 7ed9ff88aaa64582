package compile

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// filterDaemons sets Daemons and DaemonAffinity of the stage. It also removes preferred rules over labels that nodes share:
// those for which refuseDaemonRules would refuse the class if they were required.
func filterDaemons(c *compiler, s *Spec, stage *Stage) {
	stage.OverDomains = slices.DeleteFunc(slices.Clone(stage.OverDomains), func(r Rule) bool {
		return r.Soft && len(c.countedOnNewNodes(&r)) > 0
	})
	var avoid []int
	var oneOf [][]int
	counted := true // whether each affinity rule over the hostname counts DaemonSet pods
	for _, r := range stage.PerNode {
		g := c.Groups[r.Group]
		if r.Kind != topology.Near {
			avoid = append(avoid, g.Daemons...)
			continue
		}
		counted = counted && len(g.Daemons) > 0
		oneOf = append(oneOf, slices.DeleteFunc(slices.Clone(g.Daemons), func(i int) bool { return !c.Daemons[i].Certain }))
	}
	for _, m := range s.NodeMembers {
		avoid = append(avoid, c.Groups[m].RepelledBy...)
	}
	slices.Sort(avoid)
	avoid = slices.Compact(avoid)
	stage.Daemons = c.Intern.Daemons(avoid, nil)
	if len(oneOf) > 0 && counted {
		stage.DaemonAffinity = c.Intern.Daemons(avoid, oneOf)
	}
}

// NarrowToDaemons narrows node terms to nodes that f.OneOf can admit. For each set of DaemonSets in f.OneOf, at least one
// DaemonSet of the set must select the node. A set is ignored if no node that meets the terms can meet it.
func (p *Problem) NarrowToDaemons(a *catalog.NodeTerms, f *catalog.DaemonFilter) *catalog.NodeTerms {
	if f == nil {
		return a
	}
	for _, set := range f.OneOf {
		var terms []require.Set
		for _, i := range set {
			terms = append(terms, p.Daemons[i].Selects...)
		}
		a = p.Intern.Narrow(a, p.Intern.Terms(terms))
	}
	return a
}
