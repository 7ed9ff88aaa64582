package disrupt_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

// fullNodes returns a cluster of n full nodes, each with one pod, of which none is consolidated. The budget of the NodePool allows
// nothing from 13:00 to 14:00.
func fullNodes(t *testing.T, n int) *model.Snapshot {
	t.Helper()
	schedule, hour := "0 13 * * *", &apiv1.Duration{Duration: time.Hour}
	c := scenario.Cluster{
		Pools: []scenario.Pool{{Name: "default", Disruption: apiv1.Disruption{
			ConsolidateAfter: apiv1.MustParseNillableDuration("0s"),
			Budgets:          []apiv1.Budget{{Nodes: "100%"}, {Nodes: "0", Schedule: &schedule, Duration: hour}},
		}}},
		Types: []scenario.Type{{Name: "m", CPU: "2", Memory: "8Gi", Price: 0.1}},
	}
	for i := range n {
		c.Nodes = append(c.Nodes, scenario.Node{
			Name: fmt.Sprintf("n%02d", i), Pool: "default", Type: "m", Conditions: []string{"Consolidatable"},
			Pods: []scenario.Pod{{Name: fmt.Sprintf("p%d", i), CPU: "1500m", Memory: "1Gi"}},
		})
	}
	s, err := c.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// In a cluster without changes, the verdicts of a search count for 15 minutes.
func TestSearchIsNotRepeatedWithoutAChange(t *testing.T) {
	s := fullNodes(t, 12)
	o := options()
	first := disrupt.Decide(s, o, disrupt.Cursor{})
	if first.Stats.WhatIfs == 0 || len(first.Commands) > 0 {
		t.Fatalf("%d what-ifs and %v, want a search without result", first.Stats.WhatIfs, first.Commands)
	}
	soon := disrupt.Decide(s.At(s.Now.Add(time.Minute)), o, first.Cursor.Unchanged())
	if soon.Stats.WhatIfs > 0 {
		t.Errorf("the search is repeated after a minute, with %d what-ifs", soon.Stats.WhatIfs)
	}
	if diff := cmp.Diff(first.Blocked, soon.Blocked, cmpopts.IgnoreTypes(&model.Node{})); diff != "" {
		t.Error("the verdicts differ:\n" + diff)
	}
	if !soon.Cursor.Same(first.Cursor) {
		t.Error("the cursor changes")
	}
	if d := disrupt.Decide(s.At(s.Now.Add(15*time.Minute)), o, soon.Cursor.Unchanged()); d.Stats.WhatIfs != first.Stats.WhatIfs {
		t.Errorf("%d what-ifs after 15 minutes, want %d", d.Stats.WhatIfs, first.Stats.WhatIfs)
	}
	if d := disrupt.Decide(s.At(s.Now.Add(time.Minute)), o, first.Cursor); d.Stats.WhatIfs != first.Stats.WhatIfs {
		t.Errorf("%d what-ifs after a change, want %d", d.Stats.WhatIfs, first.Stats.WhatIfs)
	}
}

// If the bound of what-ifs was reached, the next decision evaluates the candidates that are left, and no set again.
func TestSearchContinuesWithoutAChange(t *testing.T) {
	s := fullNodes(t, 12)
	o := options()
	o.MaxWhatIfs = 5
	d := disrupt.Decide(s, o, disrupt.Cursor{})
	left := func() (n int) {
		for _, b := range d.Blocked {
			if b.Verdict.Cause == model.CauseNextPass {
				n++
			}
		}
		return n
	}
	for left() > 0 {
		before := left()
		d = disrupt.Decide(s.At(s.Now.Add(time.Second)), o, d.Cursor.Unchanged())
		if left() >= before {
			t.Fatalf("%d candidates are left after a pass, %d before", left(), before)
		}
	}
}

// When the schedule of a budget ends, the search is repeated, although no object has changed.
func TestSearchIsRepeatedWhenABudgetOpens(t *testing.T) {
	s := fullNodes(t, 12)
	day := time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	o := options()
	closed := disrupt.Decide(s.At(day.Add(13*time.Hour+59*time.Minute)), o, disrupt.Cursor{})
	if closed.Stats.WhatIfs > 0 {
		t.Fatalf("%d what-ifs while the budget is closed", closed.Stats.WhatIfs)
	}
	if d := disrupt.Decide(s.At(day.Add(14*time.Hour)), o, closed.Cursor.Unchanged()); d.Stats.WhatIfs == 0 {
		t.Error("no search after the budget opened")
	}
}

// Verdicts of a search do not outlive a decision about another cluster, even if that decision does not search.
func TestVerdictsEndWithAChange(t *testing.T) {
	s := fullNodes(t, 12)
	o := options()
	first := disrupt.Decide(s, o, disrupt.Cursor{})
	o.Paused = true
	paused := disrupt.Decide(s, o, first.Cursor)
	if paused.Stats.WhatIfs > 0 {
		t.Fatalf("%d what-ifs while disruption is paused", paused.Stats.WhatIfs)
	}
	o.Paused = false
	if d := disrupt.Decide(s, o, paused.Cursor.Unchanged()); d.Stats.WhatIfs != first.Stats.WhatIfs {
		t.Errorf("%d what-ifs after the pause, want %d", d.Stats.WhatIfs, first.Stats.WhatIfs)
	}
}
