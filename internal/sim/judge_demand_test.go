package sim

import (
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// A pod that waits for a node and is bound or deleted before the judge looks again is demand for one claim, and not for two. So is a
// pod that is evicted as soon as its node leaves.
func TestDemandBetweenLooks(t *testing.T) {
	for _, end := range []string{"bound", "deleted", "evicted"} {
		t.Run(end, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w, err := newWorld(&Scenario{Seed: 1, Files: []File{{"cluster.yaml", class + "---\n" + poolOfTest}}}, Options{
					Scheduler: func(*kubeapi.Server, uint64) (Actor, error) { return idler{}, nil },
				})
				if err != nil {
					t.Fatal(err)
				}
				requests := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
				addNode(t, w, "node", requests)
				w.judge.demand.look()
				<-time.After(time.Second) // virtual time
				pod := &corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
					Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web", Resources: corev1.ResourceRequirements{Requests: requests}}}},
				}
				if err := w.platform.client.Create(t.Context(), pod); err != nil {
					t.Fatal(err)
				}
				<-time.After(time.Second) // virtual time
				target := corev1.ObjectReference{Kind: "Node", Name: "node"}
				if end != "deleted" {
					err = w.platform.client.SubResource("binding").Create(t.Context(), pod, &corev1.Binding{Target: target})
				}
				if end == "evicted" {
					<-time.After(time.Minute) // virtual time, so that the pod has not waited lately
					err = errors.Join(err, w.platform.client.DeleteAllOf(t.Context(), &apiv1.NodeClaim{}))
				}
				if end != "bound" {
					err = errors.Join(err, w.platform.client.Delete(t.Context(), pod, client.GracePeriodSeconds(0)))
				}
				if err != nil {
					t.Fatal(err)
				}
				<-time.After(time.Second) // virtual time
				w.processes.writer = "karpenter-0"
				for want := range 2 {
					if err := w.platform.client.Create(t.Context(), claimFor(requests)); err != nil {
						t.Fatal(err)
					}
					if got := len(w.judge.violations); got != want {
						t.Fatalf("%d violations after claim %d, want %d: %v", got, want+1, want, w.judge.violations)
					}
				}
			})
		})
	}
}

// A pod is bound to a node before the node registers, although the node was planned for another pod. Then the other pod needs a node
// of its own. A third node is for no pod.
func TestDemandAfterEarlyBinding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, err := newWorld(&Scenario{Seed: 1, Files: []File{{"cluster.yaml", class + "---\n" + poolOfTest}}}, Options{
			Scheduler: func(*kubeapi.Server, uint64) (Actor, error) { return idler{}, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, cpu := range []string{"100m", "1"} {
			if err := w.platform.client.Create(t.Context(), podFor(cpu)); err != nil {
				t.Fatal(err)
			}
		}
		w.processes.writer = "karpenter-0"
		launched := claimFor(cpuRequests("1100m"))
		if err := w.platform.client.Create(t.Context(), launched); err != nil {
			t.Fatal(err)
		}
		launched.Status.ProviderID = "aws:///a/i-1"
		if err := w.platform.client.Status().Update(t.Context(), launched); err != nil {
			t.Fatal(err)
		}
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node"}, Spec: corev1.NodeSpec{ProviderID: "aws:///a/i-1"}}
		if err := w.platform.client.Create(t.Context(), node); err != nil {
			t.Fatal(err)
		}
		target := corev1.ObjectReference{Kind: "Node", Name: "node"}
		if err := w.platform.client.SubResource("binding").Create(t.Context(), podFor("100m"), &corev1.Binding{Target: target}); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Second) // virtual time
		for want := range 2 {
			if err := w.platform.client.Create(t.Context(), claimFor(cpuRequests("1"))); err != nil {
				t.Fatal(err)
			}
			if got := len(w.judge.violations); got != want {
				t.Fatalf("%d violations after claim %d, want %d: %v", got, want+2, want, w.judge.violations)
			}
		}
	})
}

func cpuRequests(cpu string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
}

// podFor returns a pod that is named after its cpu requests.
func podFor(cpu string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web-" + cpu},
		Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "web", Image: "web", Resources: corev1.ResourceRequirements{Requests: cpuRequests(cpu)}},
		}},
	}
}

// addNode adds a node with its claim.
func addNode(t *testing.T, w *World, name string, requests corev1.ResourceList) {
	t.Helper()
	c := claimFor(requests)
	if err := w.platform.client.Create(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	c.Status.NodeName = name
	condition.SetTrue(c, apiv1.ConditionTypeRegistered, time.Now())
	if err := w.platform.client.Status().Update(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	if err := w.platform.client.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
		t.Fatal(err)
	}
}

// claimFor returns a claim for pods with the given requests.
func claimFor(requests corev1.ResourceList) *apiv1.NodeClaim {
	return &apiv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "web-", Labels: map[string]string{apiv1.NodePoolLabelKey: "default"}},
		Spec: apiv1.NodeClaimSpec{
			NodeClassRef: &apiv1.NodeClassReference{Group: "karpenter.k8s.aws", Kind: "EC2NodeClass", Name: "default"},
			Requirements: []apiv1.NodeSelectorRequirementWithMinValues{},
			Resources:    apiv1.ResourceRequirements{Requests: requests},
		},
	}
}

