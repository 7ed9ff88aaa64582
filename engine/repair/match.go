package repair

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A Match is a policy that matches a condition of a node.
type Match struct {
	Policy
	// Reason is the reason of the condition.
	Reason string
	// EligibleAt is when the toleration of the policy has passed.
	EligibleAt time.Time
	// RebootFailed is true if the last reboot of the node failed, and the condition began to fail before that or within the 24
	// hours after it.
	RebootFailed bool
}

// Matches returns the policies that match the conditions of the node, whether or not their tolerations have passed.
//
// The toleration begins at the last transition of the condition. It begins earlier if the condition was healthy only
// for a short time (see UnhealthySince). It never begins before the creation of the node. After a successful reboot it
// begins again. After a failed reboot there is no toleration if Match.RebootFailed: the match is then eligible at the later
// of the failure and the last transition.
func (p *Policies) Matches(node *corev1.Node, claim *apiv1.NodeClaim) []Match {
	if p == nil || node == nil {
		return nil
	}
	if claim == nil {
		claim = &apiv1.NodeClaim{}
	}
	var matches []Match
	for _, c := range node.Status.Conditions {
		for _, policy := range p.of(node, c) {
			begins := since(node, claim, c)
			m := Match{Policy: policy, Reason: c.Reason, EligibleAt: begins.Add(policy.TolerationDuration)}
			failed, at := rebootFailed(claim)
			if m.RebootFailed = failed && begins.Before(at.Add(memory)); m.RebootFailed && m.EligibleAt.After(at) {
				m.EligibleAt = model.Later(at, c.LastTransitionTime.Time)
			}
			matches = append(matches, m)
		}
	}
	return matches
}

// of returns the policies that match the condition of the node: those whose expression matches its reason, else its fallbacks.
func (p *Policies) of(node *corev1.Node, c corev1.NodeCondition) []Policy {
	var matching, fallback []Policy
	for _, r := range p.rules {
		switch {
		case !r.covers(c.Type, c.Status) || !r.concerns(node):
		case r.ReasonRegex == "":
			fallback = append(fallback, r.Policy)
		case r.reason != nil && r.reason.MatchString(c.Reason):
			matching = append(matching, r.Policy)
		}
	}
	if len(matching) > 0 {
		return matching
	}
	return fallback
}

// since returns when the toleration of the condition begins.
func since(node *corev1.Node, claim *apiv1.NodeClaim, c corev1.NodeCondition) time.Time {
	begins := c.LastTransitionTime.Time
	if at, ok := UnhealthySince(claim, c); ok {
		begins = at
	}
	begins = model.Later(begins, node.CreationTimestamp.Time)
	if done := condition.Get(claim, apiv1.ConditionTypeRebooting); done != nil && done.Reason == apiv1.ReasonRebootSucceeded {
		begins = model.Later(begins, done.LastTransitionTime.Time)
	}
	return begins
}

// rebootFailed reports whether the last reboot of the claim's node failed, and when.
func rebootFailed(claim *apiv1.NodeClaim) (bool, time.Time) {
	c := condition.Get(claim, apiv1.ConditionTypeRebooting)
	if c == nil || c.Reason != apiv1.ReasonRebootFailed {
		return false, time.Time{}
	}
	return true, c.LastTransitionTime.Time
}

// Decide merges the matches whose tolerations have passed. ok is false if there is none. The action is the most
// disruptive one. Equal actions are decided by priority, then by the time of eligibility, then by condition type. The
// drain bound is the shortest of all matches whose tolerations have passed, nil if none of them has a bound. A reboot is
// escalated to a replacement if one of these matches has RebootFailed.
//
// The score ranks nodes. The score of a match is the rank of its priority, plus one for each half hour since its
// toleration has passed. The highest score is returned.
func (p *Policies) Decide(matches []Match, now time.Time) (r model.Repair, score float64, ok bool) {
	eligible := slices.DeleteFunc(slices.Clone(matches), func(m Match) bool { return now.Before(m.EligibleAt) })
	if len(eligible) == 0 {
		return r, 0, false
	}
	first := slices.MinFunc(eligible, byPrecedence)
	r = model.Repair{
		Condition: first.ConditionType, Status: first.ConditionStatus, Reason: first.Reason, ReasonRegex: first.ReasonRegex,
		EligibleAt: first.EligibleAt, Reboot: first.Action == RebootNode,
	}
	slices.SortStableFunc(eligible, func(a, b Match) int {
		return cmp.Or(a.EligibleAt.Compare(b.EligibleAt), strings.Compare(string(a.ConditionType), string(b.ConditionType)))
	})
	for _, m := range eligible {
		if d := m.TerminationGracePeriod; d != nil && (r.DrainBound == nil || *d < *r.DrainBound) {
			r.DrainBound, r.DrainBoundBy = d, m.ConditionType
		}
		if r.Reboot && m.RebootFailed {
			r.Reboot, r.Escalated = false, true
		}
		score = max(score, float64(p.ranks[m.Priority])+now.Sub(m.EligibleAt).Minutes()/30)
	}
	return r, score, true
}

// byPrecedence orders matches: the first one names the condition, the policy and the action of the repair.
func byPrecedence(a, b Match) int {
	return cmp.Or(
		strings.Compare(string(b.Action), string(a.Action)), // ReplaceNode before RebootNode
		cmp.Compare(b.Priority, a.Priority),
		a.EligibleAt.Compare(b.EligibleAt),
		strings.Compare(string(a.ConditionType), string(b.ConditionType)),
	)
}
