package provision

import (
	"context"
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/karpenter-go/karpenter/engine/explain"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/decisions"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// settle resets the metrics that are set only while pods are pending.
func (c *Controller) settle() {
	c.refusedBefore = ""
	c.Metrics.Scheduler.UnschedulablePodsCount.WithLabelValues(c.Name()).Set(0)
	c.Metrics.Scheduler.UnschedulablePodsByRuleCount.Reset()
	c.Metrics.Scheduler.IgnoredPodsCount.WithLabelValues().Set(0)
	c.Metrics.Scheduler.BackoffPodsCount.WithLabelValues(c.Name()).Set(0)
	c.Metrics.Scheduler.PendingPodsByEffectiveZoneCount.Reset()
}

// tell publishes events, metrics and log lines about an executed plan. waits has the pods in a launch backoff; they already have
// an event. withheld has the planned nodes that are not launched.
func (c *Controller) tell(
	ctx context.Context, s *model.Snapshot, plan *model.Plan, launches []act.Launch, waits map[string]model.Verdict, withheld []decisions.Refusal,
) {
	pods, existing := 0, 0
	for _, l := range launches {
		pods += len(l.Node.Pods)
		c.tellLaunch(ctx, s, l)
	}
	for _, p := range plan.Placements {
		existing += len(p.Pods)
		c.tellPlaced(s, p.Pods, p.Node.Pool, "Pod should schedule on: "+target(p.Node))
	}
	c.tellPools(s)
	refused := c.tellRefusals(s, plan, waits)
	c.Metrics.Scheduler.UnschedulablePodsCount.WithLabelValues(c.Name()).Set(float64(refused.pods))
	c.Metrics.Scheduler.IgnoredPodsCount.WithLabelValues().Set(float64(refused.ignored))
	c.Metrics.Scheduler.UnschedulablePodsByRuleCount.Reset()
	for rule, n := range refused.byRule {
		c.Metrics.Scheduler.UnschedulablePodsByRuleCount.WithLabelValues(rule).Set(float64(n))
	}
	c.record(ctx, s, plan, launches, append(refused.list, withheld...))
	if len(launches) == 0 {
		return
	}
	ctrl.LoggerFrom(ctx).Info("computed new nodeclaim(s) to fit pod(s)",
		"nodeclaims", len(launches), "pods", pods, "existing", existing, "unschedulable", refused.pods,
		"price-per-hour", plan.Price, "lower-bound-per-hour", plan.Floor, "instance-types", plan.Mix())
}

// target names the object that stands for the node, as kind/name. Until its instance has joined, that is the NodeClaim.
func target(n *model.Node) string {
	if n.Object == nil {
		return "nodeclaim/" + n.Claim.Name
	}
	return "node/" + n.Name
}

func (c *Controller) tellLaunch(ctx context.Context, s *model.Snapshot, l act.Launch) {
	c.Metrics.NodeClaims.CreatedTotal.WithLabelValues(
		"provisioned", l.Node.Pool.Name, strconv.FormatBool(l.Node.MinValuesRelaxed)).Inc()
	ctrl.LoggerFrom(ctx).Info("created nodeclaim", "NodePool", klog.KRef("", l.Node.Pool.Name),
		"NodeClaim", klog.KRef("", l.Claim.Name), "pods", len(l.Node.Pods),
		"requests", l.Claim.Spec.Resources.Requests, "options", len(l.Node.Options),
		"cheapest", l.Node.Options[0].Name, "price-per-hour", l.Node.Price())
	c.tellPlaced(s, l.Node.Pods, l.Node.Pool.Name, fmt.Sprintf("Pod should schedule on: nodeclaim/%s (new node, %s at $%.4f/h%s)",
		l.Claim.Name, l.Node.Options[0].Name, l.Node.Price(), others(len(l.Node.Options)-1)))
}

func (c *Controller) tellPlaced(s *model.Snapshot, pods []*model.Pod, pool, message string) {
	for _, p := range pods {
		if p.Virtual() {
			continue // virtual pods get no events; the status of their buffer has this information
		}
		c.Timeline.Decided(p, s.Now, c.Clock.Now(), true, pool)
		if p.Bound() {
			continue // its node is being disrupted; the pod that replaces this one will get the event
		}
		event := telemetry.Event{
			Object: p.Object, Type: corev1.EventTypeNormal, Reason: telemetry.EventNominated, Message: message,
		}
		if why := c.why[p.UID]; why != "" {
			event.Message += "; " + why
			event.Dedupe = []string{string(p.UID), why} // publish it although the first plan for the pod was reported recently
		}
		c.Events.Publish(event)
	}
}

// refusals are the refused pods that tellRefusals has counted and reported.
type refusals struct {
	// pods is the number of refused pods. ignored is the number of those that are refused for a rule that more capacity cannot
	// change.
	pods, ignored int
	list          []decisions.Refusal
	byRule        map[string]int // pods by the rule of the nearest NodePool
}

// tellRefusals counts the refused pods and publishes an event on each. It skips bound pods and virtual pods. Pods in waits are
// counted, but get no event.
func (c *Controller) tellRefusals(s *model.Snapshot, plan *model.Plan, waits map[string]model.Verdict) (out refusals) {
	explainer := explain.New(s, c.Options.Labels)
	out.byRule = map[string]int{}
	for i, r := range plan.Refusals {
		message, rule := "", r.Nearest()[0].Verdict.Rule
		if i < mostExplained {
			nearest, _ := explainer.Nearest(r)
			rule = nearest.Rule()
		}
		var told []*model.Pod
		for _, p := range r.Pods {
			if p.Virtual() {
				continue
			}
			c.Timeline.Decided(p, s.Now, c.Clock.Now(), false, "")
			if p.Bound() {
				continue
			}
			out.pods++
			out.byRule[rule.Word()]++
			if !waits[p.Key].OK() {
				continue
			}
			if first := r.Reasons[0].Verdict.Rule; first == model.RuleUnsupported || first == model.RuleInvalid ||
				first == model.RuleOversized {
				out.ignored++
			}
			if message == "" {
				message = failedScheduling(explainer, r, i)
			}
			told = append(told, p)
			c.Events.Publish(telemetry.Event{
				Object: p.Object, Type: corev1.EventTypeWarning, Reason: telemetry.EventFailedScheduling, Message: message,
				Dedupe: []string{p.Key, string(p.Object.UID), rule.Word()}, // another reason is told at once
			})
		}
		if len(told) > 0 {
			out.list = append(out.list, refusalOf(explainer, r, told, i))
		}
	}
	return out
}

// refusalOf returns the refusal with index i for the decision log, with the text of its event.
func refusalOf(e *explain.Explainer, r model.Refusal, pods []*model.Pod, i int) decisions.Refusal {
	if i >= mostExplained {
		return decisions.Refusal{Subject: "pod " + pods[0].Key, Count: len(pods), Reason: r.Brief()}
	}
	nearest, _ := e.Nearest(r)
	return decisions.Refused(pods, nearest)
}

// mostExplained is the maximum number of refusals per round whose message has a fix, because the search for a fix
// compares all instance types.
const mostExplained = 50

// failedScheduling returns the message of the event for the refusal with index i.
func failedScheduling(e *explain.Explainer, r model.Refusal, i int) string {
	if i >= mostExplained {
		return "Failed to schedule pod: " + r.Brief()
	}
	return "Failed to schedule pod: " + e.Brief(r)
}

// others returns a text about the number n of further instance types that a planned node may become.
func others(n int) string {
	switch n {
	case 0:
		return ""
	case 1:
		return " or 1 other instance type"
	}
	return fmt.Sprintf(" or one of %d other instance types", n)
}
