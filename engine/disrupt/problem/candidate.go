package problem

import (
	"math"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/budget"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A Candidate is a node of a NodePool with what decisions need to know of it. It never changes.
type Candidate struct {
	Node *model.Node
	Pool *model.Pool // nil if it does not exist
	// Price is in dollars per hour. Priced is false if it is not known.
	Price  float64
	Priced bool
	// Pods are those that need another place when the node goes. EvictionCost is the sum of what evicting them costs, 1 for an
	// ordinary pod. Worth is a lower bound of the price of running them, in dollars per hour.
	Pods                []*model.Pod
	EvictionCost, Worth float64
	// Evictions are what PodDisruptionBudgets count of the pods. Unevictable is a no if one of the pods can never be evicted.
	Evictions   []budget.Eviction
	Unevictable model.Verdict

	index  int // in Problem.Candidates
	tuning tuning
}

// newCandidate returns the candidate, still without its worth.
func newCandidate(p *Problem, n *model.Node) *Candidate {
	c := &Candidate{Node: n, Pods: n.Reschedulable()}
	c.Pool, _ = p.Snapshot.Pool(n.Pool)
	if c.Pool != nil {
		c.tuning = tuningOf(c.Pool)
	}
	if t := p.types[n.Pool][c.Type()]; t != nil {
		o, ok := t.OfferingOf(n)
		c.Price, c.Priced = o.Price, ok
	}
	for _, pod := range c.Pods {
		c.EvictionCost += max(0, EvictionCost(pod))
	}
	c.Evictions, c.Unevictable = p.pdbs.Evictions(n.Pods)
	if n.Deleting || status.Disrupting(n) {
		p.pdbs.Begun(c.Evictions)
	}
	return c
}

// Type returns the name of the node's instance type.
func (c *Candidate) Type() string { return c.Node.Labels[corev1.LabelInstanceTypeStable] }

// CapacityType returns how the node was bought.
func (c *Candidate) CapacityType() string { return c.Node.Labels[apiv1.CapacityTypeLabelKey] }

// Waste returns what the node costs beyond the worth of its pods, in dollars per hour.
func (c *Candidate) Waste() float64 { return c.Price - c.Worth }

// podDeletionCost is an annotation of Kubernetes: pods of lower cost are deleted first.
const podDeletionCost = "controller.kubernetes.io/pod-deletion-cost"

// EvictionCost returns what evicting the pod costs: 1 for an ordinary pod, more for one of high priority or deletion cost,
// between -10 and 10. The formula is upstream Karpenter's.
func EvictionCost(p *model.Pod) float64 {
	cost := 1.0
	if v, err := strconv.ParseFloat(p.Object.Annotations[podDeletionCost], 64); err == nil {
		cost += v / math.Pow(2, 27)
	}
	cost += float64(p.Priority()) / math.Pow(2, 25)
	return min(max(cost, -10), 10)
}
