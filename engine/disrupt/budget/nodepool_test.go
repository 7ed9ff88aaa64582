package budget

import (
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/model"
)

func TestAllowed(t *testing.T) {
	monday := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	office, weekend, broken, never := "0 9 * * 1-5", "@weekly", "61 * * * *", "0 0 30 2 *"
	hours := func(h int) *apiv1.Duration { return &apiv1.Duration{Duration: time.Duration(h) * time.Hour} }
	empty, drifted := apiv1.DisruptionReasonEmpty, apiv1.DisruptionReasonDrifted
	for _, tt := range []struct {
		name    string
		budgets []apiv1.Budget
		nodes   int
		want    int
	}{
		{"no budget is no bound", nil, 10, math.MaxInt32},
		{"a percentage rounds up", []apiv1.Budget{{Nodes: "10%"}}, 11, 2},
		{"one per cent still lets one go", []apiv1.Budget{{Nodes: "1%"}}, 3, 1},
		{"a percentage of nothing is nothing", []apiv1.Budget{{Nodes: "10%"}}, 0, 0},
		{"the smallest counts", []apiv1.Budget{{Nodes: "5"}, {Nodes: "2"}, {Nodes: "100%"}}, 10, 2},
		{"another reason's does not", []apiv1.Budget{{Nodes: "0", Reasons: []apiv1.DisruptionReason{drifted}}}, 10, math.MaxInt32},
		{"its own does", []apiv1.Budget{{Nodes: "1", Reasons: []apiv1.DisruptionReason{drifted, empty}}}, 10, 1},
		{"in its window", []apiv1.Budget{{Nodes: "0", Schedule: &office, Duration: hours(8)}}, 10, 0},
		{"its window is over", []apiv1.Budget{{Nodes: "0", Schedule: &office, Duration: hours(2)}}, 10, math.MaxInt32},
		{"a window that began yesterday", []apiv1.Budget{{Nodes: "0", Schedule: &weekend, Duration: hours(48)}}, 10, 0},
		{"what cannot be read holds back", []apiv1.Budget{{Nodes: "5", Schedule: &broken, Duration: hours(1)}}, 10, 0},
		{"a window that never opens", []apiv1.Budget{{Nodes: "0", Schedule: &never, Duration: hours(8)}}, 10, math.MaxInt32},
		{"nonsense holds back", []apiv1.Budget{{Nodes: "x%"}}, 10, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got, _ := allowed(tt.budgets, empty, tt.nodes, monday); got != tt.want {
				t.Errorf("allowed %d, want %d", got, tt.want)
			}
		})
	}
}

// Nodes that are not ready count against the budgets for all reasons except repair. If such a node is disrupted by force, it
// counts as disrupted, and no longer as not ready.
func TestNotReadyNodes(t *testing.T) {
	a := &Allowance{
		Disrupting: 1, NotReady: 2,
		Allowed: map[apiv1.DisruptionReason]int{apiv1.DisruptionReasonDrifted: 4, status.ReasonUnhealthy: 4},
	}
	if got := a.Left(apiv1.DisruptionReasonDrifted); got != 1 {
		t.Errorf("%d nodes may still drift, want 1", got)
	}
	if got := a.Left(status.ReasonUnhealthy); got != 3 {
		t.Errorf("%d nodes may still be repaired, want 3", got)
	}
	node := &model.Node{Pool: "p", Initialized: true, Object: &corev1.Node{}, Claim: &apiv1.NodeClaim{}}
	b := &NodePools{pools: map[string]*Allowance{"p": a}}
	b.TakeForced(node)
	if a.Disrupting != 2 || a.NotReady != 1 {
		t.Errorf("%d disrupting and %d not ready after a repair, want 2 and 1", a.Disrupting, a.NotReady)
	}
}
