package nomination

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

var (
	scheduler      = flag.String("scheduler", "", "a kube-scheduler of another version to try, instead of this one with its gate closed")
	schedulerGates = flag.String("scheduler-gates", "", "feature gates of that kube-scheduler: one that is newer than the API server lists kinds "+
		"that it does not have")
)

// old returns a setup that handles nominations as before Kubernetes 1.35: the scheduler sets no nominations before it binds
// pods, and the API server does not remove nominations from bound pods.
func old(nominate, slack string) setup {
	gates := map[string][]string{
		"kube-scheduler": {"--feature-gates=NominatedNodeNameForExpectation=false"},
		"kube-apiserver": {"--feature-gates=NominatedNodeNameForExpectation=false,ClearingNominatedNodeNameAfterBinding=false"},
	}
	if *scheduler != "" {
		delete(gates, "kube-scheduler") // an older scheduler does not have this gate
		if *schedulerGates != "" {
			gates["kube-scheduler"] = []string{"--feature-gates=" + *schedulerGates}
		}
	}
	return setup{nominate: nominate, slack: slack, scheduler: *scheduler, arguments: gates}
}

// An old scheduler also follows nominations. The effect of slack with and without nominations is logged and not checked.
func TestOldServers(t *testing.T) {
	if testing.Short() || os.Getenv("KARPENTER_LONG") == "" {
		t.Skip("needs clusters, for minutes")
	}
	for _, s := range []setup{old("true", "0"), old("true", "0.05"), old("false", "0"), old("false", "0.05")} {
		t.Run(fmt.Sprintf("nominations %s, slack %s", s.nominate, s.slack), func(t *testing.T) {
			r := measure(t, s)
			t.Log(r)
			if nominates := s.nominate == "true"; nominates != (r.nominated > 0) {
				t.Errorf("%d pods were nominated", r.nominated)
			} else if nominates {
				r.wantFollowed(t)
			}
		})
	}
}

// On old servers, pods also move to one destination after another, and no taints or annotations of the move remain.
func TestOldServersConsolidate(t *testing.T) {
	if testing.Short() || os.Getenv("KARPENTER_LONG") == "" {
		t.Skip("needs a cluster, for minutes")
	}
	c, kube := start(t, old("true", ""))
	furnish(t, kube)
	for i, size := range sizes {
		put(t, kube, deployment(fmt.Sprintf("size-%d", i), size))
	}
	awaitRunning(t, kube, replicas*len(sizes))
	before := awaitOpen(t, kube)
	const left = replicas / 3
	scaleIn(t, kube, left)
	begun := time.Now()
	after := awaitRest(t, kube, left*len(sizes), before/2)
	t.Logf("from $%.3f/h to $%.3f/h after %s", before, after, time.Since(begun).Round(time.Second))
	if err := c.Down(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
}

// scaleIn leaves the given number of replicas of each size, and allows the pool to consolidate.
func scaleIn(t *testing.T, kube client.Client, left int32) {
	t.Helper()
	var deployments appsv1.DeploymentList
	if err := kube.List(t.Context(), &deployments, client.InNamespace(metav1.NamespaceDefault)); err != nil {
		t.Fatal(err)
	}
	for i := range deployments.Items {
		d := &deployments.Items[i]
		change(t, kube, d, func() { d.Spec.Replicas = ptr.To(left) })
	}
	pool := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	if err := kube.Get(t.Context(), client.ObjectKeyFromObject(pool), pool); err != nil {
		t.Fatal(err)
	}
	change(t, kube, pool, func() {
		pool.Spec.Disruption.ConsolidateAfter = apiv1.MustParseNillableDuration("0s")
		pool.Spec.Disruption.Budgets = []apiv1.Budget{{Nodes: "100%"}}
	})
}

func change(t *testing.T, kube client.Client, o client.Object, how func()) {
	t.Helper()
	was := client.MergeFrom(o.DeepCopyObject().(client.Object))
	how()
	if err := kube.Patch(t.Context(), o, was); err != nil {
		t.Fatalf("change %T %s: %v", o, o.GetName(), err)
	}
}

// awaitRest waits until exactly the given number of pods run, all nodes accept pods and none is being deleted, and the price of
// all nodes is at most most. It returns that price, in dollars per hour.
func awaitRest(t *testing.T, kube client.Client, pods int, most float64) float64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	price, missing := 0.0, ""
	err := wait.PollUntilContextCancel(ctx, 500*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		var there corev1.PodList
		var nodes corev1.NodeList
		err := errors.Join(kube.List(ctx, &there, client.InNamespace(metav1.NamespaceDefault)), kube.List(ctx, &nodes))
		if err != nil {
			return false, err
		}
		price, missing = restless(there.Items, nodes.Items, pods)
		if missing == "" && !(price <= most) { // also true if the price is NaN
			missing = fmt.Sprintf("nodes cost $%.3f/h, want $%.3f/h at most", price, most)
		}
		return missing == "", nil
	})
	if err != nil {
		t.Fatalf("%s (%v)", missing, err)
	}
	return price
}

// restless returns the price of the nodes in dollars per hour, and why the cluster is still changing, "" if it is not.
func restless(pods []corev1.Pod, nodes []corev1.Node, wanted int) (price float64, why string) {
	rests := func(p corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil }
	if i := slices.IndexFunc(pods, func(p corev1.Pod) bool { return !rests(p) }); i >= 0 {
		return 0, fmt.Sprintf("pod %s does not run, or not any longer", pods[i].Name)
	}
	if len(pods) != wanted {
		return 0, fmt.Sprintf("%d pods run, want %d", len(pods), wanted)
	}
	for _, n := range nodes {
		if n.DeletionTimestamp != nil || len(n.Spec.Taints) > 0 {
			return 0, fmt.Sprintf("node %s has the taints %v, or goes", n.Name, n.Spec.Taints)
		}
		price += priceOf(n)
	}
	return price, ""
}
