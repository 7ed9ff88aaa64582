package clusterapi

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// recorded keeps the events about withheld terminations.
type recorded []string

func (r *recorded) Publish(events ...telemetry.Event) {
	for _, e := range events {
		if e.Reason == telemetry.EventTerminationWithheld {
			*r = append(*r, e.Object.(client.Object).GetName()+": "+e.Message)
		}
	}
}

// launchMany creates n Machines and returns their claims.
func (w *world) launchMany(t *testing.T, n int) []*apiv1.NodeClaim {
	t.Helper()
	out := make([]*apiv1.NodeClaim, n)
	for i := range n {
		_, out[i] = w.launch(t, fmt.Sprint("claim-", i))
	}
	return out
}

// lift sets the annotation of the class by which it has no bound.
func (w *world) lift(t *testing.T) {
	t.Helper()
	var class clusterapiv1alpha1.ClusterAPINodeClass
	if err := w.kube.Get(t.Context(), client.ObjectKey{Name: "default"}, &class); err != nil {
		t.Fatal(err)
	}
	class.Annotations = map[string]string{apiv1.AllowMassTerminationAnnotationKey: "true"}
	if err := w.kube.Update(t.Context(), &class); err != nil {
		t.Fatal(err)
	}
}

// After claims were lost, as in a restore, no Machine is deleted if more than three and more than a fifth have no claim. The
// class says so, until its annotation lifts the bound.
func TestManyMachinesWithoutClaimAreKept(t *testing.T) {
	w := newWorld(t)
	claims := w.launchMany(t, 10)
	told := &recorded{}
	p := w.provider()
	p.config.Events = told
	lose := func(claims []*apiv1.NodeClaim) {
		t.Helper()
		for _, c := range claims {
			if err := w.kube.Delete(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := p.Collector().Reconcile(t.Context(), ctrl.Request{}); err != nil {
			t.Fatal(err)
		}
	}
	lose(claims[:3])
	w.wantObjects(t, 7)
	lose(claims[3:7])
	w.wantObjects(t, 7)
	if len(*told) != 1 || !strings.HasPrefix((*told)[0], "default: 4 of 7 instances were not terminated: at most 3 instances without NodeClaim") {
		t.Errorf("events are %q", *told)
	}
	w.lift(t)
	lose(nil)
	w.wantObjects(t, 3)
}

// If more than three Machines and more than a fifth of them fail health checks at once, none is replaced for that. Interruptions
// are not delayed by it.
func TestManyFailedHealthChecksAreWithheld(t *testing.T) {
	w := newWorld(t)
	w.launchMany(t, 10)
	told := &recorded{}
	p := w.provider()
	p.config.Events = told
	fail := func(n int, kind, reason string) {
		t.Helper()
		w.change(t, gvk("Machine"), fmt.Sprint("prod-claim-", n), func(u *unstructured.Unstructured) {
			_ = unstructured.SetNestedSlice(u.Object, []any{map[string]any{
				"type": kind, "status": "False", "reason": reason, "message": "told", "lastTransitionTime": "2026-01-05T12:00:00Z",
			}}, "status", "conditions")
		})
	}
	want := func(changes, interruptions int) {
		t.Helper()
		batch, err := p.NoticeSources()[0].Receive(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got := map[model.NoticeKind]int{}
		for _, n := range batch.Notices {
			got[n.Kind]++
		}
		if got[model.NoticeScheduledChange] != changes || got[model.NoticeSpotInterrupted] != interruptions {
			t.Errorf("notices by kind are %v, want %d failed health checks and %d interruptions", got, changes, interruptions)
		}
	}
	for n := range 3 {
		fail(n, "HealthCheckSucceeded", "NodeUnhealthy")
	}
	want(3, 0)
	fail(3, "HealthCheckSucceeded", "NodeUnhealthy")
	fail(4, "InfrastructureReady", "SpotInstanceInterrupted")
	want(0, 1)
	if len(*told) != 1 || !strings.HasPrefix((*told)[0], "default: 4 of 10 instances were not terminated") {
		t.Errorf("events are %q", *told)
	}
	w.lift(t)
	want(4, 1)
}
