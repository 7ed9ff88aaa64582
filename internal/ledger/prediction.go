package ledger

import (
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// The quantities of new nodes for which predictions are compared with the result.
const (
	QuantityCPU    = "cpu"
	QuantityMemory = "memory"
	QuantityBoot   = "boot"
)

// An Error has the relative errors of all predictions of one quantity.
type Error struct {
	Count int `json:"count"`
	// Mean is the mean of the absolute relative errors, Bias that of the signed ones: positive if predictions are too low.
	Mean float64 `json:"meanRelativeError"`
	Bias float64 `json:"bias"`
}

func (e *Error) add(ratio float64) {
	e.Count++
	e.Mean += (math.Abs(ratio) - e.Mean) / float64(e.Count)
	e.Bias += (ratio - e.Bias) / float64(e.Count)
}

// Predictions compares plans with their results. The exported fields are stored with the ledger, so they include earlier
// processes.
type Predictions struct {
	Errors map[string]*Error `json:"errors,omitempty"`
	// Hits is the number of pods that were bound to the node for which they were planned, Misses the number of those bound
	// to another node.
	Hits   int `json:"placementHits"`
	Misses int `json:"placementMisses"`

	starting map[types.UID]bool       // claims that were not initialized at the last call of observe
	boots    map[string]time.Duration // smoothed time from launch to initialized, by NodePool
	promises map[string]string        // planned node or claim of pods that were not bound at the last call, by the key of the pod
}

// observe compares the nodes that became initialized, and the pods that were bound, since the last call. m may be nil.
func (p *Predictions) observe(s *model.Snapshot, m *telemetry.CostMetrics) {
	if p.Errors == nil {
		p.Errors, p.boots = map[string]*Error{}, map[string]time.Duration{}
	}
	starting := map[types.UID]bool{}
	for _, n := range s.Nodes() {
		switch {
		case n.Claim == nil:
		case !n.Initialized:
			starting[n.Claim.UID] = true
		case p.starting[n.Claim.UID] && n.Object != nil:
			p.measure(n, m)
		}
	}
	p.starting = starting
	p.place(s, m)
}

// measure compares a node that became initialized with its claim.
func (p *Predictions) measure(n *model.Node, m *telemetry.CostMetrics) {
	planned := model.CapacityOf(n.Claim.Status.Allocatable)
	for quantity, name := range map[string]corev1.ResourceName{QuantityCPU: corev1.ResourceCPU, QuantityMemory: corev1.ResourceMemory} {
		p.add(quantity, float64(n.Allocatable[name]), float64(planned[name]), m)
	}
	launched, ready := condition.Get(n.Claim, apiv1.ConditionTypeLaunched), condition.Get(n.Claim, apiv1.ConditionTypeInitialized)
	if launched == nil || ready == nil {
		return
	}
	took := ready.LastTransitionTime.Sub(launched.LastTransitionTime.Time)
	expected, known := p.boots[n.Pool]
	if !known {
		p.boots[n.Pool] = took
		return
	}
	p.add(QuantityBoot, took.Seconds(), expected.Seconds(), m)
	p.boots[n.Pool] = expected + (took-expected)/4
}

// add adds the error of one prediction. Predictions of zero are ignored.
func (p *Predictions) add(quantity string, actual, predicted float64, m *telemetry.CostMetrics) {
	if predicted <= 0 {
		return
	}
	e := p.Errors[quantity]
	if e == nil {
		e = &Error{}
		p.Errors[quantity] = e
	}
	ratio := actual/predicted - 1
	e.add(ratio)
	if m != nil {
		m.PredictionErrorRatio.WithLabelValues(quantity).Observe(math.Abs(ratio))
	}
}

// place compares the nodes of pods that were bound since the last call with the planned nodes. If the planned node of a pod does
// not exist any more, the pod counts as a miss.
func (p *Predictions) place(s *model.Snapshot, m *telemetry.CostMetrics) {
	for key, node := range p.promises {
		pod, ok := s.Pods.Get(key)
		if !ok || !pod.Bound() || node == "" { // the plan for the pod was given up
			continue
		}
		result := telemetry.PlacementMiss
		if n, ok := s.NodeByName(node); ok && n.NodeName() == pod.Object.Spec.NodeName {
			result = telemetry.PlacementHit
			p.Hits++
		} else {
			p.Misses++
		}
		if m != nil {
			m.PredictedPlacementsTotal.WithLabelValues(result).Inc()
		}
	}
	p.promises = map[string]string{}
	for key, node := range s.Targets {
		if pod, ok := s.Pods.Get(key); ok && !pod.Bound() {
			p.promises[key] = node
		}
	}
}
