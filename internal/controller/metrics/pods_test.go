package metrics

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

const (
	unbound       = "karpenter_pods_unbound_time_seconds"
	unstarted     = "karpenter_pods_unstarted_time_seconds"
	undecided     = "karpenter_pods_provisioning_scheduling_undecided_time_seconds"
	provUnbound   = "karpenter_pods_provisioning_unbound_time_seconds"
	provUnstarted = "karpenter_pods_provisioning_unstarted_time_seconds"
	bound         = "karpenter_pods_bound_duration_seconds"
	started       = "karpenter_pods_startup_duration_seconds"
	provBound     = "karpenter_pods_provisioning_bound_duration_seconds"
	provStarted   = "karpenter_pods_provisioning_startup_duration_seconds"
	decision      = "karpenter_pods_scheduling_decision_duration_seconds"
)

// gauges returns the names of the metrics that exist only while a pod waits.
func gauges() []string { return []string{unbound, unstarted, undecided, provUnbound, provUnstarted} }

// isBound returns the text of the named histogram after one observation of a pod without ResourceClaims.
func isBound(name string, seconds int) string {
	const labels = `{dynamic_resources="false"} `
	return fmt.Sprintf("%s_sum%s%d\n%s_count%s1\n", name, labels, seconds, name, labels)
}

// A pod has dynamic resources if the pod or one of its containers has ResourceClaims.
func TestDynamicResources(t *testing.T) {
	uses := corev1.Container{Resources: corev1.ResourceRequirements{Claims: []corev1.ResourceClaim{{Name: "gpu"}}}}
	for name, tt := range map[string]struct {
		spec corev1.PodSpec
		want string
	}{
		"none":           {corev1.PodSpec{Containers: []corev1.Container{{}}}, "false"},
		"pod":            {corev1.PodSpec{ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu"}}}, "true"},
		"container":      {corev1.PodSpec{Containers: []corev1.Container{{}, uses}}, "true"},
		"init container": {corev1.PodSpec{InitContainers: []corev1.Container{uses}}, "true"},
	} {
		if got := dynamicResources(&corev1.Pod{Spec: tt.spec}); got != tt.want {
			t.Errorf("%s: dynamic_resources is %s, want %s", name, got, tt.want)
		}
	}
}

func aPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "web", UID: "1", CreationTimestamp: at(-10),
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-rs", UID: "rs", Controller: new(bool),
			}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}},
	}
}

// setStatus sets the phase and conditions. Each condition is true since the given number of seconds after start.
func (w *world) setStatus(phase corev1.PodPhase, since map[corev1.PodConditionType]int) {
	w.t.Helper()
	pod := w.pod()
	pod.Status.Phase, pod.Status.Conditions = phase, nil
	for t, seconds := range since {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
			Type: t, Status: corev1.ConditionTrue, LastTransitionTime: at(seconds),
		})
	}
	w.must(w.Status().Update(w.t.Context(), pod))
}

func (w *world) pod() *corev1.Pod {
	w.t.Helper()
	pod := &corev1.Pod{}
	w.must(w.Get(w.t.Context(), types.NamespacedName{Namespace: "ns", Name: "web"}, pod))
	return pod
}

func (w *world) bind(node string) {
	w.t.Helper()
	pod := w.pod()
	pod.Spec.NodeName = node
	w.must(w.Update(w.t.Context(), pod))
}

func (w *world) pods() *Pods {
	return &Pods{Client: w, Clock: w.clock, Metrics: w.metrics.Pods, Timeline: NewTimeline(w.metrics.Pods)}
}

// The metrics of a pod are correct in each stage: it is pending, a round finds no node for it, the next round finds one, it
// is bound, and it becomes ready.
func TestPodTimes(t *testing.T) {
	w := newWorld(t, aPod(), &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}})
	c := w.pods()
	decide := func(placed bool) {
		c.Timeline.Decided(model.NewPod(w.pod()), w.clock.Now(), w.clock.Now(), placed, "default")
	}
	if result := w.run(c, "ns", "web"); result.RequeueAfter != 30*time.Second {
		t.Errorf("comes back after %v", result.RequeueAfter)
	}
	w.clock.Step(2 * time.Second)
	w.run(c, "ns", "web")
	w.expect(`
		`+undecided+`{name="web",namespace="ns"} 2
		`+unbound+`{dynamic_resources="false",name="web",namespace="ns"} 12
		`+unstarted+`{name="web",namespace="ns"} 12
	`, gauges()...)

	decide(true)
	decide(false) // the pod has no planned node any more
	w.clock.Step(time.Second)
	decide(true)
	w.clock.Step(4 * time.Second)
	decide(true) // the time of the first decision is kept
	w.run(c, "ns", "web")
	w.expect(`
		`+provUnbound+`{dynamic_resources="false",name="web",namespace="ns"} 4
		`+provUnstarted+`{name="web",namespace="ns"} 4
		`+unbound+`{dynamic_resources="false",name="web",namespace="ns"} 17
		`+unstarted+`{name="web",namespace="ns"} 17
	`, gauges()...)
	w.expect(decision+"_sum 2\n"+decision+"_count 1", decision)

	w.bind("n1")
	w.setStatus(corev1.PodPending, map[corev1.PodConditionType]int{corev1.PodScheduled: 8})
	w.clock.Step(10 * time.Second)
	w.run(c, "ns", "web")
	w.run(c, "ns", "web") // a second reconcile reports nothing
	w.expect(`
		`+provUnstarted+`{name="web",namespace="ns"} 14
		`+unstarted+`{name="web",namespace="ns"} 27
	`, gauges()...)
	w.expect(isBound(bound, 18)+isBound(provBound, 5), bound, provBound)

	w.setStatus(corev1.PodRunning, map[corev1.PodConditionType]int{corev1.PodScheduled: 8, corev1.PodReady: 20})
	if result := w.run(c, "ns", "web"); !result.IsZero() {
		t.Errorf("comes back for a pod that is ready: %v", result)
	}
	w.run(c, "ns", "web")
	w.expect("", gauges()...)
	w.expect(provStarted+"_sum 17\n"+provStarted+"_count 1\n"+started+"_sum 30\n"+started+"_count 1", provStarted, started)
	if len(c.waiting) != 0 || len(c.Timeline.pods) != 0 || c.Timeline.order.Len() != 0 {
		t.Errorf("remembers a pod that is ready: %v, %v", c.waiting, c.Timeline.pods)
	}
}

