package budget

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Reopens finds when schedules allow disruption again, also if windows overlap. It returns false if they never do, or if
// they allow disruption now.
func TestReopens(t *testing.T) {
	monday := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	closed := func(schedule string, d time.Duration, reasons ...apiv1.DisruptionReason) apiv1.Budget {
		return apiv1.Budget{Nodes: "0", Schedule: &schedule, Duration: &apiv1.Duration{Duration: d}, Reasons: reasons}
	}
	for _, tt := range []struct {
		name    string
		budgets []apiv1.Budget
		want    time.Duration // after now; 0 for never
	}{
		{"office hours", []apiv1.Budget{closed("0 9 * * *", 8*time.Hour)}, 5 * time.Hour},
		{"two windows, one after the other", []apiv1.Budget{closed("0 9 * * *", 8*time.Hour), closed("0 16 * * *", 3*time.Hour)}, 7 * time.Hour},
		{"always closed", []apiv1.Budget{{Nodes: "0"}}, 0},
		{"always closed, and windows", []apiv1.Budget{{Nodes: "0"}, closed("0 9 * * *", 8*time.Hour)}, 0},
		{"never closed", []apiv1.Budget{{Nodes: "10%"}}, 0},
		{"closed for another reason", []apiv1.Budget{closed("0 9 * * *", 8*time.Hour, apiv1.DisruptionReasonDrifted)}, 0},
		{"a day that does not exist", []apiv1.Budget{{Nodes: "0"}, closed("0 0 30 2 *", time.Hour)}, 0},
	} {
		pool := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
		pool.Spec.Disruption.Budgets = tt.budgets
		s := model.Compile(model.Delta{Pools: []*apiv1.NodePool{pool}}).At(monday)
		b := Of(s, true)
		b.pools["default"].Nodes = 3
		p, _ := s.Pool("default")
		at, ok := b.Reopens(p, apiv1.DisruptionReasonUnderutilized, monday)
		if ok != (tt.want > 0) || ok && !at.Equal(monday.Add(tt.want)) {
			t.Errorf("%s: %v, %v; want after %v", tt.name, at, ok, tt.want)
		}
	}
}
