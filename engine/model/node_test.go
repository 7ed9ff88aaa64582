package model

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A node that is not initialized is silent when its kubelet has not reported for five minutes. An initialized one never is: its taints keep
// pods away.
func TestSilent(t *testing.T) {
	now := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		name        string
		initialized bool
		ready       corev1.ConditionStatus
		since       time.Duration
		want        bool
	}{
		{"starts", false, corev1.ConditionFalse, time.Hour, false},
		{"has just stopped", false, corev1.ConditionUnknown, 5*time.Minute - time.Second, false},
		{"has stopped", false, corev1.ConditionUnknown, 5 * time.Minute, true},
		{"was initialized before it stopped", true, corev1.ConditionUnknown, time.Hour, false},
	} {
		o := &corev1.Node{}
		o.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: tt.ready, LastTransitionTime: metav1.NewTime(now.Add(-tt.since))}}
		n := &Node{Object: o, Initialized: tt.initialized}
		if got := n.Silent(now); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	if (&Node{}).Silent(now) {
		t.Error("a claim without a node is silent")
	}
}
