package provision

import (
	"strings"
	"testing"
	"time"

	"github.com/karpenter-go/karpenter/internal/decisions"
)

// A round is recorded with its cause, launches, refusals and dollars. A round that only repeats refusals is not recorded.
func TestRecord(t *testing.T) {
	w := newWorld(t)
	w.Decisions = decisions.New(w.clock, nil)
	w.pend("web", 3, 2)
	w.pend("huge", 1, 900)
	for range 3 {
		w.clock.Step(time.Minute)
		w.reconcile()
	}
	all := w.Decisions.Snapshot()
	if len(all) != 1 {
		t.Fatalf("%d episodes, want 1: %+v", len(all), all)
	}
	e := all[0]
	if e.Kind != decisions.KindProvisioning || e.Action != "launch" || e.LaunchedNodes == 0 || e.State != decisions.StateOpen ||
		e.DollarsAfter <= e.DollarsBefore || e.Pods != 4 || !strings.HasPrefix(e.Cause, "4 pending pods: ") {
		t.Errorf("episode is %+v", e)
	}
	if len(e.Refused) != 1 || e.RefusedTotal != 1 || e.Refused[0].Fix == "" {
		t.Fatalf("refused: %+v", e.Refused)
	}
	// The event on the pod has the same text.
	told := ""
	for _, line := range *w.events {
		if strings.Contains(line, "FailedScheduling") {
			told = line
		}
	}
	if !strings.Contains(told, e.Refused[0].Reason) || !strings.Contains(told, e.Refused[0].Fix) {
		t.Errorf("event %q, log %+v", told, e.Refused[0])
	}
}