// A pod that was first observed when it was running, as after a restart, is not measured. Nor is a pod that becomes unready.
func TestPodsThatRunAreNotTimed(t *testing.T) {
	pod := aPod()
	pod.Spec.NodeName = "n1"
	w := newWorld(t, pod)
	c := w.pods()
	w.setStatus(corev1.PodRunning, map[corev1.PodConditionType]int{corev1.PodScheduled: -5, corev1.PodReady: -1})
	w.run(c, "ns", "web")
	w.setStatus(corev1.PodRunning, map[corev1.PodConditionType]int{corev1.PodScheduled: -5})
	w.run(c, "ns", "web")
	w.setStatus(corev1.PodRunning, map[corev1.PodConditionType]int{corev1.PodScheduled: -5, corev1.PodReady: 5})
	w.run(c, "ns", "web")
	w.expect("", append(gauges(), bound, started)...)
}

func TestPodsThatEnd(t *testing.T) {
	for name, end := range map[string]func(*world){
		"run to the end": func(w *world) { w.setStatus(corev1.PodSucceeded, nil) },
		"deleted":        func(w *world) { w.must(w.Delete(w.t.Context(), w.pod())) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, aPod())
			c := w.pods()
			w.run(c, "ns", "web")
			end(w)
			w.run(c, "ns", "web")
			w.expect("", append(gauges(), bound, started)...)
			if len(c.waiting) != 0 || len(c.Timeline.pods) != 0 {
				t.Errorf("remembers %v, %v", c.waiting, c.Timeline.pods)
			}
		})
	}
}

// The times of pods whose nodes fail to register are not measured, because provisioning does not cause them.
func TestUnhealthyPoolsAreNotTimed(t *testing.T) {
	pool := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	pool.Status.Conditions = []metav1.Condition{{
		Type: apiv1.ConditionTypeNodeRegistrationHealthy, Status: metav1.ConditionFalse,
	}}
	w := newWorld(t, aPod(), pool)
	c := w.pods()
	w.run(c, "ns", "web")
	c.Timeline.Decided(model.NewPod(w.pod()), start, start, true, "default")
	w.run(c, "ns", "web")
	w.expect("", provUnbound, provUnstarted)
	w.bind("n1")
	w.setStatus(corev1.PodPending, map[corev1.PodConditionType]int{corev1.PodScheduled: 8})
	w.run(c, "ns", "web")
	w.expect(isBound(bound, 18), bound, provBound)
}

func TestPodState(t *testing.T) {
	pod := aPod()
	*pod.OwnerReferences[0].Controller = true
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{
		apiv1.NodePoolLabelKey: "default", corev1.LabelTopologyZone: "a", corev1.LabelArchStable: "arm64",
		apiv1.CapacityTypeLabelKey: "spot", corev1.LabelInstanceTypeStable: "m.large",
	}}}
	w := newWorld(t, pod, node)
	c := w.pods()
	w.run(c, "ns", "web")
	const name = "karpenter_pods_state"
	w.expect(name+`{arch="",capacity_type="",instance_type="",managed="false",name="web",namespace="ns",node="",nodepool="",`+
		`owner="/apis/apps/v1/namespaces/ns/replicasets/web-rs",phase="Pending",ready="false",scheduled="false",zone=""} 1`, name)
	w.bind("n1")
	w.setStatus(corev1.PodRunning, map[corev1.PodConditionType]int{corev1.PodReady: 1})
	w.run(c, "ns", "web")
	w.expect(name+`{arch="arm64",capacity_type="spot",instance_type="m.large",managed="true",name="web",namespace="ns",`+
		`node="n1",nodepool="default",owner="/apis/apps/v1/namespaces/ns/replicasets/web-rs",phase="Running",ready="true",`+
		`scheduled="true",zone="a"} 1`, name)
	w.must(w.Delete(t.Context(), w.pod()))
	w.run(c, "ns", "web")
	w.expect("", name)
}
