package disrupt

import (
	"math"
	"strconv"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// podDeletionCost is Kubernetes' own annotation: pods of lower cost go first.
const podDeletionCost = "controller.kubernetes.io/pod-deletion-cost"

// EvictionCost returns how much it hurts to move the pod: 1 for an ordinary one, more for those of high priority or
// deletion cost, between -10 and 10. The formula is Karpenter's.
func EvictionCost(p *model.Pod) float64 {
	cost := 1.0
	if v, err := strconv.ParseFloat(p.Object.Annotations[podDeletionCost], 64); err == nil {
		cost += v / math.Pow(2, 27)
	}
	cost += float64(p.Priority()) / math.Pow(2, 25)
	return min(max(cost, -10), 10)
}

// moveCost returns the sum of the costs of moving the pods; a pod that nobody minds losing costs nothing.
func moveCost(pods []*model.Pod) float64 {
	sum := 0.0
	for _, p := range pods {
		sum += max(0, EvictionCost(p))
	}
	return sum
}

// remaining returns for how many hours the node can be counted on to be needed: until it expires, and no longer than the
// pool's payback.
func (d *decider) remaining(c *candidate) float64 {
	left := c.knobs.payback
	if c.node.Claim != nil {
		if at, ok := expiresAt(c.node.Claim); ok {
			left = min(left, max(0, at.Sub(d.now)))
		}
	}
	return left.Hours()
}

// movePrice returns what it costs, in dollars, to move the pods of the node.
func (c *candidate) movePrice() float64 { return c.cost * c.knobs.movePrice }

// A payback weighs a move: what it saves until the nodes would have gone anyway, less what it disturbs and what is paid
// twice while replacements start.
type payback struct {
	gain  float64 // dollars saved in the time that counts
	price float64 // dollars that the move costs
}

func (p payback) net() float64 { return p.gain - p.price }

// weigh returns the payback of doing without the set, if its pods cost less elsewhere by saves, with replacements of that
// price.
func (d *decider) weigh(set []*candidate, saves, replacements float64) payback {
	var w payback
	hours, total := 0.0, 0.0
	for _, c := range set {
		hours += d.remaining(c) * c.price
		total += c.price
		w.price += c.movePrice()
	}
	if total > 0 {
		w.gain = saves * hours / total
	}
	w.price += replacements * overlap.Hours()
	return w
}

// spot reports whether the node was bought as spot.
func (c *candidate) spot() bool {
	return c.node.Labels[apiv1.CapacityTypeLabelKey] == apiv1.CapacityTypeSpot
}
