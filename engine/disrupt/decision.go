package disrupt

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
)

// Options tunes Decide. The zero value works.
type Options struct {
	// Pack is how what-ifs are packed.
	Pack pack.Options
	// SpotToSpot lets spot nodes be replaced by cheaper spot nodes.
	SpotToSpot bool
	// Static lets pools with replicas be kept at them.
	Static bool
	// Repair are the conditions that mean that a node is beyond repair; none: nothing is repaired.
	Repair []RepairPolicy
	// Mode is that of pools that say nothing: Auto, DryRun or Approve. Empty is Auto.
	Mode string
	// Paused stops voluntary disruption of all pools.
	Paused bool
	// Rehearse takes the nodes of a pool for nodes of ours that are up and have been quiet for long enough, whether they have
	// a claim or not. See Consolidate.
	Rehearse bool
	// Resting are the names of nodes that are let be for now, because they were found at the last moment not to be able to go.
	Resting map[string]bool
	// MaxNodes is how many nodes may be disrupted by choice in one decision; 0 for no bound, less for none.
	MaxNodes int
	// MaxWhatIfs is how many hypotheses consolidation may try in one decision. It replaces a time limit: a count gives the
	// same decision on a slow machine. What was not reached is first in the next decision. Default 4,000.
	MaxWhatIfs int
}

// A RepairPolicy says that a node whose condition Type has been Status for Toleration is beyond repair.
type RepairPolicy struct {
	Type       corev1.NodeConditionType
	Status     corev1.ConditionStatus
	Toleration time.Duration
}

// A Cursor says where the next decision goes on. The zero Cursor begins. It may be lost: then some nodes wait longer.
type Cursor struct {
	// After is the name of the last node that consolidation looked at by itself.
	After string
	// Turn rotates which method has the first call on budgets, so that none starves another.
	Turn int
	// Gathering is since when nodes that rest wait for others, zero if none does; Gathered is until when none begins to.
	Gathering, Gathered time.Time
}

// A Decision is what disruption would do now, and a verdict for every node of ours that it leaves alone.
type Decision struct {
	// Commands are to be carried out, in this order.
	Commands []model.Command
	// Proposed are what their pools' mode holds back: told, and not done.
	Proposed []model.Command
	// Blocked are all other nodes of ours, in name order.
	Blocked []model.Blocked
	// Launches are nodes that static pools are short of, Surplus those that they have too many of.
	Launches []model.PlannedNode
	Surplus  []*model.Node
	// Budgets are as they stand once the commands are done.
	Budgets *Budgets
	// Cursor is for the next decision.
	Cursor Cursor
	Stats  Stats
}

// Stats tell how a decision came about.
type Stats struct {
	// WhatIfs is how many hypotheses were packed, Sketches how many were asked of a small part of the cluster first.
	WhatIfs, Sketches int
	// Eligible is how many nodes each reason could take if budgets allowed all.
	Eligible map[apiv1.DisruptionReason]int
	// Scores are what consolidations under the policy Balanced were weighed at.
	Scores []Score
	// Spent says that MaxWhatIfs was reached.
	Spent bool
}

// String renders the decision for tests.
func (d Decision) String() string {
	var b strings.Builder
	for _, n := range d.Launches {
		b.WriteString("launch " + n.Pool.Name + " " + n.Options[0].Name + "\n")
	}
	for _, n := range d.Surplus {
		b.WriteString("surplus " + n.Name + "\n")
	}
	for _, c := range d.Commands {
		b.WriteString(c.String() + "\n")
	}
	for _, c := range d.Proposed {
		b.WriteString("proposed: " + c.String() + "\n")
	}
	for _, x := range d.Blocked {
		b.WriteString("blocked " + x.Node.Name + ": " + x.Verdict.String() + "\n")
	}
	return b.String()
}

// Decide looks at every node of ours. Those that must go (expired, beyond repair) come first; then those that may, by
// emptiness, drift and price, as far as budgets, disruption budgets of pods and do-not-disrupt allow.
func Decide(s *model.Snapshot, o Options, from Cursor) Decision {
	if o.MaxWhatIfs == 0 {
		o.MaxWhatIfs = 4000
	}
	d := newDecider(s, o, from)
	out := d.decide()
	if !d.idle {
		return out
	}
	// What pays most at first may leave less to gain in the end, so three ways are gone to their end.
	best := d.net
	for _, whole := range []bool{false, true} {
		w := newDecider(s, o, from)
		w.wide, w.whole = true, whole
		other := w.decide()
		if w.net > best+tiny {
			best, out, other = w.net, other, out
		}
		out.Stats.WhatIfs += other.Stats.WhatIfs
		out.Stats.Sketches += other.Stats.Sketches
	}
	return out
}

func (d *decider) decide() Decision {
	d.methods()
	if d.o.Static {
		d.static()
	}
	d.telling = true
	d.methods()
	return d.finish()
}

// methods looks at all nodes that may go or, once d.telling is set, at those of which it may only be told that they should.
// What is only told comes after all that is done, so that it takes nothing from it: no place, no budget, no what-if.
func (d *decider) methods() {
	d.repair()
	d.expire()
	methods := []func(){d.empty, d.drift, d.consolidate}
	for i := range methods {
		methods[(i+d.out.Cursor.Turn)%len(methods)]()
	}
}

// finish puts the decision into order.
func (d *decider) finish() Decision {
	for _, c := range d.ours {
		if c.done {
			continue
		}
		v := c.verdict
		if v.OK() {
			v = d.reasonToStay(c)
		}
		d.out.Blocked = append(d.out.Blocked, model.Blocked{Node: c.node, Verdict: v, Worth: max(0, c.price-c.worth)})
	}
	slices.SortStableFunc(d.out.Blocked, func(a, b model.Blocked) int { return strings.Compare(a.Node.Name, b.Node.Name) })
	d.out.Budgets = d.budgets
	if !d.gathers {
		d.out.Cursor.Gathering = time.Time{} // who waited is gone, or restless again
	}
	if len(d.out.Commands) > 0 {
		d.out.Cursor.Turn = (d.out.Cursor.Turn + 1) % 3
	}
	return d.out
}

// reasonToStay returns the verdict of a node that no method has objected to.
func (d *decider) reasonToStay(c *candidate) model.Verdict {
	if v := d.barred(c); !v.OK() {
		return v
	}
	return model.Verdict{Rule: model.RuleNotDue}
}
