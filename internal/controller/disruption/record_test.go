package disruption

import (
	"testing"
	"time"

	"github.com/karpenter-go/karpenter/internal/decisions"
)

// A replacement is recorded with its nodes, its replacements and the dollars before and after.
func TestRecordReplacement(t *testing.T) {
	o := newColony(t, time.Second)
	log := decisions.New(o.clock, nil)
	o.c.Decisions = log
	for range 2 {
		o.pass()
	}
	all := log.Snapshot()
	if len(all) == 0 {
		t.Fatal("nothing is recorded")
	}
	removed := map[string]bool{}
	for _, e := range all {
		if e.Kind != decisions.KindDisruption || e.Reason != "Drifted" || e.State != decisions.StateOpen || e.LaunchedNodes == 0 ||
			e.EvictionsPlanned == 0 || e.DollarsBefore <= 0 || e.DollarsAfter == e.DollarsBefore || e.Cause == "" || e.Decision == "" {
			t.Errorf("episode is %+v", e)
		}
		for _, r := range e.Removals {
			if removed[r.Node] || r.DollarsPerHour != 0.4 || r.Claim == "" {
				t.Errorf("removal is %+v, or recorded twice", r)
			}
			removed[r.Node] = true
		}
	}
	if len(removed) != 2 {
		t.Errorf("removed %v, want two nodes", removed)
	}
}
