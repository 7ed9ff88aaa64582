package disruption

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/model"
)

// finish deals with everything that is under way: nodes that carry a mark, and replacements. All of it is read off the
// objects, so it makes no difference who began it. It returns when to look again.
func (c *Controller) finish(ctx context.Context, s *model.Snapshot) (again time.Duration, err error) {
	again = poll
	var due []*model.Node
	for _, n := range s.Nodes() {
		if !n.Managed() || n.Deleting {
			continue
		}
		if n.Object == nil || !marked(n) && !n.Disrupted() && n.Claim.Annotations[apiv1.ReplacedByAnnotationKey] == "" {
			continue
		}
		switch wait, v := c.waits(s, n); {
		case !v.OK():
			err = errors.Join(err, c.takeBack(ctx, n, v))
		case wait > 0:
			again = min(again, wait)
		default:
			due = append(due, n)
		}
	}
	verdicts := disrupt.Recheck(s, due, c.Options)
	c.reserve(ctx, s, due, verdicts)
	for _, n := range due {
		if v := verdicts[n.Name]; !v.OK() {
			c.Metrics.Disruption.FailedValidationsTotal.WithLabelValues(c.typeOf(n)).Inc()
			c.rest(n)
			err = errors.Join(err, c.takeBack(ctx, n, v))
			continue
		}
		reason := reasonOf(n)
		if endErr := c.Actor.End(ctx, n); endErr != nil {
			err = errors.Join(err, endErr)
			continue
		}
		c.tellEnded(ctx, s, n, reason)
	}
	return again, err
}

// reserve puts the places that pods of the leaving nodes go to into order. It is no reason to stop if that fails.
func (c *Controller) reserve(ctx context.Context, s *model.Snapshot, due []*model.Node, verdicts map[string]model.Verdict) {
	leaving := slices.DeleteFunc(slices.Clone(due), func(n *model.Node) bool { return !verdicts[n.Name].OK() })
	written, err := c.Actor.Reserve(ctx, disrupt.Destinations(s, leaving))
	c.Cluster.Assume(written...)
	if err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("some nodes take pods out of turn", "error", err.Error())
	}
}

func marked(n *model.Node) bool {
	return condition.IsTrue(n.Claim, apiv1.ConditionTypeDisruptionReason)
}

func reasonOf(n *model.Node) apiv1.DisruptionReason {
	if mark := condition.Get(n.Claim, apiv1.ConditionTypeDisruptionReason); mark != nil {
		return apiv1.DisruptionReason(mark.Reason)
	}
	return ""
}

// waits returns how long the marked node has to wait at least before it may go, and a no if it may not go at all: its mark
// is only half made, or a replacement did not come up.
func (c *Controller) waits(s *model.Snapshot, n *model.Node) (time.Duration, model.Verdict) {
	mark := condition.Get(n.Claim, apiv1.ConditionTypeDisruptionReason)
	if !marked(n) || !n.Disrupted() {
		return 0, model.Verdict{Rule: model.RulePolicy, Subject: "was marked to go by halves"}
	}
	wait := max(0, mark.LastTransitionTime.Add(settle).Sub(s.Now))
	for _, name := range list(n.Claim.Annotations[apiv1.ReplacedByAnnotationKey]) {
		r, ok := s.NodeByName(name)
		switch {
		case !ok || r.Claim == nil || r.Deleting:
			return 0, model.Verdict{Rule: model.RuleNoPlace, Subject: "its replacement " + name + " is gone"}
		case r.Initialized:
		case s.Now.Sub(mark.LastTransitionTime.Time) > patience:
			return 0, model.Verdict{Rule: model.RuleNoPlace, Subject: "its replacement " + name + " did not come up in time"}
		default:
			c.tellWaiting(r, n)
			wait = pause // and look at the others: one that is gone ends it all
		}
	}
	return wait, model.Verdict{}
}

// takeBack lets pods come to the node again. What was launched in its place is let go of in the next pass, unless it
// finds a use there.
func (c *Controller) takeBack(ctx context.Context, n *model.Node, why model.Verdict) error {
	if replacements := list(n.Claim.Annotations[apiv1.ReplacedByAnnotationKey]); len(replacements) > 0 {
		c.fail(reasonOf(n), c.typeOf(n), "replace", len(replacements))
	}
	c.tookBack = true
	written, err := c.Actor.Unmark(ctx, n)
	c.Cluster.Assume(written...)
	c.tellTakenBack(ctx, n, why)
	return ignoreConflict(err)
}

// list splits a list by commas.
func list(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}
