package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/explain"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/internal/decisions"
)

// The maximum number of pending groups, and of the nodes in UnderWay of one group.
const (
	maxGroups   = 300
	maxUnderWay = 20
)

// A Pender groups the pending pods. It stores the explanation of each refusal, because explanations are the most
// expensive part. It must not be used concurrently.
type Pender struct {
	outcome uint64
	// refused are the refusals with their explanations. of has the index of the refusal of each pod.
	refused []explained
	of      map[string]int
	// Devices is true if a pending pod had ResourceClaims in the last call of Groups. Groups finds these ResourceClaims in
	// Claims.
	Devices bool
	Claims  Claims
}

type explained struct {
	reason, fix string
	pools       []PoolRefusal
}

// Groups returns the groups of pending pods, at most maxGroups of them. Groups of refused pods come first.
func (p *Pender) Groups(s *model.Snapshot, o decisions.Outcome, labels apiv1.LabelRules) []PendingGroup {
	if p.of == nil || p.outcome != o.Version {
		p.explain(s, o, labels)
	}
	groups := map[groupKey]*PendingGroup{}
	p.Devices = false
	for _, pod := range s.Pending() {
		if pod.Virtual() {
			continue
		}
		key := groupKey{owner: OwnerOf(pod), requested: amountsOf(pod.Requests), outcome: OutcomeUnknown}
		devices := []DeviceRequest{}
		if ClaimsDevices(pod) {
			p.Devices = true
			devices = p.Claims.Of(pod)
			key.devices = keyOf(devices)
		}
		target, known := s.NodeByName(s.TargetOf(pod))
		refusal, refused := p.of[pod.Key]
		switch {
		case known && target.Initialized:
			key.outcome = OutcomeExisting
		case known:
			key.outcome = OutcomeNew
		case refused:
			key.outcome, key.refusal = OutcomeRefused, refusal
		}
		g := groups[key]
		if g == nil {
			g = &PendingGroup{
				Pod: pod.Key, Owner: key.owner, Requested: key.requested, Outcome: key.outcome, Devices: devices, Pools: []PoolRefusal{}, UnderWay: []string{},
			}
			groups[key] = g
		}
		g.Count++
		if since := pendingSince(pod); g.Since.IsZero() || since.Before(g.Since) {
			g.Since = since
		}
		if known && len(g.UnderWay) < maxUnderWay && !slices.Contains(g.UnderWay, target.Name) {
			g.UnderWay = append(g.UnderWay, target.Name)
		}
	}
	return p.finish(s, groups)
}

// A groupKey has the properties by which pods are grouped.
type groupKey struct {
	owner     string
	requested Amounts
	outcome   string
	refusal   int
	devices   string
}

func (p *Pender) finish(s *model.Snapshot, groups map[groupKey]*PendingGroup) []PendingGroup {
	out := make([]PendingGroup, 0, len(groups))
	for key, g := range groups {
		slices.Sort(g.UnderWay)
		switch key.outcome {
		case OutcomeRefused:
			x := p.refused[key.refusal]
			g.Reason, g.Fix, g.Pools = x.reason, x.fix, x.pools
		case OutcomeExisting:
			g.Reason = "fits on node " + g.UnderWay[0]
			if len(g.UnderWay) > 1 {
				g.Reason = "fits on existing nodes"
			}
		case OutcomeNew:
			g.Reason = newNodes(s, g.UnderWay)
		default:
			g.Reason = "not planned yet"
		}
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b PendingGroup) int {
		return cmp.Or(cmp.Compare(urgency(a.Outcome), urgency(b.Outcome)), cmp.Compare(b.Count, a.Count), cmp.Compare(a.Pod, b.Pod))
	})
	return out[:min(len(out), maxGroups)]
}

func urgency(outcome string) int {
	return slices.Index([]string{OutcomeRefused, OutcomeUnknown, OutcomeNew, OutcomeExisting}, outcome)
}

// newNodes describes the nodes that are launched for a group.
func newNodes(s *model.Snapshot, names []string) string {
	n, _ := s.NodeByName(names[0])
	if len(names) > 1 {
		return units.Counted(len(names), "new node") + " of NodePool " + n.Pool
	}
	text := "new node of NodePool " + n.Pool
	if kind := n.Labels[corev1.LabelInstanceTypeStable]; kind != "" {
		text += ": " + strings.Join([]string{kind, n.Labels[corev1.LabelTopologyZone], n.Labels[apiv1.CapacityTypeLabelKey]}, " ")
	}
	return text
}

// explain computes the explanations of the first maxGroups refusals in the last plan.
func (p *Pender) explain(s *model.Snapshot, o decisions.Outcome, labels apiv1.LabelRules) {
	p.outcome, p.refused, p.of = o.Version, nil, map[string]int{}
	e := explain.New(s, labels)
	for i, r := range o.Refusals[:min(len(o.Refusals), maxGroups)] {
		p.refused = append(p.refused, explainedOf(e, r))
		for _, pod := range r.Pods {
			p.of[pod.Key] = i
		}
	}
}

func explainedOf(e *explain.Explainer, r model.Refusal) explained {
	nearest, others := e.Nearest(r)
	x := explained{reason: nearest.Why, fix: nearest.Fix, pools: []PoolRefusal{}}
	if nearest.Pool != "" {
		x.reason = `NodePool "` + nearest.Pool + `": ` + nearest.Why
	}
	if others > 0 {
		x.reason += "; and " + units.Counted(others, "more NodePool")
	}
	for _, f := range e.Refusal(r) {
		x.pools = append(x.pools, PoolRefusal{Pool: f.Pool, Rule: f.Rule().Word(), Reason: f.Why, Fix: f.Fix})
	}
	return x
}

// pendingSince returns the time at which the scheduler first found no node for the pod. If that is not known, it returns
// the creation time of the pod.
func pendingSince(p *model.Pod) time.Time {
	since := p.Object.CreationTimestamp.UTC()
	if c := model.PodCondition(p.Object, corev1.PodScheduled); c.LastTransitionTime.After(since) {
		return c.LastTransitionTime.UTC()
	}
	return since
}
