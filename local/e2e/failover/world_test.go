package failover

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/local/cluster"
	"github.com/karpenter-go/karpenter/local/objects"
)

// leaseName is the name of the leader's Lease.
const leaseName = "karpenter-leader-election"

// offer applies a NodePool whose nodes each have capacity for one pod of load. Empty nodes are removed at once.
func offer(t *testing.T) {
	t.Helper()
	quickstart, err := objects.ReadDir("../../../examples/quickstart")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range quickstart {
		if o.GetKind() == "Deployment" {
			continue
		}
		if err := objects.Apply(t.Context(), here, o); err != nil {
			t.Fatal(err)
		}
	}
	pool := &apiv1.NodePool{}
	if err := here.Get(t.Context(), client.ObjectKey{Name: "default"}, pool); err != nil {
		t.Fatal(err)
	}
	before := pool.DeepCopy()
	pool.Spec.Limits = nil
	pool.Spec.Disruption.ConsolidationPolicy = apiv1.ConsolidationPolicyWhenEmpty
	pool.Spec.Disruption.ConsolidateAfter = apiv1.MustParseNillableDuration("0s")
	pool.Spec.Disruption.Budgets = []apiv1.Budget{{Nodes: "100%"}}
	pool.Spec.Template.Spec.Requirements = append(pool.Spec.Template.Spec.Requirements, apiv1.NodeSelectorRequirementWithMinValues{
		Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"m7i.large"},
	})
	if err := here.Patch(t.Context(), pool, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	var classes awsv1.EC2NodeClassList
	here.Await(t, &classes, func() string {
		if len(classes.Items) == 1 && condition.IsTrue(&classes.Items[0], awsv1.ConditionTypeReady) {
			return ""
		}
		return "the node class is not ready"
	})
}

// load creates a Deployment with the given number of pods, each of which needs a node of its own. After the test, it is
// deleted, and its nodes are gone.
func load(t *testing.T, pods int) {
	t.Helper()
	labels := map[string]string{"app": "load"}
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "load", Namespace: metav1.NamespaceDefault},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(int32(pods)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					TerminationGracePeriodSeconds: ptr.To(int64(0)),
					Containers: []corev1.Container{{Name: "main", Image: "pause", Resources: corev1.ResourceRequirements{
						Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1500m")},
					}}},
				},
			},
		},
	}
	if err := here.Create(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := client.IgnoreNotFound(here.Delete(ctx, d, client.PropagationPolicy(metav1.DeletePropagationBackground))); err != nil {
			t.Error(err)
		}
		if err := here.DeleteAllOf(ctx, &apiv1.NodeClaim{}); err != nil {
			t.Error(err)
		}
		awaitWorld(t, 0)
	})
}

// scale sets the number of pods.
func scale(t *testing.T, pods int) {
	t.Helper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: "load", Namespace: metav1.NamespaceDefault}}
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, pods))
	if err := here.Patch(t.Context(), d, patch); err != nil {
		t.Fatal(err)
	}
}

// awaitWorld waits until each of the pods runs on a ready node of its own with a claim and an instance. No other nodes, claims
// or running instances may exist.
func awaitWorld(t *testing.T, pods int) {
	t.Helper()
	last := "nothing was seen"
	here.Poll(t, func(ctx context.Context) string {
		w, err := look(ctx)
		if err != nil {
			return fmt.Sprintf("%s; then %v", last, err)
		}
		last = w.lacks(pods)
		return last
	})
}

// world has the objects and instances that exist.
type world struct {
	claims    []apiv1.NodeClaim
	nodes     []corev1.Node
	pods      []corev1.Pod
	instances []control.Instance // including terminated instances
}

func look(ctx context.Context) (world, error) {
	var (
		claims apiv1.NodeClaimList
		nodes  corev1.NodeList
		pods   corev1.PodList
	)
	for _, list := range []client.ObjectList{&claims, &nodes, &pods} {
		if err := here.List(ctx, list); err != nil {
			return world{}, err
		}
	}
	instances, err := here.Steer().Instances(ctx)
	return world{
		claims: claims.Items, nodes: nodes.Items, instances: instances,
		pods: slices.DeleteFunc(pods.Items, func(p corev1.Pod) bool { return p.Labels["app"] != "load" }),
	}, err
}

func alive(i control.Instance) bool { return i.State == "pending" || i.State == "running" }

// lacks returns what is missing or too much, empty if nothing is.
func (w world) lacks(pods int) string {
	claims, nodes, instances, busy := map[string]bool{}, map[string]bool{}, w.running(), map[string]bool{}
	for i := range w.claims {
		claims[w.claims[i].Status.ProviderID] = true
	}
	for i := range w.nodes {
		if n := &w.nodes[i]; n.Labels[apiv1.NodeInitializedLabelKey] == "true" {
			nodes[n.Spec.ProviderID] = true
		}
	}
	for i := range w.pods {
		if w.pods[i].Status.Phase == corev1.PodRunning {
			busy[w.pods[i].Spec.NodeName] = true
		}
	}
	switch {
	case len(w.claims) != pods || len(w.nodes) != pods || len(w.pods) != pods || len(instances) != pods:
		return fmt.Sprintf("there are %d claims, %d nodes, %d pods and %d instances, want %d of each",
			len(w.claims), len(w.nodes), len(w.pods), len(instances), pods)
	case !maps.Equal(claims, instances) || !maps.Equal(nodes, instances):
		return "an instance has no claim or no initialized node, or the other way round"
	case len(busy) != pods:
		return fmt.Sprintf("pods run on %d nodes, want %d", len(busy), pods)
	}
	return ""
}

// awaitLaunched waits until at least n instances were launched. made is the number of instances before.
func awaitLaunched(t *testing.T, made, n int) {
	t.Helper()
	here.Poll(t, func(ctx context.Context) string {
		if now := madeSoFar(ctx, t); now < made+n {
			return fmt.Sprintf("%d instances were launched, want %d", now-made, n)
		}
		return ""
	})
}

// madeSoFar returns the number of all instances that were ever launched.
func madeSoFar(ctx context.Context, t *testing.T) int {
	t.Helper()
	list, err := here.Steer().Instances(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// lease returns the leader's Lease.
func lease(ctx context.Context) (*coordinationv1.Lease, error) {
	l := &coordinationv1.Lease{}
	return l, here.Get(ctx, client.ObjectKey{Namespace: cluster.Namespace, Name: leaseName}, l)
}
