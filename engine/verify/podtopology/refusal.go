package podtopology

import "fmt"

// A Rule is a kind of constraint.
type Rule string

// The rules.
const (
	Spread       Rule = "spread"
	Affinity     Rule = "affinity"
	AntiAffinity Rule = "antiAffinity"
)

// A Violation is a pod that the plan places although one of the rules does not allow it.
type Violation struct {
	Rule   Rule
	Node   string // the name of the node
	Pod    string // namespace/name
	Detail string
}

// refusal returns why the next pod of the group cannot be placed, without Node and Pod. It returns nil if the pod can be
// placed. firstPod enables kube-scheduler's first-pod rule: a pod meets its own affinity if it selects itself and no pod
// matches.
func (g *group) refusal(firstPod bool) *Violation {
	if no := g.exclusion(); no != nil {
		return no
	}
	for i, s := range g.class.rules.spread {
		if no := g.unsettled(Spread, s.topologyKey); no != nil {
			return no
		}
		if no := g.excess(s, g.class.limits[i]); no != nil {
			return no
		}
	}
	anywhere, missing := 0, false
	for _, c := range g.class.needs {
		if no := g.unsettled(Affinity, c.topologyKey); no != nil {
			return no
		}
		anywhere += c.anywhere
		missing = missing || c.domains[g.node.domain(c.topologyKey).certain].certain == 0
	}
	if !missing || firstPod && anywhere == 0 && g.class.selectsItself {
		return nil
	}
	detail := "no pod that its required affinity selects is certain to be in its domain when it is placed"
	for _, c := range g.class.needs {
		if values := g.node.domain(c.topologyKey).values; len(values) > 1 {
			detail = fmt.Sprintf("the value of %s is not settled: any of %q", c.topologyKey, values)
		}
	}
	return &Violation{Rule: Affinity, Detail: detail}
}

// unsettled returns a refusal if the node has no certain domain for the topology key.
func (g *group) unsettled(rule Rule, key string) *Violation {
	switch d := g.node.domain(key); {
	case d.settled:
		return nil
	case len(d.values) == 0:
		return &Violation{Rule: rule, Detail: "the node has no label " + key}
	default:
		return &Violation{Rule: rule, Detail: fmt.Sprintf(
			"the value of %s is not settled: any of %q, or the node lacks the label", key, d.values)}
	}
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
	for _, value := range g.node.domain(s.topologyKey).values {
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
