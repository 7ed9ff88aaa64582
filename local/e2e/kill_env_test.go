package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/local/cluster"
	"github.com/karpenter-go/karpenter/local/objects"
)

// A victim is a cluster of its own whose controller the test kills repeatedly.
type victim struct {
	*Env
	// lastCall is the number of the last call to the emulator before the controller was last started. Calls with higher numbers
	// are those of the current controller.
	lastCall int64
	// base is the progress at that time.
	base progress
	// pods is the number of pods. Each has its own node, claim and instance.
	pods int
}

// newVictim starts a cluster with a slow controller. It writes only a few objects of a kind per second, so that each stage of a
// scale-up can be observed. It has no leader election, so that it does not wait for the lease of a killed controller.
func newVictim(t *testing.T) *victim {
	t.Helper()
	t.Setenv("DISABLE_LEADER_ELECTION", "true")
	t.Setenv("KUBE_CLIENT_QPS", "20")
	t.Setenv("KUBE_CLIENT_BURST", "5")
	dir, err := os.MkdirTemp("", "karpenter-kill-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	r := rigOf("kill")
	c, err := r.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.TakeDown(c) })
	if err := c.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	env, err := newEnv(r, c)
	if err != nil {
		t.Fatal(err)
	}
	v := &victim{Env: env}
	v.offer(t)
	return v
}

// offer applies a pool with one instance type, and returns when its node class is ready.
func (v *victim) offer(t *testing.T) {
	t.Helper()
	quickstart, err := objects.ReadDir("../../examples/quickstart")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range quickstart {
		if err := objects.Apply(t.Context(), v, o); err != nil {
			t.Fatal(err)
		}
	}
	v.changePool(t, func(pool *apiv1.NodePool) {
		pool.Spec.Limits = nil
		pool.Spec.Disruption.ConsolidateAfter = apiv1.NillableDuration{}
		pool.Spec.Template.Spec.Requirements = append(pool.Spec.Template.Spec.Requirements,
			apiv1.NodeSelectorRequirementWithMinValues{
				Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"m7i.large"},
			})
	})
	var classes awsv1.EC2NodeClassList
	v.Await(t, &classes, func() string {
		if len(classes.Items) == 1 && condition.IsTrue(&classes.Items[0], awsv1.ConditionTypeReady) {
			return ""
		}
		return "the node class is not ready"
	})
}

// load creates the given number of pods, each of which needs a node of its own.
func (v *victim) load(t *testing.T, pods int) {
	t.Helper()
	v.pods = pods
	labels := map[string]string{"app": "load"}
	v.Make(t, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "load", Namespace: metav1.NamespaceDefault},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(int32(pods)),
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: ptr.To(int64(0)),
					Containers: []corev1.Container{{
						Name: "main", Image: "pause",
						Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
							corev1.ResourceCPU: resource.MustParse("1500m"),
						}},
					}},
				},
			},
		},
	})
}

func (v *victim) changePool(t *testing.T, change func(*apiv1.NodePool)) {
	t.Helper()
	pool := &apiv1.NodePool{}
	if err := v.Get(t.Context(), client.ObjectKey{Name: "default"}, pool); err != nil {
		t.Fatal(err)
	}
	before := pool.DeepCopy()
	change(pool)
	if err := v.Patch(t.Context(), pool, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// scale sets the number of pods.
func (v *victim) scale(t *testing.T, pods int) {
	t.Helper()
	load := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "load", Namespace: metav1.NamespaceDefault}}
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, pods))
	if err := v.Patch(t.Context(), load, patch); err != nil {
		t.Fatal(err)
	}
}

// kill ends the controller with SIGKILL and returns when EC2 has completed all its calls.
func (v *victim) kill(t *testing.T) {
	t.Helper()
	if err := v.Cluster.Kill(t.Context(), cluster.ControllerName); err != nil {
		t.Fatal(err)
	}
	v.poll(t, "the calls of the dead end", func() bool { return v.look(t).asked == 0 })
}

// restart starts the controller.
func (v *victim) restart(t *testing.T) {
	t.Helper()
	if calls := v.calls(t); len(calls) > 0 {
		v.lastCall = calls[len(calls)-1].Seq
	}
	v.base = v.look(t)
	if err := v.Cluster.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// poll calls done until it returns true, for state that cannot be watched.
func (v *victim) poll(t *testing.T, what string, done func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true,
		func(context.Context) (bool, error) { return done(), nil })
	if err != nil {
		t.Fatalf("wait until %s: %v; now %+v", what, err, v.look(t))
	}
}

// progress has the numbers of objects in each stage of a scale-up or scale-down.
type progress struct {
	claims, recorded, launched, registered, initialized, ending int
	nodes, running                                              int // number of running pods
	// asked is the number of instances in CreateFleet calls without a response yet. Repetitions of a call are not counted.
	asked int
	// alive is the number of instances that are not being terminated. made is the number of all instances that were ever
	// launched.
	alive, made int
}

func (v *victim) look(t *testing.T) (p progress) {
	t.Helper()
	w := v.world(t)
	p.claims, p.nodes, p.made = len(w.claims), len(w.nodes), len(w.instances)
	for i := range w.claims {
		claim := &w.claims[i]
		count := func(n *int, is bool) {
			if is {
				*n++
			}
		}
		_, recorded := claim.Annotations[launchRecord]
		count(&p.recorded, recorded)
		count(&p.launched, claim.Status.ProviderID != "")
		count(&p.registered, condition.IsTrue(claim, apiv1.ConditionTypeRegistered))
		count(&p.initialized, condition.IsTrue(claim, apiv1.ConditionTypeInitialized))
		count(&p.ending, !claim.DeletionTimestamp.IsZero())
	}
	for _, i := range w.instances {
		if alive(i) {
			p.alive++
		}
	}
	for i := range w.pods {
		if w.pods[i].Status.Phase == corev1.PodRunning {
			p.running++
		}
	}
	tokens := map[string]bool{}
	for _, c := range v.calls(t) {
		token := c.Params["ClientToken"]
		if c.Action != "CreateFleet" || c.Status != 0 || c.Params["DryRun"] == "true" || tokens[token] {
			continue
		}
		tokens[token] = true
		n, err := strconv.Atoi(c.Params["TargetCapacitySpecification.TotalTargetCapacity"])
		if err != nil {
			t.Fatalf("read CreateFleet of %v: %v", c.Params, err)
		}
		p.asked += n
	}
	return p
}

// calls returns the calls of the current controller to the emulator.
func (v *victim) calls(t *testing.T) []control.Call {
	t.Helper()
	calls, err := v.Steer().Calls(t.Context(), v.lastCall)
	if err != nil {
		t.Fatal(err)
	}
	return calls
}

// launchRecord is the annotation in which a launch is recorded before it is requested, and a tag of the launched instances.
const launchRecord = "ext.karpenter.sh/launch"

// world has the objects and instances that exist.
type world struct {
	claims    []apiv1.NodeClaim
	nodes     []corev1.Node
	pods      []corev1.Pod
	instances []control.Instance
}

func (v *victim) world(t *testing.T) world {
	t.Helper()
	var (
		claims apiv1.NodeClaimList
		nodes  corev1.NodeList
		pods   corev1.PodList
	)
	for _, list := range []client.ObjectList{&claims, &nodes, &pods} {
		if err := v.List(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	instances, err := v.Steer().Instances(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return world{
		claims: claims.Items, nodes: nodes.Items, instances: instances,
		pods: slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return p.Labels["app"] != "load" }),
	}
}

func alive(i control.Instance) bool { return i.State == "pending" || i.State == "running" }
