package e2e

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

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
// deleted, they continue. No other test runs at the same time, because the pause concerns the whole cluster. A story of
// internal/sim shows that nothing happens during the pause.
func TestPauseByConfigMap(t *testing.T) {
	s := newScene(t, "throttled")
	s.class()
	s.pool("throttled", needs{typesOf("m6i.large")})
	t.Cleanup(func() { s.throttle(nil) })

	s.throttle(map[string]string{"pause-launches": "true", "pause-disruption": "true"})
	s.awaitPaused(1)
	s.deploy("web", 1, "1")
	s.awaitEvent(about{kind: "NodePool", prefix: "throttled", reason: "LaunchWithheld"}, "launches are paused", "m6i.large")
	if n := len(s.claims()); n != 0 {
		t.Errorf("%d claims were created while launches were paused", n)
	}
	s.throttle(nil)
	s.awaitPaused(0)
	s.awaitRunning("web", 1)
}

// awaitPaused waits until the metric of pauses has the value for launches and for disruption. The controller reads the ConfigMap
// every few seconds.
func (s *scene) awaitPaused(want float64) {
	s.t.Helper()
	s.poll(func() string {
		now := s.metrics()
		for _, action := range []string{"launches", "disruption"} {
			if got := now.sum("karpenter_throttle_paused", `action="`+action+`"`); got != want {
				return fmt.Sprintf("the metric of the pause of %s is %v, want %v", action, got, want)
			}
		}
		return ""
	})
}
