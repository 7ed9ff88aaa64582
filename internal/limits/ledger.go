// Package limits decides whether planned nodes may still be launched within the limits of their NodePools.
//
// Provisioning and disruption plan concurrently, each with its own snapshot. Each plan is within the limits, but two
// plans together may exceed them. So a plan is checked again before its claims are created, together with launches that
// are not in its snapshot.
//
// State is in memory and may be lost: after a restart no plan is being executed, and the first snapshot has all claims.
package limits

import (
	"math"
	"sync"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/verify"
)

// A Ledger records launches until each planner has taken a snapshot that contains them. It is safe for concurrent use.
// A nil Ledger allows every launch.
type Ledger struct {
	mu sync.Mutex
	// now counts the completed launches.
	now uint64
	// seen has, for each planner, the value of now at its last call of Begin.
	seen    map[string]uint64
	charges []*charge
}

// A charge is the most that the nodes of one launch can add to the usage of one pool.
type charge struct {
	pool   string
	amount model.Resources
	// done is the number of the launch among the completed launches. It is underWay until the observed cluster has the
	// claims or their creation has failed.
	done uint64
}

const underWay = math.MaxUint64

// Begin records that the planner is about to take a snapshot. It removes the charges that the snapshots of all planners include.
func (l *Ledger) Begin(planner string) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen == nil {
		l.seen = map[string]uint64{}
	}
	l.seen[planner] = l.now
	oldest := l.now
	for _, at := range l.seen {
		oldest = min(oldest, at)
	}
	kept := l.charges[:0]
	for _, c := range l.charges {
		if c.done > oldest {
			kept = append(kept, c)
		}
	}
	clear(l.charges[len(kept):])
	l.charges = kept
}

// Take reports for each node whether it may be launched, and records the launch of those that may. s is the snapshot of the plan.
// It was taken after the planner's last call of Begin. done must be called when the observed cluster has the claims of these
// nodes, or when they were not created.
func (l *Ledger) Take(
	planner string, rules verify.Rules, s *model.Snapshot, nodes []model.PlannedNode,
) (may []bool, done func()) {
	if l == nil {
		may = make([]bool, len(nodes))
		for i := range may {
			may[i] = true
		}
		return may, func() {}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	unseen := map[string]model.Resources{}
	for _, c := range l.charges {
		if c.done > l.seen[planner] {
			unseen[c.pool] = unseen[c.pool].Plus(c.amount)
		}
	}
	may = rules.WithinLimits(s, nodes, unseen)
	var taken []*charge
	for i := range nodes {
		if may[i] && nodes[i].Pool != nil && len(nodes[i].Pool.Limits) > 0 {
			taken = append(taken, &charge{pool: nodes[i].Pool.Name, amount: verify.Charge(&nodes[i]), done: underWay})
		}
	}
	l.charges = append(l.charges, taken...)
	return may, func() { l.finish(taken) }
}

// finish records that the observed cluster has the claims of the charges, or that they were not created.
func (l *Ledger) finish(taken []*charge) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.now++
	for _, c := range taken {
		c.done = l.now
	}
}
