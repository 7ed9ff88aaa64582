package compile

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// Required affinity and anti-affinity may select pods of other namespaces. If these pods were planned with it, the domain of each
// would have to be chosen. Over a label such as the instance type, that would leave each new node a single type, and cost the
// other namespaces money. Therefore such a term binds pods of other namespaces only over the hostname, the zone and the region.

// bindsOthers reports whether the group may bind pods of other namespaces: whether its key is the hostname, the zone or the region.
func (c *compiler) bindsOthers(g *Group) bool {
	label := c.Keys[g.Key].Label
	return g.Key == HostKey || label == corev1.LabelTopologyZone || label == corev1.LabelTopologyRegion
}

// refuseForeignAffinity refuses the classes with required affinity or anti-affinity over other labels that selects pods to plan of
// other namespaces, if these are without such affinity themselves. The refused pods are planned when the others run. It clears Hard
// and requiredByPlanned of groups that only refused classes required.
func refuseForeignAffinity(c *compiler) {
	constrained, isConstrained := map[int][]*Class{}, map[*Class]bool{} // the classes with such affinity, by group
	for _, class := range c.Classes {
		if !class.Refused.OK() {
			continue
		}
		rules := class.Last().OverDomains
		for i := range rules {
			if r := &rules[i]; r.Kind != topology.Spread && !c.bindsOthers(c.Groups[r.Group]) {
				constrained[r.Group] = append(constrained[r.Group], class)
				isConstrained[class] = true
			}
		}
	}
	if len(constrained) == 0 {
		return
	}
	// Of each group, the namespaces of the pods that it counts of other classes: one of them, and whether there are others.
	type counted struct {
		namespace string
		several   bool
	}
	others := map[int]*counted{}
	for _, class := range c.Classes {
		if !class.Refused.OK() || isConstrained[class] {
			continue
		}
		name := class.Pod.Object.Namespace
		for _, m := range class.Members {
			if others[m] == nil {
				others[m] = &counted{namespace: name}
			}
			others[m].several = others[m].several || others[m].namespace != name
		}
	}
	for _, m := range slices.Sorted(maps.Keys(constrained)) {
		for _, class := range constrained[m] {
			if o := others[m]; class.Refused.OK() && o != nil && (o.several || o.namespace != class.Pod.Object.Namespace) {
				key := c.Keys[c.Groups[m].Key].Label
				class.Refused = model.Verdict{Rule: model.RuleEffort, Cause: model.CauseOtherNamespaces, Key: key}
			}
		}
	}
	for m, list := range constrained {
		g := c.Groups[m]
		g.requiredByPlanned = slices.ContainsFunc(list, func(class *Class) bool { return class.Refused.OK() })
		g.Hard = g.requiredByPlanned || g.excluded
	}
}

// isAvoided reports whether pods of the group stay out of the domains of running pods by their node terms, see avoidDomains.
func (c *compiler) isAvoided(group int) bool {
	g := c.Groups[group]
	return g.excluded && !g.requiredByPlanned && len(g.ExcludedBy) == 0 && !c.bindsOthers(g)
}

// avoidDomains narrows the terms of the stage to nodes outside the domains in which required anti-affinity of running pods excludes
// the pods, for groups of which no pod to plan has a constraint. So the pods need no domain of such a group.
func avoidDomains(c *compiler, s *Spec, stage *Stage) {
	var excluded []require.Requirement
	for _, m := range s.Members {
		if !c.isAvoided(m) {
			continue
		}
		key := c.Keys[c.Groups[m].Key]
		var names []string
		for d, limit := range c.Counts.groups[m].Limit {
			if limit == 0 {
				names = append(names, key.Names[d])
			}
		}
		if len(names) > 0 {
			excluded = append(excluded, require.New(key.Label, require.NotIn, names...))
		}
	}
	if len(excluded) == 0 {
		return
	}
	var terms []require.Set
	for _, t := range stage.Terms.Terms {
		terms = append(terms, t.And(require.NewSet(excluded...)))
	}
	stage.Terms = c.Intern.Terms(terms)
}
