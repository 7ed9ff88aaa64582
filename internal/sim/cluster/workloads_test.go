package cluster

import (
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// withNodes returns a world with ready nodes in two zones.
func withNodes(t *testing.T, n int) *world {
	t.Helper()
	w := newWorld(t, 7)
	for i := range n {
		w.addNode(fmt.Sprintf("node-%d", i), fmt.Sprintf("z%d", i%2))
	}
	w.run(5 * time.Second)
	return w
}

func TestDeploymentScales(t *testing.T) {
	w := withNodes(t, 2)
	create(w, Deployment("default", "web", 5, Template("web", "1", "1Gi")))
	w.run(10 * time.Second)
	w.wantReady("web", 5)
	d := find[*appsv1.Deployment](w, "default", "web")
	if s := d.Status; s.Replicas != 5 || s.ReadyReplicas != 5 || s.AvailableReplicas != 5 || s.UpdatedReplicas != 5 || s.ObservedGeneration != d.Generation {
		t.Errorf("status is %+v", s)
	}
	cheap := w.podsOf("web")[3]
	edit(w, "default", cheap.Name, func(p *corev1.Pod) { p.Annotations[corev1.PodDeletionCost] = "-5" })
	edit(w, "default", "web", func(d *appsv1.Deployment) { four := int32(4); d.Spec.Replicas = &four })
	w.run(10 * time.Second)
	w.wantReady("web", 4)
	if _, ok := kubeapi.Find[*corev1.Pod](w.server, "default", cheap.Name); ok {
		t.Error("the pod with the lowest deletion cost was kept")
	}
	w.remove(find[*appsv1.Deployment](w, "default", "web"))
	w.run(10 * time.Second)
	if n, m := len(w.podsOf("web")), kubeapi.Len[*appsv1.ReplicaSet](w.server); n != 0 || m != 0 {
		t.Errorf("after the Deployment was deleted, %d pods and %d ReplicaSets exist", n, m)
	}
}

func TestRollingUpdateKeepsItsMargins(t *testing.T) {
	for _, tt := range []struct{ surge, unavailable, most, least int }{{1, 0, 11, 10}, {0, 2, 10, 8}, {3, 3, 13, 7}} {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			w := withNodes(t, 3)
			d := Deployment("default", "web", 10, Template("web", "1", "1Gi"))
			surge, unavailable := intstr.FromInt(tt.surge), intstr.FromInt(tt.unavailable)
			d.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{MaxSurge: &surge, MaxUnavailable: &unavailable}
			create(w, d)
			w.run(20 * time.Second)
			w.wantReady("web", 10)
			edit(w, "default", "web", func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "web:2" })
			updated := func() int {
				return len(slices.DeleteFunc(w.podsOf("web"), func(p *corev1.Pod) bool { return p.Spec.Containers[0].Image != "web:2" }))
			}
			for range 1000 {
				w.run(100 * time.Millisecond)
				n := len(slices.DeleteFunc(w.podsOf("web"), func(p *corev1.Pod) bool { return !active(p) }))
				if n > tt.most || w.readyPods("web") < tt.least {
					t.Fatalf("%d pods exist and %d are ready, want %d at most and %d at least", n, w.readyPods("web"), tt.most, tt.least)
				}
			}
			if w.wantReady("web", 10); updated() != 10 {
				t.Errorf("%d pods have the new template", updated())
			}
		})
	}
}

func TestRecreate(t *testing.T) {
	w := withNodes(t, 2)
	d := Deployment("default", "web", 3, Template("web", "1", "1Gi"))
	d.Spec.Strategy.Type = appsv1.RecreateDeploymentStrategyType
	create(w, d)
	w.run(10 * time.Second)
	edit(w, "default", "web", func(d *appsv1.Deployment) { d.Spec.Template.Spec.Containers[0].Image = "web:2" })
	for range 100 {
		w.run(100 * time.Millisecond)
		images := map[string]bool{}
		for _, p := range w.podsOf("web") {
			images[p.Spec.Containers[0].Image] = true
		}
		if len(images) > 1 {
			t.Fatal("pods of both templates exist at the same time")
		}
	}
	w.wantReady("web", 3)
}

