package examples

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// background calls pass repeatedly until the clean-up of the test.
func (p *place) background(t *testing.T, pass func(context.Context) error) {
	t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	over := make(chan struct{})
	go func() {
		defer close(over)
		// The poll ends only with its context.
		_ = wait.PollUntilContextCancel(ctx, 200*time.Millisecond, true, func(context.Context) (bool, error) {
			err := pass(ctx)
			if err != nil && ctx.Err() == nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) {
				t.Errorf("a stand-in: %v", err)
				return true, nil
			}
			return false, nil
		})
	}()
	t.Cleanup(func() { stop(); <-over })
}

// networkAgent emulates a network plugin: it removes the plugin's startup taint from nodes.
func networkAgent(t *testing.T, p *place) []string {
	const key = "node.cilium.io/agent-not-ready"
	p.background(t, func(ctx context.Context) error {
		var list corev1.NodeList
		if err := p.List(ctx, &list); err != nil {
			return err
		}
		for i := range list.Items {
			n := &list.Items[i]
			before := n.DeepCopy()
			n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(taint corev1.Taint) bool { return taint.Key == key })
			if len(n.Spec.Taints) == len(before.Spec.Taints) {
				continue
			}
			if err := p.Patch(ctx, n, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
				return err
			}
		}
		return nil
	})
	return nil
}

// zonal checks that three pods run in three zones, and that a deleted pod runs again in the zone of its volume.
func (s *stage) zonal(landed []landing) {
	s.t.Helper()
	before := s.zonesOf(landed)
	if len(before) != 3 || len(nodes(landed)) != 3 {
		s.t.Errorf("pods are in %v on %d nodes, want three zones", before, len(nodes(landed)))
	}
	lost := landed[0]
	if err := s.Delete(s.t.Context(), &lost.pod, client.GracePeriodSeconds(0)); err != nil {
		s.t.Fatal(err)
	}
	s.Poll(s.t, func(ctx context.Context) string {
		var pod corev1.Pod
		if err := s.Get(ctx, client.ObjectKeyFromObject(&lost.pod), &pod); err != nil {
			return err.Error()
		}
		if pod.UID == lost.pod.UID || pod.Status.Phase != corev1.PodRunning {
			return fmt.Sprintf("pod %s is not back", pod.Name)
		}
		return ""
	})
	for _, l := range s.run() {
		if l.pod.Name == lost.pod.Name && l.node.Labels[zone] != lost.node.Labels[zone] {
			s.t.Errorf("pod %s came back in %s, its volume is in %s", l.pod.Name, l.node.Labels[zone], lost.node.Labels[zone])
		}
	}
}

func (s *stage) zonesOf(landed []landing) map[string]int {
	out := map[string]int{}
	for _, l := range landed {
		out[l.node.Labels[zone]]++
	}
	return out
}
