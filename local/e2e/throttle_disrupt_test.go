package e2e

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/local/cluster"
)

// throttle creates the ConfigMap that pauses the controller, or deletes it if data is nil. It concerns the whole cluster.
func (s *scene) throttle(data map[string]string) {
	s.t.Helper()
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: cluster.Namespace, Name: "karpenter-throttle"}, Data: data}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.t.Context()), scenePatience)
	defer cancel()
	if err := client.IgnoreNotFound(s.Delete(ctx, m.DeepCopy())); err != nil {
		s.t.Fatal(err)
	}
	if data == nil {
		return
	}
	if err := s.Create(ctx, m); err != nil {
		s.t.Fatal(err)
	}
}

// A ConfigMap pauses launches and disruption while the controller runs, with the rights of the chart. After the ConfigMap is
// deleted, they continue. No other test runs at the same time, because the pause concerns the whole cluster.
func TestPauseByConfigMap(t *testing.T) {
	s := newScene(t, "throttled")
	s.class()
	s.pool("throttled", needs{typesOf("m6i.large")})
	t.Cleanup(func() { s.throttle(nil) })

	s.throttle(map[string]string{"pause-launches": "true"})
	s.poll(func() string { // the controller reads it every few seconds
		if s.metrics().sum("karpenter_throttle_paused", `action="launches"`) != 1 {
			return "the controller has not noticed the pause"
		}
		return ""
	})
	s.deploy("web", 1, "1")
	s.awaitEvent(about{kind: "NodePool", prefix: "throttled", reason: "LaunchWithheld"}, "launches are paused", "m6i.large")
	if n := len(s.claims()); n != 0 {
		t.Errorf("%d claims were created while launches were paused", n)
	}
	s.throttle(nil)
	s.awaitRunning("web", 1)
	s.settled(1)

	s.throttle(map[string]string{"pause-disruption": "true"})
	s.poll(func() string {
		if s.metrics().sum("karpenter_throttle_paused", `action="disruption"`) != 1 {
			return "the controller has not noticed the pause"
		}
		return ""
	})
	s.change("throttled", lively(apiv1.Budget{Nodes: "100%"}))
	s.resize("web", 0)
	s.poll(func() string {
		if !condition.IsTrue(&s.settled(1)[0], apiv1.ConditionTypeConsolidatable) {
			return "the empty node may not go yet for another reason"
		}
		return ""
	})
	passes := func() float64 {
		return s.metrics().sum("karpenter_voluntary_disruption_decision_evaluation_duration_seconds_count", "")
	}
	seen := passes()
	s.poll(func() string {
		if passes() < seen+2 {
			return "the controller has not looked at the node twice"
		}
		return ""
	})
	for _, c := range s.settled(1) {
		if condition.IsTrue(&c, apiv1.ConditionTypeDisruptionReason) {
			t.Error("a node is marked to go while disruption is paused")
		}
	}
	s.throttle(nil)
	s.awaitNothing()
}