const poolOfTest = `apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: []
`

// idler is an actor that does nothing.
type idler struct{}

func (idler) Name() string                      { return "idler" }
func (idler) Step(time.Time) (time.Time, error) { return time.Time{}, nil }

func TestRequestsBeyondInt64(t *testing.T) {
	cpu := func(text string) corev1.Container {
		return corev1.Container{Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(text)}}}
	}
	if got := cpuOf(&corev1.PodSpec{Containers: []corev1.Container{cpu("9223372036854775807m"), cpu("1")}}); got != math.MaxInt64 {
		t.Errorf("got %dm, want the largest number", got)
	}
	if got := plus(math.MaxInt64, math.MaxInt64); got != math.MaxInt64 {
		t.Errorf("the sum is %d", got)
	}
	if got := cpuOf(&corev1.PodSpec{Containers: []corev1.Container{cpu("500m"), cpu("1")}}); got != 1500 {
		t.Errorf("got %dm, want 1500m", got)
	}
}

// A pod of a DaemonSet, or one that tolerates all taints, must run, unless the kubelet of its node is dead. It does not matter whether it
// is bound to the node or waits for room there.
func TestDaemonsOfDeadNodes(t *testing.T) {
	for _, tt := range []struct{ dead, bound bool }{{false, true}, {false, false}, {true, true}, {true, false}} {
		synctest.Test(t, func(t *testing.T) {
			w := worldWithReplica(t)
			addNode(t, w, "node", cpuRequests("1"))
			pod := podFor("1")
			pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "agent", UID: "agent", Controller: new(true)}}
			pod.Status.Phase = corev1.PodPending
			if tt.bound {
				pod.Spec.NodeName = "node"
			} else {
				byName := []corev1.NodeSelectorRequirement{{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{"node"}}}
				pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: byName}}},
				}}
			}
			w.platform.dark["node"] = tt.dead
			if got := w.judge.demand.runs(pod); got != tt.dead {
				t.Errorf("with a kubelet that is dead (%t) and a pod that is bound (%t), runs is %t", tt.dead, tt.bound, got)
			}
			pod.OwnerReferences = nil
			if w.judge.demand.runs(pod) {
				t.Errorf("with a kubelet that is dead (%t) and a pod of no DaemonSet that is bound (%t), runs is true", tt.dead, tt.bound)
			}
			pod.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
			if got := w.judge.demand.runs(pod); got != tt.dead {
				t.Errorf("with a kubelet that is dead (%t) and a pod that tolerates all and is bound (%t), runs is %t", tt.dead, tt.bound, got)
			}
		})
	}
}

// A pod on a leaving node whose kubelet is dead must go, unless the drain waits for a pod within its grace period.
func TestPodsOfDeadNodes(t *testing.T) {
	for _, tt := range []struct {
		grace int64 // seconds
		runs  bool
	}{{30, false}, {10_000_000_000, true}} {
		synctest.Test(t, func(t *testing.T) {
			w := worldWithReplica(t)
			addNode(t, w, "node", cpuRequests("1"))
			pod := podFor("1")
			pod.Spec.TerminationGracePeriodSeconds = &tt.grace
			if err := w.platform.client.Create(t.Context(), pod); err != nil {
				t.Fatal(err)
			}
			target := corev1.ObjectReference{Kind: "Node", Name: "node"}
			if err := w.platform.client.SubResource("binding").Create(t.Context(), pod, &corev1.Binding{Target: target}); err != nil {
				t.Fatal(err)
			}
			claim := w.platform.claimOf("node").DeepCopy()
			claim.Finalizers = []string{"test/stays"}
			if err := w.platform.client.Update(t.Context(), claim); err != nil {
				t.Fatal(err)
			}
			for _, o := range []client.Object{claim, pod} {
				if err := w.platform.client.Delete(t.Context(), o); err != nil {
					t.Fatal(err)
				}
			}
			w.platform.dark["node"] = true
			<-time.After(5 * time.Minute) // virtual time
			stored, _ := kubeapi.Find[*corev1.Pod](w.platform.server, pod.Namespace, pod.Name)
			if got := w.judge.demand.runs(stored); got != tt.runs {
				t.Errorf("with a grace period of %d s, runs is %t", tt.grace, got)
			}
		})
	}
}
