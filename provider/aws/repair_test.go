package aws

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/engine/repair"
)

// The number of an accelerator error determines its repair. Only the whole number matches.
func TestRepairOfAccelerators(t *testing.T) {
	now := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		reason  string
		reboots bool
		want    string
	}{
		{"NvidiaXID48Error", true, "reboot after 10m0s"},
		{"NvidiaXID48Error", false, "replace after 10m0s"},
		{"NvidiaXID79Error", true, "replace after 10m0s"},
		{"NvidiaXID64Error", true, "replace after 10m0s"},
		{"NvidiaXID640Error", true, "replace after 30m0s"},
		{"XID119", true, "replace after 10m0s"},
		{"NvidiaDoubleBitError", true, "replace after 30m0s"},
	} {
		policies, err := repair.Compile(repairPolicies(tt.reboots))
		if err != nil {
			t.Fatal(err)
		}
		n := &corev1.Node{}
		n.Status.Conditions = []corev1.NodeCondition{{
			Type: acceleratorsReady, Status: corev1.ConditionFalse, Reason: tt.reason, LastTransitionTime: metav1.Time{Time: now},
		}}
		got := ""
		for _, after := range []time.Duration{10 * time.Minute, 30 * time.Minute} {
			if r, _, ok := policies.Decide(policies.Matches(n, nil), now.Add(after)); ok && got == "" {
				got = "replace after " + after.String()
				if r.Reboot {
					got = "reboot after " + after.String()
				}
			}
		}
		if got != tt.want {
			t.Errorf("%s, reboots %t: %s, want %s", tt.reason, tt.reboots, got, tt.want)
		}
	}
}
