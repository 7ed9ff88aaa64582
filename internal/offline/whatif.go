package offline

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/lifecycle"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A WhatIf is the difference that a change would make. It is also the JSON output. Prices are in dollars per hour, lists
// are never null.
type WhatIf struct {
	// Before and After are the prices of all nodes without and with the change, after the next plan, and after nodes that
	// the change makes drifted are replaced.
	Before float64 `json:"dollarsPerHourBefore"`
	After  float64 `json:"dollarsPerHourAfter"`
	// Drifted are nodes that no longer match their NodePool.
	Drifted []DriftResult `json:"drifted"`
	// Lost are the instance types that no NodePool may launch any more, and Won those that only the change allows.
	Lost []string `json:"typesLost"`
	Won  []string `json:"typesWon"`
	// Launches are the nodes that would be launched, Moved the pods that would go to existing nodes.
	Launches []NodeResult `json:"launches"`
	Moved    int          `json:"movedToExisting"`
	// Evictions is how many pods would be evicted.
	Evictions int `json:"evictions"`
	// Unschedulable are the pods that have no node with the change, although they have or get one without it.
	Unschedulable []string `json:"unschedulable"`
}

// A DriftResult is a node that drifts.
type DriftResult struct {
	Node   string `json:"node"`
	Pool   string `json:"pool"`
	Reason string `json:"reason"`
	Pods   int    `json:"pods"`
}

// Compare returns the difference between the run r and the same cluster after a change. changed is the snapshot with
// the change. gone are the nodes that the change removes, in addition to nodes that drift. now is used for durations
// only.
func (r *Run) Compare(changed *model.Snapshot, gone []string, now func() time.Time) WhatIf {
	out := WhatIf{
		Before: priceOf(r.Snapshot) + r.Plan.Price, Drifted: []DriftResult{}, Lost: []string{}, Won: []string{},
		Launches: []NodeResult{}, Unschedulable: []string{},
	}
	out.types(r.Snapshot, changed)
	for _, n := range changed.Nodes() {
		pool, ok := changed.Pool(n.Pool)
		if !ok || n.Claim == nil || n.Deleting {
			continue
		}
		if reason := lifecycle.Drift(n.Claim, pool.Object, changed.Types(n.Pool), changed.Now); reason != "" {
			out.Drifted = append(out.Drifted, DriftResult{Node: n.Name, Pool: n.Pool, Reason: reason, Pods: len(n.Reschedulable())})
			gone = append(gone, n.Name)
		}
	}
	after, evicted := without(changed, gone)
	out.Evictions = evicted
	run := Decide(after, r.Options, now)
	out.After = priceOf(after) + run.Plan.Price
	for i := range run.Plan.Nodes {
		out.Launches = append(out.Launches, nodeResult(&run.Plan.Nodes[i]))
	}
	out.Moved = run.OnExisting()
	refused := map[string]bool{}
	for _, x := range r.Plan.Refusals {
		for _, p := range x.Pods {
			refused[p.Key] = true
		}
	}
	for _, x := range run.Plan.Refusals {
		for _, p := range x.Pods {
			if !refused[p.Key] {
				out.Unschedulable = append(out.Unschedulable, p.Key)
			}
		}
	}
	return out
}

// types sets Lost and Won. A type is allowed if at least one NodePool may launch it.
func (w *WhatIf) types(before, after *model.Snapshot) {
	had, has := allowedTypes(before), allowedTypes(after)
	for name := range had {
		if !has[name] {
			w.Lost = append(w.Lost, name)
		}
	}
	for name := range has {
		if !had[name] {
			w.Won = append(w.Won, name)
		}
	}
	slices.Sort(w.Lost)
	slices.Sort(w.Won)
}

func allowedTypes(s *model.Snapshot) map[string]bool {
	out := map[string]bool{}
	for _, p := range s.Pools() {
		for _, t := range s.Types(p.Name) {
			if _, ok := t.Requirements.Intersects(p.Requirements); !ok {
				continue
			}
			if _, ok := t.Cheapest(p.Requirements); ok {
				out[t.Name] = true
			}
		}
	}
	return out
}

// priceOf returns the price of the nodes of NodePools.
func priceOf(s *model.Snapshot) float64 {
	sum := 0.0
	for _, n := range s.Nodes() {
		if n.Pool != "" {
			sum += s.PriceOf(n)
		}
	}
	return sum
}

// without returns the snapshot without the named nodes, whose pods are pending, and the number of these pods.
func without(s *model.Snapshot, names []string) (*model.Snapshot, int) {
	var d model.Delta
	evicted := 0
	for _, n := range s.Nodes() {
		if !slices.Contains(names, n.Name) {
			continue
		}
		if n.Object != nil {
			d.Gone = append(d.Gone, model.Ref{Kind: model.KindNode, Key: n.Object.Name})
		}
		if n.Claim != nil {
			d.Gone = append(d.Gone, model.Ref{Kind: model.KindClaim, Key: n.Claim.Name})
		}
		for _, p := range n.Pods {
			if !p.Reschedulable() {
				d.Gone = append(d.Gone, model.Ref{Kind: model.KindPod, Key: p.Key})
				continue
			}
			evicted++
			d.Pods = append(d.Pods, pendingAgain(p))
		}
	}
	return s.Apply(d), evicted
}

// pendingAgain returns the pod as its owner would create it anew.
func pendingAgain(p *model.Pod) *corev1.Pod {
	object := *p.Object
	object.Spec.NodeName = ""
	object.DeletionTimestamp = nil
	object.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}
	return &object
}

// WithPrices returns the snapshot with other prices: for the named types, all available offerings cost the price.
func WithPrices(s *model.Snapshot, prices map[string]float64) *model.Snapshot {
	d := model.Delta{Types: map[string][]*model.InstanceType{}}
	for _, p := range s.Pools() {
		types := slices.Clone(s.Types(p.Name))
		for i, t := range types {
			price, ok := prices[t.Name]
			if !ok {
				continue
			}
			changed := *t
			changed.Offerings = slices.Clone(t.Offerings)
			for k := range changed.Offerings {
				changed.Offerings[k].Price = price
			}
			types[i] = &changed
		}
		d.Types[p.Name] = types
	}
	return s.Apply(d)
}