func TestFailedPodIsReplaced(t *testing.T) {
	w := withNodes(t, 1)
	template := Template("web", "1", "1Gi")
	template.Annotations[FailsAfter] = "30s"
	create(w, Deployment("default", "web", 1, template))
	w.run(36 * time.Second)
	if pods := w.podsOf("web"); len(pods) != 2 {
		t.Errorf("%d pods, want the failed one and its replacement", len(pods))
	}
}

func TestDaemonSet(t *testing.T) {
	w := withNodes(t, 3)
	w.addNode("tainted", "z1", corev1.Taint{Key: "team", Effect: corev1.TaintEffectNoSchedule})
	template := Template("agent", "100m", "100Mi")
	create(w, DaemonSet("kube-system", "agent", template))
	w.run(10 * time.Second)
	w.wantReady("agent", 3)
	on := map[string]bool{}
	for _, p := range w.podsOf("agent") {
		on[p.Spec.NodeName] = true
	}
	if len(on) != 3 || on["tainted"] {
		t.Errorf("pods run on %v", on)
	}
	set := find[*appsv1.DaemonSet](w, "kube-system", "agent")
	if s := set.Status; s.DesiredNumberScheduled != 3 || s.NumberAvailable != 3 || s.UpdatedNumberScheduled != 3 {
		t.Errorf("status is %+v", s)
	}
	edit(w, "", "tainted", func(n *corev1.Node) { n.Spec.Taints = nil })
	edit(w, "", "node-0", func(n *corev1.Node) { n.Spec.Unschedulable = true })
	w.run(10 * time.Second)
	w.wantReady("agent", 4) // a cordoned node keeps its pod
	w.remove(find[*corev1.Node](w, "", "node-1"))
	w.run(time.Minute)
	w.wantReady("agent", 3)
	if n := len(w.podsOf("agent")); n != 3 {
		t.Errorf("%d pods exist", n)
	}
}

func TestDaemonSetRollsOneByOne(t *testing.T) {
	w := withNodes(t, 4)
	create(w, DaemonSet("kube-system", "agent", Template("agent", "100m", "100Mi")))
	w.run(10 * time.Second)
	edit(w, "kube-system", "agent", func(d *appsv1.DaemonSet) { d.Spec.Template.Spec.Containers[0].Image = "agent:2" })
	for range 600 {
		w.run(100 * time.Millisecond)
		if n := w.readyPods("agent"); n < 3 {
			t.Fatalf("%d pods are ready", n)
		}
	}
	for _, p := range w.podsOf("agent") {
		if p.Spec.Containers[0].Image != "agent:2" {
			t.Error("a pod has the old template")
		}
	}
}

func TestDaemonSetWaitsForTaints(t *testing.T) {
	w := withNodes(t, 0)
	w.addNode("new", "z1", corev1.Taint{Key: "unregistered", Effect: corev1.TaintEffectNoExecute})
	create(w, DaemonSet("kube-system", "agent", Template("agent", "100m", "100Mi")))
	w.run(10 * time.Second)
	if n := len(w.podsOf("agent")); n != 0 {
		t.Fatalf("%d pods for a node whose taint they do not tolerate", n)
	}
	edit(w, "", "new", func(n *corev1.Node) { n.Spec.Taints = nil })
	w.run(10 * time.Second)
	w.wantReady("agent", 1)
}

