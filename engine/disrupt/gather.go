package disrupt

import (
	"slices"
	"time"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/lifecycle"
	"github.com/karpenter-go/karpenter/engine/model"
)

const (
	// mostGathering bounds how long nodes that have come to rest wait for others.
	mostGathering = 15 * time.Second
	// longer is how many times as long they wait for those that waste more.
	longer = 8
	// brief is the part of that time within which a node is about to come to rest, and patient how many times as long they wait
	// for one that is.
	brief, patient = 3, 3
)

// gather returns the candidates, or none if nodes came to rest a moment ago and others will within moments: what is decided
// for all together costs less, moves no pod twice, and does not disturb those that are about to rest. That lasts for half of
// consolidateAfter at most, or 15 s; three times as long for those that come to rest within a third of it, as at the end of a
// scale-in; and eight times as long while the restless ones waste more than the others, as in the middle of one. Then it does
// not begin again for as long as it lasted: pods that come and go all the time hold up nothing for ever. It also returns none
// while pods are handed over: those that another command moved would get in between.
func (d *decider) gather(open []*candidate) []*candidate {
	if d.o.Rehearse || len(open) == 0 {
		return open
	}
	if HandoverOf(d.s).Next != nil {
		return d.wait(open, "for pods that are moving now")
	}
	since, cursor := d.now, &d.out.Cursor
	switch {
	case !cursor.Gathering.IsZero():
		since = cursor.Gathering
	case d.now.Before(cursor.Gathered) || !d.cameToRest():
		return open
	}
	if d.comeToRest(since, open) {
		cursor.Gathering, d.gathers = since, true
		return d.wait(open, "for its neighbours, which are looked at together")
	}
	cursor.Gathering, cursor.Gathered = time.Time{}, d.now.Add(min(d.now.Sub(since), longer*mostGathering))
	return open
}

// wait notes what all candidates wait for, and returns that there is none.
func (d *decider) wait(open []*candidate, what string) []*candidate {
	for _, c := range open {
		d.note(c, model.Verdict{Rule: model.RuleRecent, Subject: what})
	}
	return nil
}

// cameToRest reports whether a node that consolidation will look at came to rest a short while ago.
func (d *decider) cameToRest() bool {
	return slices.ContainsFunc(d.ours, func(c *candidate) bool {
		return d.interesting(c) && d.consolidatable(c) && d.now.Sub(calmSince(c)) < gathering(c)
	})
}

// comeToRest reports whether nodes that consolidation will look at come to rest in time for the open ones, which wait since then.
func (d *decider) comeToRest(since time.Time, open []*candidate) bool {
	soon, late, waste := false, false, 0.0
	for _, c := range d.ours {
		if !d.interesting(c) || d.consolidatable(c) {
			continue
		}
		rests, wait := lifecycle.Consolidatable(c.node.Claim, c.pool.Object, d.now)
		if !rests && wait <= 0 {
			continue // it takes more than time; if it rests, it is about to be told so
		}
		after := d.now.Add(wait).Sub(since)
		soon = soon || after <= gathering(c) || after <= patient*gathering(c) && wait <= gathering(c)/brief
		late = late || after <= longer*gathering(c)
		waste += max(0, c.price-c.worth)
	}
	for _, c := range open {
		waste -= max(0, c.price-c.worth)
	}
	return soon || late && waste > 0
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
