package disrupt

import (
	"fmt"
	"math"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// balancedThreshold is the least score of a move under the policy Balanced: what it saves of the pool's cost must be half
// of what it disturbs of the pool's pods.
const balancedThreshold = 0.5

// A Score is what a move was weighed at for one pool.
type Score struct {
	Pool string
	// Value is (saved / cost of the pool) / (disturbed / all that could be disturbed in the pool); +Inf if it disturbs
	// nothing.
	Value    float64
	Approved bool
}

// balanced is a yes if every pool with the policy Balanced from which the move takes nodes approves. What is saved counts
// for each pool by its share of the cost.
func (d *decider) balanced(p *proposal) model.Verdict {
	for _, pool := range d.s.Pools() {
		if pool.Object.Spec.Disruption.ConsolidationPolicy != apiv1.ConsolidationPolicyBalanced {
			continue
		}
		source, move := 0.0, 0.0
		for _, c := range p.set {
			if c.node.Pool == pool.Name {
				source += c.price
				move += 1 + c.cost
			}
		}
		if move == 0 {
			continue
		}
		score := d.score(pool.Name, p.saves*source/p.price, move)
		approved := score >= balancedThreshold
		d.out.Stats.Scores = append(d.out.Stats.Scores, Score{Pool: pool.Name, Value: score, Approved: approved})
		if !approved {
			return model.Verdict{Rule: model.RulePayback, Subject: fmt.Sprintf(
				"consolidationPolicy Balanced: the move scores %.2f, %.2f is needed", score, balancedThreshold)}
		}
	}
	return model.Verdict{}
}

// score weighs a move from the pool. Karpenter's formula: see docs/disruption.md#balanced.
func (d *decider) score(pool string, saves, move float64) float64 {
	cost, disturbed := 0.0, 0.0
	for _, c := range d.ours {
		if c.node.Pool == pool {
			cost += c.price
			disturbed += 1 + c.cost
		}
	}
	switch {
	case saves <= 0 || cost <= 0 || disturbed <= 0:
		return 0
	case move <= 0:
		return math.Inf(1)
	}
	return (saves / cost) / (move / disturbed)
}