func TestJob(t *testing.T) {
	w := withNodes(t, 2)
	job := Job("default", "batch", 5, 2, "30s", Template("batch", "1", "1Gi"))
	ttl := int32(60)
	job.Spec.TTLSecondsAfterFinished = &ttl
	create(w, job)
	for range 100 {
		w.run(time.Second)
		if n := find[*batchv1.Job](w, "default", "batch").Status.Active; n > 2 {
			t.Fatalf("%d pods are active", n)
		}
	}
	w.run(20 * time.Second)
	s := find[*batchv1.Job](w, "default", "batch").Status
	if s.Succeeded != 5 || s.Failed != 0 || s.CompletionTime == nil {
		t.Errorf("status is %+v", s)
	}
	w.run(2 * time.Minute)
	if n, m := kubeapi.Len[*batchv1.Job](w.server), len(w.podsOf("batch")); n != 0 || m != 0 {
		t.Errorf("%d jobs and %d pods exist after their time to live", n, m)
	}
}

func TestJobReplacesDeletedPods(t *testing.T) {
	w := withNodes(t, 2)
	create(w, Job("default", "batch", 1, 1, "30s", Template("batch", "1", "1Gi")))
	w.run(10 * time.Second)
	w.remove(w.podsOf("batch")[0])
	w.run(time.Minute)
	s := find[*batchv1.Job](w, "default", "batch").Status
	if s.Succeeded != 1 || s.Failed != 1 {
		t.Errorf("status is %+v", s)
	}
	if n := len(w.podsOf("batch")); n != 1 {
		t.Errorf("%d pods exist, want the one that succeeded", n)
	}
}

func TestJobGivesUp(t *testing.T) {
	w := withNodes(t, 1)
	job := Job("default", "batch", 1, 1, "1h", Template("batch", "1", "1Gi"))
	job.Spec.Template.Annotations[FailsAfter] = "5s"
	limit := int32(2)
	job.Spec.BackoffLimit = &limit
	create(w, job)
	w.run(5 * time.Minute)
	job = find[*batchv1.Job](w, "default", "batch")
	if s := job.Status; s.Failed != 3 || finishedAt(job).IsZero() || s.Active != 0 {
		t.Errorf("status is %+v", s)
	}
	w.remove(job)
	w.run(time.Minute)
	if n := len(w.podsOf("batch")); n != 0 {
		t.Errorf("%d pods exist", n)
	}
}

func TestBudgets(t *testing.T) {
	percent, two := intstr.FromString("50%"), intstr.FromInt32(2)
	for _, tt := range []struct {
		name                      string
		spec                      policyv1.PodDisruptionBudgetSpec
		expected, desired, allows int32
	}{
		{"maxUnavailable", policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &two}, 5, 3, 2},
		{"maxUnavailable percent rounds up", policyv1.PodDisruptionBudgetSpec{MaxUnavailable: &percent}, 5, 2, 3},
		{"minAvailable", policyv1.PodDisruptionBudgetSpec{MinAvailable: &two}, 5, 2, 3},
		{"minAvailable percent rounds up", policyv1.PodDisruptionBudgetSpec{MinAvailable: &percent}, 5, 3, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := withNodes(t, 2)
			create(w, Deployment("default", "web", 5, Template("web", "1", "1Gi")))
			tt.spec.Selector = selectorOf("web")
			create(w, &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: tt.spec})
			w.run(10 * time.Second)
			b := find[*policyv1.PodDisruptionBudget](w, "default", "web")
			s := b.Status
			if s.ExpectedPods != tt.expected || s.DesiredHealthy != tt.desired || s.CurrentHealthy != 5 || s.DisruptionsAllowed != tt.allows ||
				s.ObservedGeneration != b.Generation {
				t.Errorf("status is %+v", s)
			}
		})
	}
}

func TestBudgetLimitsEvictions(t *testing.T) {
	w := withNodes(t, 2)
	create(w, Deployment("default", "web", 3, Template("web", "1", "1Gi")))
	create(w, Budget("default", "web", "1"))
	w.run(10 * time.Second)
	pods := w.podsOf("web")
	if !w.evict(pods[0]) || w.evict(pods[1]) {
		t.Fatal("want the first eviction allowed and the second refused")
	}
	w.run(10 * time.Second) // a replacement is ready
	if !w.evict(pods[1]) {
		t.Error("the second eviction is refused after the replacement is ready")
	}
	if b := find[*policyv1.PodDisruptionBudget](w, "default", "web"); b.Status.DisruptionsAllowed != 0 || len(b.Status.DisruptedPods) != 1 {
		t.Errorf("status is %+v", b.Status)
	}
	w.settle()
	if b := find[*policyv1.PodDisruptionBudget](w, "default", "web"); len(b.Status.DisruptedPods) != 0 {
		t.Errorf("a pod that is being deleted is listed as disrupted: %v", b.Status.DisruptedPods)
	}
}

