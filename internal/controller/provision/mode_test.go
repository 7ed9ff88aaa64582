package provision

import (
	"strings"
	"testing"
	"time"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// In mode DryRun the decision is made and told, and nothing is launched.
func TestDryRunLaunchesNothing(t *testing.T) {
	w := newWorld(t)
	w.Mode = apiv1.ModeDryRun
	w.pend("web", 2, 1)
	w.reconcile()
	w.clock.Step(time.Second)
	w.reconcile()
	if n := len(w.claims()); n != 0 {
		t.Errorf("%d claims were created", n)
	}
	told := w.told("LaunchProposed")
	if len(told) != 1 || !strings.Contains(told[0], "default ") || !strings.Contains(told[0], "1 x small at $0.1000/h") {
		t.Errorf("told %q, want the launch that was held back", told)
	}
	if told := w.told("Nominated"); len(told) != 0 {
		t.Errorf("pods were told of a node that does not come: %q", told)
	}
}
