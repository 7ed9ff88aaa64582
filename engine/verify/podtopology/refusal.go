package podtopology

// A refusal is the reason why a pod cannot be placed on its node at this point of the replay. format and args are its
// text.
type refusal struct {
	rule   Rule
	format string
	args   []any
}

// refusal returns why the next pod of the arrival cannot be placed, nil if it can. firstPod enables kube-scheduler's
// first-pod rule: a pod meets its own affinity if it selects itself and no pod matches. If the arrival is unsettled, only
// anti-affinity is checked.
func (a *arrival) refusal(firstPod bool) *refusal {
	if no := a.exclusion(); no != nil || a.unsettled {
		return no
	}
	for i, c := range a.limits {
		if no := a.excess(a.class.rules.spread[i], c); no != nil {
			return no
		}
	}
	anywhere, missing := 0, false
	for _, c := range a.needs {
		anywhere += c.anywhere
		missing = missing || c.certain(a.node) == 0
	}
	if !missing || firstPod && anywhere == 0 && a.selects {
		return nil
	}
	for _, c := range a.needs {
		if values := a.node.domain(c.topologyKey); len(values) > 1 {
			return &refusal{Affinity, "the value of %s is not settled: any of %q", []any{c.topologyKey, values}}
		}
	}
	return &refusal{Affinity, "no pod that its required affinity selects is certain to be in its domain when it is placed", nil}
}

// exclusion returns a refusal if the anti-affinity of the next pod, or that of other pods, excludes it from the node.
func (a *arrival) exclusion() *refusal {
	for _, c := range a.avoids {
		if value, n := c.most(a.node); n > 0 {
			return &refusal{AntiAffinity, "a pod that its required anti-affinity selects may be in %s %q", []any{c.topologyKey, value}}
		}
	}
	for _, c := range a.class.excluding {
		if value, n := c.most(a.node); n > 0 {
			return &refusal{AntiAffinity, "required anti-affinity of a pod that may be in %s %q excludes it", []any{c.topologyKey, value}}
		}
	}
	return nil
}

// excess returns a refusal if the next pod could exceed the maxSkew of s in some domain that the node may be in.
func (a *arrival) excess(s spreadConstraint, c *count) *refusal {
	self := 0
	if a.class.matches(s.term) {
		self = 1
	}
	for _, value := range a.node.domain(s.topologyKey) {
		most := self
		if d := c.domains[value]; d != nil {
			most += d.most
		}
		if most <= s.maxSkew {
			continue
		}
		if least := c.leastExcept(value, s.minDomains); most-least > s.maxSkew {
			return &refusal{Spread, "with it %s %q may hold %d matching pods, the emptiest domain %d: maxSkew is %d",
				[]any{s.topologyKey, value, most, least, s.maxSkew}}
		}
	}
	return nil
}
