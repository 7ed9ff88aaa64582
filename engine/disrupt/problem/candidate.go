package problem

import (
	"math"
	"strconv"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/deletioncost"
	"github.com/karpenter-go/karpenter/engine/disrupt/budget"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A Candidate is a node that may be disrupted, with the data on which decisions depend. It is immutable.
type Candidate struct {
	Node *model.Node
	Pool *model.Pool // nil if the NodePool does not exist
	// Price is the price of the node in dollars per hour. If commitments can cover the node, Price is by how much the bill
	// falls when the node alone ends. Priced is false if the list price of the node is not known: its instance type is
	// unknown or has no matching offering.
	Price  float64
	Priced bool
	// Pods are the pods that need another place if the node is removed. EvictionCost is the sum of their eviction costs,
	// each 1 for an ordinary pod. Negative ones count as zero. Worth is a lower bound of the price of capacity for them, in
	// dollars per hour.
	Pods                []*model.Pod
	EvictionCost, Worth float64
	// Evictions counts the node's pods by PodDisruptionBudget. Unevictable is a refusal if some pod can never be
	// evicted.
	Evictions   []budget.Eviction
	Unevictable model.Verdict

	index  int // index in Problem.Candidates
	tuning tuning
}

// newCandidate returns the candidate of n, without Worth, which the method appraise sets. If n is already being removed, its
// evictions count as begun.
func newCandidate(p *Problem, n *model.Node) *Candidate {
	c := &Candidate{Node: n, Pods: n.Reschedulable()}
	c.Pool, _ = p.Snapshot.Pool(n.Pool)
	if c.Pool != nil {
		c.tuning = tuningOf(c.Pool)
	}
	if t := p.types[n.Pool][c.Type()]; t != nil {
		if o := t.OfferingOf(n); o != nil {
			c.Price, c.Priced = o.Price, true
		}
		if coverage := p.Snapshot.Coverage(); coverage.Has(n.Name) {
			c.Price = p.released(coverage, n.Name)
		}
	}
	for _, pod := range c.Pods {
		c.EvictionCost += max(0, EvictionCost(pod, p.Options.IgnoreDeletionCost))
	}
	c.Evictions, c.Unevictable = p.pdbs.Evictions(n.Pods)
	if n.Deleting || status.Disrupting(n) {
		p.pdbs.CountBegun(c.Evictions)
	}
	return c
}

// Type returns the name of the node's instance type.
func (c *Candidate) Type() string { return c.Node.Labels[corev1.LabelInstanceTypeStable] }

// CapacityType returns the capacity type of the node.
func (c *Candidate) CapacityType() string { return c.Node.Labels[apiv1.CapacityTypeLabelKey] }

// Waste returns the price of the node less the worth of its pods, in dollars per hour.
func (c *Candidate) Waste() float64 { return c.Price - c.Worth }

// EvictionCost returns the cost of evicting the pod, between -10 and 10: 1 for an ordinary pod, more with a positive
// priority or disruption cost, less with a negative one. The formula is that of upstream Karpenter.
//
// The disruption cost is the annotation karpenter.sh/disruption-cost. A value that is not an int32 counts as 0. Without the
// annotation the disruption cost is controller.kubernetes.io/pod-deletion-cost, unless that is ignored or Karpenter has
// written it.
func EvictionCost(p *model.Pod, ignoreDeletionCost bool) float64 {
	text, stated := p.Object.Annotations[apiv1.DisruptionCostAnnotationKey]
	if !stated && !ignoreDeletionCost && !deletioncost.Written(p) {
		text = p.Object.Annotations[corev1.PodDeletionCost]
	}
	v, err := strconv.ParseInt(text, 10, 32)
	if err != nil {
		v = 0
	}
	cost := 1 + float64(v)/math.Pow(2, 27) + float64(p.Priority())/math.Pow(2, 25)
	return min(max(cost, -10), 10)
}
