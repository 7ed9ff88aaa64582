package problem

import (
	"math"
	"strconv"
	"time"

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
	// unknown, or has no matching offering, or none with a price.
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

	index int // index in Problem.Candidates
	// movePrice and payback are settings of the NodePool for comparing the saving of a move with its cost. See their defaults.
	movePrice float64
	payback   time.Duration
}

// newCandidate returns the candidate of n, without Worth, which setWorths sets. If n is already being removed, its
// evictions count as begun.
func newCandidate(p *Problem, n *model.Node) *Candidate {
	c := &Candidate{Node: n, Pods: n.Reschedulable(), movePrice: movePrice, payback: payback}
	if c.Pool, _ = p.Snapshot.Pool(n.Pool); c.Pool != nil {
		c.readSettings(c.Pool.Object.Annotations)
	}
	if t := p.types[n.Pool][c.Type()]; t != nil {
		if o := t.OfferingOf(n); o != nil && !o.Unpriced {
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

// Defaults of settings that annotations of a NodePool override.
const (
	// movePrice is the price, in dollars, of moving one ordinary pod.
	movePrice = 0.001
	// payback is the longest time over which the saving of a move is compared with its cost.
	payback = 4 * time.Hour
)

// readSettings sets movePrice and payback from the annotations of the NodePool. Values that cannot be parsed, negative costs and
// periods that are not positive are ignored.
func (c *Candidate) readSettings(annotations map[string]string) {
	if v, err := strconv.ParseFloat(annotations[apiv1.EvictionCostAnnotationKey], 64); err == nil && v >= 0 {
		c.movePrice = v
	}
	if d, err := time.ParseDuration(annotations[apiv1.PaybackPeriodAnnotationKey]); err == nil && d > 0 {
		c.payback = d
	}
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
	v, err := parseCost(text)
	if err != nil {
		v = 0
	}
	cost := 1 + float64(v)/math.Pow(2, 27) + float64(p.Priority())/math.Pow(2, 25)
	return min(max(cost, -10), 10)
}

// InvalidCost returns the annotation karpenter.sh/disruption-cost of the pod if it is not an int32. Otherwise ok is false.
func InvalidCost(p *model.Pod) (text string, ok bool) {
	text, stated := p.Object.Annotations[apiv1.DisruptionCostAnnotationKey]
	if !stated {
		return "", false
	}
	_, err := parseCost(text)
	return text, err != nil
}

func parseCost(text string) (int64, error) { return strconv.ParseInt(text, 10, 32) }

// overlap is the assumed time for which both a node and its replacement are paid for.
const overlap = 5 * time.Minute

// Epsilon is the difference below which prices (in dollars per hour) and gains (in dollars) count as equal.
const Epsilon = 1e-9

// A Payback is the gain and the cost of a move, in dollars.
type Payback struct {
	// Gain is the saving until the nodes expire, at most within the payback time of their NodePools.
	Gain float64
	// Cost is the price of evicting the pods, plus the price of the replacements during overlap.
	Cost float64
	// Period is the longest time for which the saving at one of the nodes counts.
	Period time.Duration
}

// Net returns the gain less the cost.
func (p Payback) Net() float64 { return p.Gain - p.Cost }

// PaybackOf returns the payback of removing the set. saves is the saving and replacements the price of the
// replacements, in dollars per hour. A saving at a node counts until the node expires, at most for its payback time.
func (p *Problem) PaybackOf(set []*Candidate, saves, replacements float64) Payback {
	var w Payback
	hours, total := 0.0, 0.0
	for _, c := range set {
		horizon := c.payback
		if at, ok := model.ExpiresAt(c.Node.Claim); ok {
			horizon = min(horizon, max(0, at.Sub(p.Snapshot.Now)))
		}
		w.Period = max(w.Period, horizon)
		hours += horizon.Hours() * c.Price
		total += c.Price
		w.Cost += c.EvictionCost * c.movePrice
	}
	if total > 0 {
		w.Gain = saves * hours / total
	}
	w.Cost += replacements * overlap.Hours()
	return w
}
