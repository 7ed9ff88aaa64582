package offline

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/lifecycle"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A WhatIf is the difference that a change would make. It is also the JSON output. Prices are in dollars per hour, lists
// are never null.
type WhatIf struct {
	// Before and After are the prices of all nodes of NodePools without and with the change. Both include the next plan.
	// After also includes the replacement of nodes that have drifted because of the change.
	Before float64 `json:"dollarsPerHourBefore"`
	After  float64 `json:"dollarsPerHourAfter"`
	// Drifted are nodes that no longer match their NodePool or node class.
	Drifted []DriftResult `json:"drifted"`
	// Lost are the instance types that no NodePool may launch any more, and Won those that only the change allows.
	Lost []string `json:"typesLost"`
	Won  []string `json:"typesWon"`
	// Launches are the nodes that would be launched with the change. Moved is the number of pending and evicted pods that
	// would be placed on existing nodes.
	Launches []NodeResult `json:"launches"`
	Moved    int          `json:"movedToExisting"`
	// Evictions is how many pods would be evicted.
	Evictions int `json:"evictions"`
	// Unschedulable are the pods that have no node with the change, although they have or get one without it.
	Unschedulable []string `json:"unschedulable"`
	// Unknown are sentences about what the change may do besides, which is not known without the cloud.
	Unknown []string `json:"unknown"`
	// Controller is what is known of the controller, nil if nothing is.
	Controller *Controller `json:"controller,omitempty"`
}

// A DriftResult is a node that drifts.
type DriftResult struct {
	Node   string `json:"node"`
	Pool   string `json:"pool"`
	Reason string `json:"reason"`
	Pods   int    `json:"pods"`
}

// An Alteration is a change whose effect is computed.
type Alteration struct {
	// Snapshot has the change.
	Snapshot *model.Snapshot
	// Gone are the nodes that the change removes, in addition to nodes that drift.
	Gone []string
	// Drifted are nodes that drift for a reason that Snapshot does not have, with that reason by name of the node.
	Drifted map[string]string
	// Unknown are sentences about effects that are not known.
	Unknown []string
}

// Compare returns the difference between the run r and the same cluster after a change. now is used for durations only.
func (r *Run) Compare(a Alteration, now func() time.Time) WhatIf {
	out := WhatIf{
		Before: priceOf(r.Snapshot) + r.Plan.Price, Drifted: []DriftResult{}, Lost: []string{}, Won: []string{},
		Launches: []NodeResult{}, Unschedulable: []string{}, Unknown: []string{},
	}
	out.types(r.Snapshot, a.Snapshot)
	out.Unknown = append(out.Unknown, a.Unknown...)
	c := r.Change(a)
	after := c.Snapshot
	out.Drifted, out.Evictions = c.Drifted, c.Evictions
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

// A Changed is a snapshot with a change, without the nodes that the change removes. Their pods are pending.
type Changed struct {
	Snapshot *model.Snapshot
	// Drifted are nodes that no longer match their NodePool or node class. They are removed.
	Drifted []DriftResult
	// Evictions is the number of pods on removed nodes that have to move.
	Evictions int
}

// Change returns the snapshot with the change, without the nodes that the change removes or makes drifted. Nodes that
// drift without the change stay.
func (r *Run) Change(a Alteration) Changed {
	out, changed, gone := Changed{Drifted: []DriftResult{}}, a.Snapshot, slices.Clone(a.Gone)
	for _, n := range changed.Nodes() {
		reason := cmp.Or(r.driftOf(changed, n), a.Drifted[n.Name])
		if reason != "" && r.driftOf(r.Snapshot, n) == "" {
			out.Drifted = append(out.Drifted, DriftResult{Node: n.Name, Pool: n.Pool, Reason: reason, Pods: len(n.Reschedulable())})
			gone = append(gone, n.Name)
		}
	}
	out.Snapshot, out.Evictions = without(changed, gone)
	return out
}

// driftOf returns why the node does not match its NodePool in the snapshot, empty if it does.
func (r *Run) driftOf(s *model.Snapshot, n *model.Node) string {
	pool, ok := s.Pool(n.Pool)
	if !ok || n.Claim == nil || n.Deleting {
		return ""
	}
	return lifecycle.Drift(n.Claim, pool.Object, s.Types(n.Pool), r.Options.Labels.Aliases, s.Now)
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

// Adopt sets the fields of a NodePool of a manifest that the API server and the controller would set: status, identity and
// hash. Status and identity are those of stored, the stored NodePool with the same name. If stored is nil, the NodePool
// counts as ready.
func Adopt(p, stored *apiv1.NodePool) {
	if stored != nil {
		p.Status, p.UID, p.CreationTimestamp = stored.Status, stored.UID, stored.CreationTimestamp
	} else {
		p.Status.Conditions = []metav1.Condition{{Type: apiv1.ConditionTypeReady, Status: metav1.ConditionTrue, Reason: apiv1.ConditionTypeReady}}
	}
	if p.Annotations == nil {
		p.Annotations = map[string]string{}
	}
	p.Annotations[apiv1.NodePoolHashAnnotationKey] = p.Hash()
	p.Annotations[apiv1.NodePoolHashVersionAnnotationKey] = apiv1.NodePoolHashVersion
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

// pendingAgain returns the pending pod that the owner of p creates when p is deleted.
func pendingAgain(p *model.Pod) *corev1.Pod {
	object := *p.Object
	object.Spec.NodeName = ""
	object.DeletionTimestamp = nil
	object.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}
	return &object
}

// Priced reports whether a NodePool of s has an offering with the name, which is a key of WithPrices.
func Priced(s *model.Snapshot, name string) bool {
	for _, p := range s.Pools() {
		for _, t := range s.Types(p.Name) {
			if t.Name == name || slices.ContainsFunc(t.Offerings, func(o model.Offering) bool { return keyOf(t, &o) == name }) {
				return true
			}
		}
	}
	return false
}

// keyOf returns type/zone/capacityType of an offering.
func keyOf(t *model.InstanceType, o *model.Offering) string {
	return t.Name + "/" + o.Zone + "/" + o.CapacityType
}

// WithPrices returns the snapshot with other prices. A key is the name of a type, for all its offerings, or
// type/zone/capacityType for one.
func WithPrices(s *model.Snapshot, prices map[string]float64) *model.Snapshot {
	return s.Apply(model.Delta{Types: model.WithOfferings(s, func(t *model.InstanceType, o *model.Offering) bool {
		price, ok := prices[keyOf(t, o)]
		if !ok {
			price, ok = prices[t.Name]
		}
		if ok {
			o.Price = price
		}
		return ok
	})})
}
