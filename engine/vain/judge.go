package vain

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	schedulingcorev1 "k8s.io/component-helpers/scheduling/corev1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A Finding is that a launch was in vain for a pod.
type Finding struct {
	Pod *model.Pod
	// Claim was launched for it, from Pool.
	Claim, Pool string
	// Why says what was wrong with the node.
	Why string
	// Times is how many launches in a row were in vain for the pod, this one included.
	Times int
	// Until is when the next may be made.
	Until time.Time
}

// Message tells the finding in a sentence.
func (f Finding) Message() string { return message(f.Times, f.Why, f.Until) }

func message(times int, why string, until time.Time) string {
	nodes := "a node"
	if times > 1 {
		nodes = fmt.Sprintf("%d nodes", times)
	}
	return fmt.Sprintf("%s came up for it in vain: %s; the next is launched at %s at the earliest",
		nodes, why, until.UTC().Format(time.TimeOnly))
}

// Judge looks at a plan that was made as if nobody had to wait. It returns the keys of the pods that the plan would launch
// nodes for and that must wait, each with the reason, and what was found of their last launches.
func (l *Ledger) Judge(s *model.Snapshot, plan *model.Plan) (wait map[string]string, found []Finding) {
	wait = map[string]string{}
	expected := sync.OnceValue(func() map[string]bool { return expecting(plan) })
	for i := range plan.Nodes {
		for _, p := range plan.Nodes[i].Pods {
			r := l.records[p.UID]
			if r == nil {
				continue
			}
			if why, inVain := r.outcome(s, expected); inVain {
				r.times++
				r.why, r.until = why, s.Now.Add(Pause(r.times))
				found = append(found, Finding{
					Pod: p, Claim: r.claim, Pool: r.pool.Name, Why: why, Times: r.times, Until: r.until,
				})
				r.claim, r.emptied, r.refused = "", false, ""
			}
			if s.Now.Before(r.until) {
				wait[p.Key] = message(r.times, r.why, r.until)
			}
		}
	}
	return wait, found
}

// Next returns when the first of the pods that wait may have another launch; zero if none waits.
func (l *Ledger) Next(now time.Time) (next time.Time) {
	for _, r := range l.records {
		if r.until.After(now) && (next.IsZero() || r.until.Before(next)) {
			next = r.until
		}
	}
	return next
}

// expecting returns the names of the nodes that the plan has waiting pods on their way to.
func expecting(plan *model.Plan) map[string]bool {
	names := map[string]bool{}
	for _, to := range plan.Placements {
		if slices.ContainsFunc(to.Pods, func(p *model.Pod) bool { return !p.Virtual() && !p.Bound() }) {
			names[to.Node.Name] = true
		}
	}
	return names
}

// outcome reports whether the last launch for the pod, which needs another place, was in vain, and why. The nodes in expected
// will be used.
func (r *record) outcome(s *model.Snapshot, expected func() map[string]bool) (why string, inVain bool) {
	n, ok := s.NodeByName(r.claim)
	switch {
	case r.claim == "":
		return "", false
	case r.refused != "":
		return "the pod does not tolerate taint " + r.refused, true
	case r.inherited:
		return "", false // the one before may have run there
	case r.emptied:
		return "it was removed because it stayed empty", true
	case !ok || !n.Registered || n.Deleting || n.Disrupted() || len(n.Reschedulable()) > 0 || expected()[n.Name]:
		return "", false // it is on its way, others are there or about to come, or it goes for another reason
	}
	return "the pod does not fit on it", true
}

// emptied reports whether the node goes, or is about to, because nothing runs there.
func emptied(n *model.Node) bool {
	if n.Claim == nil {
		return false
	}
	why := condition.Get(n.Claim, apiv1.ConditionTypeDisruptionReason)
	return why != nil && why.Reason == string(apiv1.DisruptionReasonEmpty) && (n.Deleting || n.Disrupted())
}

// refusal returns the first taint that keeps the pod from the node, empty for none. Taints that Kubernetes and Karpenter set
// themselves tell of a node that is in trouble or goes, not of one that is unfit.
func refusal(n *model.Node, o *corev1.Pod) string {
	for _, t := range n.Taints {
		switch {
		case t.Effect == corev1.TaintEffectPreferNoSchedule, strings.HasPrefix(t.Key, "node.kubernetes.io/"),
			strings.HasPrefix(t.Key, "karpenter.sh/"):
		case !schedulingcorev1.TolerationsTolerateTaint(logr.Discard(), o.Spec.Tolerations, &t, false):
			return t.ToString()
		}
	}
	return ""
}
