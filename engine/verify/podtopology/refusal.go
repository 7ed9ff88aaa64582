package podtopology

import "fmt"

// refusal returns why the next pod of the group cannot be placed, without Node and Pod. It returns nil if the pod can be
// placed. firstPod enables kube-scheduler's first-pod rule: a pod meets its own affinity if it selects itself and no pod
// matches. If the group is unsettled, only anti-affinity is checked.
func (g *group) refusal(firstPod bool) *Violation {
	if no := g.exclusion(); no != nil || g.unsettled {
		return no
	}
	for i, s := range g.class.rules.spread {
		if no := g.excess(s, g.class.limits[i]); no != nil {
			return no
		}
	}
	anywhere, missing := 0, false
	for _, c := range g.class.needs {
		anywhere += c.anywhere
		missing = missing || c.certain(g.node) == 0
	}
	if !missing || firstPod && anywhere == 0 && g.class.selectsItself {
		return nil
	}
	for _, c := range g.class.needs {
		if values := g.node.domain(c.topologyKey); len(values) > 1 {
			return &Violation{Rule: Affinity, Detail: fmt.Sprintf("the value of %s is not settled: any of %q", c.topologyKey, values)}
		}
	}
	return &Violation{Rule: Affinity, Detail: "no pod that its required affinity selects is certain to be in its domain when it is placed"}
}

// exclusion returns a refusal if the anti-affinity of the next pod, or that of other pods, excludes it from the node.
func (g *group) exclusion() *Violation {
	no := func(format string, args ...any) *Violation {
		return &Violation{Rule: AntiAffinity, Detail: fmt.Sprintf(format, args...)}
	}
	for _, c := range g.class.avoids {
		if value, n := c.most(g.node); n > 0 {
			return no("a pod that its required anti-affinity selects may be in %s %q", c.topologyKey, value)
		}
	}
	for _, c := range g.class.excluding {
		if value, n := c.most(g.node); n > 0 {
			return no("required anti-affinity of a pod that may be in %s %q excludes it", c.topologyKey, value)
		}
	}
	return nil
}

// excess returns a refusal if the next pod could exceed the maxSkew of s in some domain that the node may be in.
func (g *group) excess(s spreadConstraint, c *count) *Violation {
	for _, value := range g.node.domain(s.topologyKey) {
		most := c.domains[value].most
		if g.class.matches(s.term) {
			most++ // the pod itself
		}
		if most <= s.maxSkew {
			continue
		}
		if least := c.leastExcept(value, s.minDomains); most-least > s.maxSkew {
			return &Violation{Rule: Spread, Detail: fmt.Sprintf(
				"with it %s %q may hold %d matching pods, the emptiest domain %d: maxSkew is %d",
				s.topologyKey, value, most, least, s.maxSkew)}
		}
	}
	return nil
}
