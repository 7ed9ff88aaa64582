package offline

import (
	"github.com/karpenter-go/karpenter/engine/cost"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/ledger"
)

// Costs returns the costs of the nodes per hour, without history. label is the key of a pod label by which costs are
// added up; empty means none. usage has the resources that pods use, by pod key; it may be nil. simulated is the
// option Simulate with which d was made.
func (r *Run) Costs(d *Disruption, label string, usage map[string]model.Resources, simulated bool) ledger.Saved {
	a := cost.Allocate(cost.Input{
		Snapshot: r.Snapshot, Causes: cost.CausesOf(d.Blocked, d.Commands), Usage: usage, Headroom: d.Stats.Headroom, Label: label,
	})
	now := r.Snapshot.Now
	return ledger.Saved{
		Begin: now, Until: now, Rates: a.Parts, Floor: cost.MicrosOf(d.Floor), Nodes: a.Nodes, Unpriced: a.Unpriced, Label: label,
		Commitments: ledger.CommitmentsOf(r.Snapshot), Opens: ledger.Opens(r.Snapshot, a, simulated),
	}
}