func TestDisruptedPodsExpire(t *testing.T) {
	w := withNodes(t, 1)
	create(w, Deployment("default", "web", 2, Template("web", "1", "1Gi")))
	create(w, Budget("default", "web", "1"))
	w.run(10 * time.Second)
	b := find[*policyv1.PodDisruptionBudget](w, "default", "web").DeepCopy()
	b.Status.DisruptedPods = map[string]metav1.Time{w.podsOf("web")[0].Name: metav1.NewTime(w.now)}
	b.Status.DisruptionsAllowed = 0
	if _, err := kubeapi.UpdateStatus(w.server, b); err != nil {
		t.Fatal(err)
	}
	w.run(119 * time.Second)
	if got := find[*policyv1.PodDisruptionBudget](w, "default", "web").Status; got.DisruptionsAllowed != 0 || got.CurrentHealthy != 1 {
		t.Errorf("status is %+v", got)
	}
	w.run(time.Second)
	if got := find[*policyv1.PodDisruptionBudget](w, "default", "web").Status; got.DisruptionsAllowed != 1 || got.CurrentHealthy != 2 {
		t.Errorf("after two minutes, status is %+v", got)
	}
}

func TestBudgetOfDaemonSetAllowsNothing(t *testing.T) {
	w := withNodes(t, 2)
	create(w, DaemonSet("default", "agent", Template("agent", "1", "1Gi")))
	create(w, Budget("default", "agent", "1"))
	w.run(10 * time.Second)
	s := find[*policyv1.PodDisruptionBudget](w, "default", "agent").Status
	if s.DisruptionsAllowed != 0 || len(s.Conditions) != 1 || s.Conditions[0].Reason != policyv1.SyncFailedReason {
		t.Errorf("status is %+v", s)
	}
}

func TestStatefulSetIsOrdered(t *testing.T) {
	w := withNodes(t, 3)
	create(w, StatefulSet("default", "db", 3, Template("db", "1", "1Gi"), ""))
	w.settle()
	if n := len(w.podsOf("db")); n != 1 {
		t.Fatalf("%d pods at first", n)
	}
	w.run(20 * time.Second)
	w.wantReady("db", 3)
	edit(w, "default", "db", func(s *appsv1.StatefulSet) { s.Spec.Template.Spec.Containers[0].Image = "db:2" })
	for range 400 {
		w.run(100 * time.Millisecond)
		if n := w.readyPods("db"); n < 2 {
			t.Fatalf("%d pods are ready during the update", n)
		}
	}
	for _, p := range w.podsOf("db") {
		if p.Spec.Containers[0].Image != "db:2" {
			t.Errorf("%s has the old template", p.Name)
		}
	}
	edit(w, "default", "db", func(s *appsv1.StatefulSet) { one := int32(1); s.Spec.Replicas = &one })
	w.run(20 * time.Second)
	if pods := w.podsOf("db"); len(pods) != 1 || pods[0].Name != "db-0" {
		t.Errorf("%d pods remain, the first is %s", len(pods), pods[0].Name)
	}
}

func TestStatefulSetInParallel(t *testing.T) {
	w := withNodes(t, 3)
	set := StatefulSet("default", "db", 3, Template("db", "1", "1Gi"), "")
	set.Spec.PodManagementPolicy = appsv1.ParallelPodManagement
	create(w, set)
	w.settle()
	if n := len(w.podsOf("db")); n != 3 {
		t.Errorf("%d pods at first", n)
	}
}
