package disrupt

import "github.com/karpenter-go/karpenter/engine/model"

// A Rehearsal is what one decision would do to a fleet that was only written down.
type Rehearsal struct {
	Decision
	// Before and After are what the nodes of pools cost, in dollars per hour, before and once all commands are done. Nodes
	// whose price is not known count as free.
	Before, After float64
	// Moved is how many pods move.
	Moved int
}

// Consolidate returns what disruption would do to the nodes of s now. Nodes of a pool count as up, quiet and ours, with or
// without a claim; budgets, disruption budgets of pods and do-not-disrupt are kept.
func Consolidate(s *model.Snapshot, o Options) Rehearsal {
	o.Rehearse = true
	r := Rehearsal{Decision: Decide(s, o, Cursor{})}
	for _, n := range s.Nodes() {
		if n.Pool != "" {
			r.Before += Price(s, n)
		}
	}
	r.After = r.Before
	for i := range r.Commands {
		r.After -= r.Commands[i].Saves
		r.Moved += r.Commands[i].Moves()
	}
	return r
}
