package problem

import (
	"time"

	"github.com/karpenter-go/karpenter/engine/disrupt/status"
)

// Overlap is how long a node and its replacement are both paid for.
const Overlap = 5 * time.Minute

// Epsilon is the amount of money below which prices count as equal.
const Epsilon = 1e-9

// A Payback compares what a move saves with what it costs, in dollars.
type Payback struct {
	// Gain is what is saved until the nodes would have expired, and within the payback time of their NodePools.
	Gain float64
	// Cost is what evicting the pods costs, and what is paid twice until replacements are initialized.
	Cost float64
}

// Net returns the gain less the cost.
func (p Payback) Net() float64 { return p.Gain - p.Cost }

// PaybackOf returns the payback of removing the set, if that saves so many dollars per hour and needs replacements of that
// price.
func (p *Problem) PaybackOf(set []*Candidate, saves, replacements float64) Payback {
	var w Payback
	hours, total := 0.0, 0.0
	for _, c := range set {
		hours += p.horizon(c) * c.Price
		total += c.Price
		w.Cost += c.EvictionCost * c.tuning.movePrice
	}
	if total > 0 {
		w.Gain = saves * hours / total
	}
	w.Cost += replacements * Overlap.Hours()
	return w
}

// horizon returns for how many hours a saving at the node counts: until the node expires, and no longer than the payback
// time of its NodePool.
func (p *Problem) horizon(c *Candidate) float64 {
	left := c.tuning.payback
	if at, ok := status.ExpiresAt(c.Node.Claim); ok {
		left = min(left, max(0, at.Sub(p.Snapshot.Now)))
	}
	return left.Hours()
}
