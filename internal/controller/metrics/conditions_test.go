package metrics

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

func (w *world) conditions(kind schema.GroupVersionKind) *Conditions {
	w.t.Helper()
	c, err := NewConditions(kind, ConditionOptions{
		Client: w, Clock: w.clock, Events: w, Metrics: telemetry.NewConditionMetrics(w.reg, "nodeclaim", "node"),
		Facts: cloud.Facts{NodeClasses: []schema.GroupVersionKind{{Group: "x.io", Version: "v1", Kind: "TestClass"}}},
	})
	w.must(err)
	return c
}

func claimKind() schema.GroupVersionKind { return apiv1.GroupVersion.WithKind("NodeClaim") }

func aClaim(created int) *apiv1.NodeClaim {
	return &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: "c1", UID: "1", CreationTimestamp: at(created), Finalizers: []string{apiv1.TerminationFinalizer},
		Labels: map[string]string{apiv1.NodePoolLabelKey: "default", "x.io/testclass": "linux"},
	}}
}

// set gives the claim one condition whose last transition was since seconds after start.
func (w *world) set(t string, status metav1.ConditionStatus, reason string, since int) {
	w.t.Helper()
	claim := &apiv1.NodeClaim{}
	w.must(w.Get(w.t.Context(), types.NamespacedName{Name: "c1"}, claim))
	claim.Status.Conditions = []metav1.Condition{{Type: t, Status: status, Reason: reason, LastTransitionTime: at(since)}}
	w.must(w.Status().Update(w.t.Context(), claim))
}

func (w *world) told() []string {
	var list []string
	for _, e := range w.events {
		list = append(list, e.Reason+": "+e.Message)
	}
	return list
}

const (
	count       = "operator_nodeclaim_status_condition_count"
	current     = "operator_nodeclaim_status_condition_current_status_seconds"
	transition  = "operator_nodeclaim_status_condition_transition_seconds"
	transitions = "operator_nodeclaim_status_condition_transitions_total"
	ending      = "operator_nodeclaim_termination_current_time_seconds"
	ended       = "operator_nodeclaim_termination_duration_seconds"
)

func TestConditionChanges(t *testing.T) {
	w := newWorld(t, aClaim(0))
	c := w.conditions(claimKind())
	w.set("Launched", "Unknown", "AwaitingReconciliation", 0)
	if result := w.run(c, "", "c1"); result.RequeueAfter != 30*time.Second {
		t.Errorf("comes back after %v", result.RequeueAfter)
	}
	w.expect("", transitions) // a new condition with status Unknown is no change
	w.clock.Step(9 * time.Second)
	w.set("Launched", "True", "Launched", 7)
	w.run(c, "", "c1")
	w.run(c, "", "c1")
	const of = `name="c1",namespace="",nodeclass="linux",nodepool="default",reason="Launched",status="True",type="Launched"} `
	const kinds = `nodeclass="linux",nodepool="default",`
	w.expect(`
		`+count+`{`+of+`1
		`+current+`{`+of+`2
		`+transition+`_sum{`+kinds+`status="Unknown",to_status="True",type="Launched"} 7
		`+transition+`_count{`+kinds+`status="Unknown",to_status="True",type="Launched"} 1
		`+transitions+`{`+kinds+`reason="Launched",status="True",type="Launched"} 1
	`, count, current, transition, transitions)
	w.expect(`operator_status_condition_transitions_total{group="karpenter.sh",kind="NodeClaim",`+kinds+
		`reason="Launched",status="True",type="Launched"} 1`, "operator_status_condition_transitions_total")

	w.set("Launched", "False", "Lost", 9)
	w.run(c, "", "c1")
	want := []string{"Launched: Launched was Unknown and is True", "Launched: Launched was True and is False: Lost"}
	if diff := cmp.Diff(want, w.told()); diff != "" {
		t.Error(diff)
	}
}

// At the first reconcile of an object that is older than the controller, no change is reported, because the change may be
// old. For a younger object, the change is reported.
func TestFirstSight(t *testing.T) {
	for name, tt := range map[string]struct {
		created int
		want    string
	}{
		"older": {-1, ""},
		"younger": {1, transition + `_sum{nodeclass="linux",nodepool="default",status="Unknown",to_status="True",type="Launched"} 4
			` + transition + `_count{nodeclass="linux",nodepool="default",status="Unknown",to_status="True",type="Launched"} 1`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, aClaim(tt.created))
			c := w.conditions(claimKind())
			w.set("Launched", "True", "Launched", 5)
			w.run(c, "", "c1")
			w.expect(tt.want, transition)
		})
	}
}

