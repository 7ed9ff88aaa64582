package disrupt

import (
	"slices"
	"time"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/lifecycle"
	"github.com/karpenter-go/karpenter/engine/model"
)

// mostGathering bounds how long a node that has come to rest waits for others.
const mostGathering = 15 * time.Second

// gather returns the candidates, or none if nodes came to rest a moment ago and others will within moments: what is decided
// for all together costs less, moves no pod twice, and does not disturb those that are about to rest. That lasts for half of
// consolidateAfter at most, or 15 s, from the first of them, and then does not begin again for as long: pods that come and go all
// the time hold up nothing. It also returns none while pods are handed over: those that another command moved would get in between.
func (d *decider) gather(open []*candidate) []*candidate {
	if d.o.Rehearse {
		return open
	}
	if HandoverOf(d.s).Next != nil {
		return d.wait(open, "for pods that are moving now")
	}
	var until time.Time // when the first of those that came to rest has waited long enough
	for _, c := range d.ours {
		if !d.interesting(c) || !d.consolidatable(c) {
			continue
		}
		since, span := calmSince(c), gathering(c)
		switch age := d.now.Sub(since); {
		case age < span:
			if end := since.Add(span); until.IsZero() || end.Before(until) {
				until = end
			}
		case age < 2*span:
			return open
		}
	}
	if until.IsZero() || !d.comesToRest(until) {
		return open
	}
	return d.wait(open, "for its neighbours, which are looked at together")
}

// wait notes what all candidates wait for, and returns that there is none.
func (d *decider) wait(open []*candidate, what string) []*candidate {
	for _, c := range open {
		d.note(c, model.Verdict{Rule: model.RuleRecent, Subject: what})
	}
	return nil
}

// comesToRest reports whether a node that consolidation will look at comes to rest by then.
func (d *decider) comesToRest(by time.Time) bool {
	return slices.ContainsFunc(d.ours, func(c *candidate) bool {
		if !d.interesting(c) || d.consolidatable(c) {
			return false
		}
		_, wait := lifecycle.Consolidatable(c.node.Claim, c.pool.Object, d.now)
		return wait > 0 && !d.now.Add(wait).After(by)
	})
}

// interesting reports whether consolidation will look at the node once it has come to rest.
func (d *decider) interesting(c *candidate) bool {
	return !c.done && c.pool != nil && len(c.pods) > 0 && !c.pool.Static() && d.barred(c).OK() &&
		c.pool.Object.Spec.Disruption.ConsolidationPolicy != apiv1.ConsolidationPolicyWhenEmpty
}

// calmSince returns when the node came to rest.
func calmSince(c *candidate) time.Time {
	if rest := condition.Get(c.node.Claim, apiv1.ConditionTypeConsolidatable); rest != nil {
		return rest.LastTransitionTime.Time
	}
	return time.Time{}
}

// gathering is for how long a node waits for others at most.
func gathering(c *candidate) time.Duration {
	if after := c.pool.Object.Spec.Disruption.ConsolidateAfter.Duration; after != nil {
		return min(*after/2, mostGathering)
	}
	return 0
}
