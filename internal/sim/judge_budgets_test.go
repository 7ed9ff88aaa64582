package sim

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/ptr"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// A budget with a schedule counts while it applies, but not near the ends of its time, and not soon after a fault.
func TestBudgetsWithSchedulesApply(t *testing.T) {
	for _, tt := range []struct {
		name     string
		schedule string
		duration time.Duration
		at       time.Duration // since midnight
		fault    time.Duration // when the last fault ended, since midnight
		want     bool
	}{
		{name: "inside", schedule: "0 * * * *", duration: 10 * time.Minute, at: 65 * time.Minute, want: true},
		{name: "just begun", schedule: "0 * * * *", duration: 10 * time.Minute, at: time.Hour + 5*time.Second},
		{name: "nearly over", schedule: "0 * * * *", duration: 10 * time.Minute, at: 70*time.Minute - time.Second},
		{name: "over", schedule: "0 * * * *", duration: 10 * time.Minute, at: 71 * time.Minute},
		{name: "before the first", schedule: "0 12 * * *", duration: time.Hour, at: 11 * time.Hour},
		{name: "longer than a day", schedule: "0 0 * * *", duration: 25 * time.Hour, at: 23 * time.Hour, want: true},
		{name: "not understood", schedule: "sometimes", duration: time.Minute, at: time.Hour, want: true},
		{name: "after a fault", schedule: "0 * * * *", duration: 10 * time.Minute, at: 65 * time.Minute, fault: 65*time.Minute - 5*time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // begins at midnight UTC
				w := &World{processes: &processes{replicas: map[string]*replica{"a": nil}}, faults: newFaults(nil)}
				m := &moveRules{judge: &judge{world: w}}
				w.faults.hampered = time.Now().Add(tt.fault)
				time.Sleep(tt.at)
				b := apiv1.Budget{Nodes: "0", Schedule: ptr.To(tt.schedule), Duration: &apiv1.Duration{Duration: tt.duration}}
				if got := m.active(b); got != tt.want {
					t.Errorf("at %s, applies is %t, want %t", tt.at, got, tt.want)
				}
			})
		})
	}
	if !(&moveRules{}).active(apiv1.Budget{Nodes: "1"}) {
		t.Error("a budget without a schedule does not apply")
	}
}
