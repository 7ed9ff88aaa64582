package problem

import (
	"time"

	"github.com/karpenter-go/karpenter/engine/model"
)

// Overlap is the assumed time for which both a node and its replacement are paid for.
const Overlap = 5 * time.Minute

// Epsilon is the difference below which prices (in dollars per hour) and gains (in dollars) count as equal.
const Epsilon = 1e-9

// A Payback is the gain and the cost of a move, in dollars.
type Payback struct {
	// Gain is the saving until the nodes expire, at most within the payback time of their NodePools.
	Gain float64
	// Cost is the price of evicting the pods, plus the price of the replacements during Overlap.
	Cost float64
	// Period is the longest time for which the saving at one of the nodes counts.
	Period time.Duration
}

// Net returns the gain less the cost.
func (p Payback) Net() float64 { return p.Gain - p.Cost }

// PaybackOf returns the payback of removing the set. saves is the saving and replacements the price of the
// replacements, in dollars per hour.
func (p *Problem) PaybackOf(set []*Candidate, saves, replacements float64) Payback {
	var w Payback
	hours, total := 0.0, 0.0
	for _, c := range set {
		horizon := p.horizon(c)
		w.Period = max(w.Period, horizon)
		hours += horizon.Hours() * c.Price
		total += c.Price
		w.Cost += c.EvictionCost * c.tuning.movePrice
	}
	if total > 0 {
		w.Gain = saves * hours / total
	}
	w.Cost += replacements * Overlap.Hours()
	return w
}

// horizon returns the time for which a saving at the node counts: until it expires, at most the payback time.
func (p *Problem) horizon(c *Candidate) time.Duration {
	left := c.tuning.payback
	if at, ok := model.ExpiresAt(c.Node.Claim); ok {
		left = min(left, max(0, at.Sub(p.Snapshot.Now)))
	}
	return left
}
