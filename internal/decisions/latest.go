package decisions

import (
	"sync"

	"github.com/karpenter-go/karpenter/engine/model"
)

// An Outcome has the last decisions of the controllers. Its values are shared and must not be changed. They refer to
// the snapshots of these decisions, which may be older than the current one.
type Outcome struct {
	// Version increases with each change. It is 0 before the first decision.
	Version uint64
	// Planned is true after the first plan of provisioning. Refusals are the pods that the last plan has no node for.
	Planned  bool
	Refusals []model.Refusal
	// Disrupted is true after the first decision of disruption. Blocked are the nodes that the last one keeps, Commands are
	// its commands, and Proposed those that the enforcement mode withholds.
	Disrupted bool
	Blocked   []model.Blocked
	Commands  []model.Command
	Proposed  []model.Command
	// Headroom is the capacity that capacity buffers reserve, by node name.
	Headroom map[string]model.Resources
}

// Latest stores the newest Outcome for the dashboard. A nil Latest ignores all calls and has no Outcome. It is safe for
// concurrent use.
type Latest struct {
	mu      sync.Mutex // guards outcome
	outcome Outcome
}

// Plan records the refusals of a plan of provisioning.
func (l *Latest) Plan(refusals []model.Refusal) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.outcome.Version++
	l.outcome.Planned, l.outcome.Refusals = true, refusals
}

// Disruption records a decision of disruption: the fields of d from Blocked on.
func (l *Latest) Disruption(d Outcome) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	o := &l.outcome
	o.Version++
	o.Disrupted = true
	o.Blocked, o.Commands, o.Proposed, o.Headroom = d.Blocked, d.Commands, d.Proposed, d.Headroom
}

// Get returns the newest Outcome.
func (l *Latest) Get() Outcome {
	if l == nil {
		return Outcome{}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.outcome
}