func TestTermination(t *testing.T) {
	w := newWorld(t, aClaim(-60))
	c := w.conditions(claimKind())
	w.set("Launched", "True", "Launched", -50)
	w.run(c, "", "c1")
	claim := &apiv1.NodeClaim{}
	w.must(w.Get(t.Context(), types.NamespacedName{Name: "c1"}, claim))
	w.must(w.Delete(t.Context(), claim))
	w.must(w.Get(t.Context(), types.NamespacedName{Name: "c1"}, claim))
	w.clock.SetTime(claim.DeletionTimestamp.Add(12 * time.Second))
	w.run(c, "", "c1")
	w.expect(ending+`{name="c1",namespace="",nodeclass="linux",nodepool="default"} 12`, ending)

	claim.Finalizers = nil
	w.must(w.Update(t.Context(), claim))
	w.clock.Step(3 * time.Second)
	w.run(c, "", "c1")
	w.run(c, "", "c1")
	w.expect(ended+`_sum{nodeclass="linux",nodepool="default"} 15
		`+ended+`_count{nodeclass="linux",nodepool="default"} 1`, ending, ended, count, current)
	if diff := cmp.Diff([]string{"Finalized: Finalized NodeClaim c1"}, w.told()); diff != "" {
		t.Error(diff)
	}
	if kind := w.events[0].Object.GetObjectKind().GroupVersionKind(); kind != claimKind() {
		t.Errorf("the event is about a %v", kind)
	}
	if len(c.seen) != 0 {
		t.Errorf("remembers %v", c.seen)
	}
}

// All changes of conditions of nodes are counted. Those of nodes of a NodePool have events, except the first status of a condition.
func TestNodeConditions(t *testing.T) {
	for pool, want := range map[string][]string{
		"": nil, "default": {"Ready: Ready was False and is True: KubeletReady", "Ready: Ready was True and is Unknown: NodeStatusUnknown"},
	} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "1", CreationTimestamp: at(0)}}
		if pool != "" {
			node.Labels = map[string]string{apiv1.NodePoolLabelKey: pool}
		}
		w := newWorld(t, node)
		c := w.conditions(corev1.SchemeGroupVersion.WithKind("Node"))
		for i, is := range []corev1.NodeCondition{
			{Status: corev1.ConditionFalse, Reason: "KubeletNotReady"}, {Status: corev1.ConditionTrue, Reason: "KubeletReady"},
			{Status: corev1.ConditionTrue, Reason: "KubeletReady"}, {Status: corev1.ConditionUnknown, Reason: "NodeStatusUnknown"},
		} {
			is.Type, is.LastTransitionTime = corev1.NodeReady, at(i)
			w.must(w.Get(t.Context(), types.NamespacedName{Name: "n1"}, node))
			node.Status.Conditions = []corev1.NodeCondition{is, {Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse}}
			w.must(w.Status().Update(t.Context(), node))
			w.run(c, "", "n1")
		}
		const name = "operator_node_status_condition_transitions_total"
		of := name + `{nodeclass="",nodepool="` + pool + `",reason="`
		w.expect(of+`",status="False",type="DiskPressure"} 1
			`+of+`KubeletNotReady",status="False",type="Ready"} 1
			`+of+`KubeletReady",status="True",type="Ready"} 1
			`+of+`NodeStatusUnknown",status="Unknown",type="Ready"} 1`, name)
		if diff := cmp.Diff(want, w.told()); diff != "" {
			t.Errorf("pool %q: %s", pool, diff)
		}
	}
}

func TestUndeclaredKind(t *testing.T) {
	w := newWorld(t)
	if _, err := NewConditions(apiv1.GroupVersion.WithKind("NodePool"), ConditionOptions{
		Clock: w.clock, Metrics: telemetry.NewConditionMetrics(w.reg, "nodeclaim"),
	}); err == nil {
		t.Error("a kind without metrics is accepted")
	}
}
