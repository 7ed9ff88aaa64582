package nomination

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"regexp"
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

	"github.com/karpenter-go/karpenter/api/condition"
	kwokv1alpha1 "github.com/karpenter-go/karpenter/api/kwok/v1alpha1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/local/cluster"
	"github.com/karpenter-go/karpenter/local/e2e/rig"
	"github.com/karpenter-go/karpenter/local/state"
)

var binaries = flag.String("binaries", "../../../bin", "where karpenter-local and karpenter are")

// patience bounds the wait for one condition. The tests do not check speed.
const patience = 4 * time.Minute

// replicas is the number of pods of each size. The nodes join after the time joining, when all nodes are planned.
const (
	replicas = 25
	joining  = 20 * time.Second
)

// sizes are cores and memory of pods. No node can be filled evenly with one size.
var sizes = [][2]string{
	{"300m", "500Mi"}, {"700m", "900Mi"}, {"1100m", "4Gi"}, {"1300m", "1Gi"}, {"1900m", "3Gi"}, {"500m", "3500Mi"},
	{"2300m", "2Gi"}, {"900m", "6Gi"}, {"2700m", "5Gi"}, {"400m", "2Gi"}, {"1700m", "1500Mi"}, {"600m", "700Mi"},
}

// A result has the figures of one run.
type result struct {
	// planned is the number of claims that were created before the first node joined, needed the number of all claims.
	planned, needed int
	// replanned is the number of pods that needed another plan, nominated the number of pods with a nomination.
	replanned, nominated int
	// followed is the number of nominated pods that were bound to their node. elsewhere is the number of those that were bound
	// to another node although theirs accepted pods.
	followed, elsewhere int
	// price is the price of all nodes, in dollars per hour.
	price float64
	took  time.Duration
}

func (r result) String() string {
	return fmt.Sprintf("%d nodes planned, %d needed at $%.3f/h, %d pods planned again, %d bound as nominated and %d elsewhere, "+
		"all running after %s", r.planned, r.needed, r.price, r.replanned, r.followed, r.elsewhere, r.took.Round(time.Second))
}

// Nominated pods run on their planned nodes. Without nominations the scheduler scatters pods. The number of nodes that
// nominations save depends on the scheduler and on the load of the machine. So it is logged and not checked.
func TestNominations(t *testing.T) {
	if testing.Short() {
		t.Skip("needs clusters")
	}
	nominated := measure(t, setup{nominate: "true"})
	t.Logf("%d pods with nominations: %s", replicas*len(sizes), nominated)
	if nominated.nominated == 0 {
		t.Error("no pod was nominated")
	}
	nominated.wantFollowed(t)
	if os.Getenv("KARPENTER_LONG") == "" {
		return // the comparison takes as long again
	}
	free := measure(t, setup{nominate: "false"})
	t.Logf("%d pods without nominations: %s", replicas*len(sizes), free)
	if free.nominated > 0 {
		t.Errorf("%d pods were nominated though nominations are off", free.nominated)
	}
}

// wantFollowed checks that the controller counts enough pods that were bound to their nominated node.
func (r result) wantFollowed(t *testing.T) {
	t.Helper()
	if r.followed == 0 || r.elsewhere > r.followed {
		t.Errorf("%d nominated pods are counted as bound to their node and %d to others: the controller would not rely on nominations",
			r.followed, r.elsewhere)
	}
}

// A setup has the settings that differ between clusters.
type setup struct {
	// nominate is the controller's setting NOMINATE_PODS, slack its NEW_NODE_HEADROOM.
	nominate, slack string
	// scheduler is the path of another kube-scheduler. It is empty for the one in the cluster's version.
	scheduler string
	// arguments are additional arguments of parts, by part.
	arguments map[string][]string
}

// measure starts a cluster, creates the pods, waits until all run, and stops the cluster.
func measure(t *testing.T, s setup) result {
	t.Helper()
	t.Setenv("NOMINATE_PODS", s.nominate) // the controller inherits it
	if s.slack != "" {
		t.Setenv("NEW_NODE_HEADROOM", s.slack)
	}
	c, kube := start(t, s)
	furnish(t, kube)
	begun := time.Now()
	for i, size := range sizes {
		put(t, kube, deployment(fmt.Sprintf("size-%d", i), size))
	}
	awaitRunning(t, kube, replicas*len(sizes))
	var r result
	r.took = time.Since(begun)
	r.planned, r.needed = claims(t, kube)
	r.price = awaitOpen(t, kube)
	r.count(t, c)
	if err := c.Down(context.WithoutCancel(t.Context())); err != nil {
		t.Fatal(err)
	}
	return r
}

// count reads the counters of the controller. The controller counts a bound pod only in its next pass. So if any pod was
// nominated, count waits for that.
func (r *result) count(t *testing.T, c *cluster.Cluster) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := wait.PollUntilContextCancel(ctx, 500*time.Millisecond, true, func(context.Context) (bool, error) {
		text := metrics(t, c)
		r.replanned, r.nominated = read(t, text, replannedTotal), read(t, text, nominatedTotal)
		r.followed, r.elsewhere = read(t, text, followedTotal), read(t, text, elsewhereTotal)
		return r.nominated == 0 || r.followed+r.elsewhere > 0, nil
	})
	if err != nil {
		t.Errorf("%d nominations, and none is counted as followed or ignored: %v", r.nominated, err)
	}
}

func start(t *testing.T, s setup) (*cluster.Cluster, client.Client) {
	t.Helper()
	r := rig.Rig{
		Binaries: *binaries, Chart: "../../../charts/karpenter", Settings: state.Settings{Provider: "kwok"},
		Scheduler: s.scheduler, Arguments: s.arguments,
	}
	c, err := r.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Down(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	if err := c.Up(t.Context()); err != nil {
		t.Fatal(err)
	}
	kube, err := rig.Client(c)
	if err != nil {
		t.Fatal(err)
	}
	return c, kube
}

// furnish creates a pool of small nodes that are never disrupted.
func furnish(t *testing.T, kube client.Client) {
	t.Helper()
	class := &kwokv1alpha1.KWOKNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	class.Spec.NodeRegistrationDelay = &metav1.Duration{Duration: joining}
	pool := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	pool.Spec.Disruption.ConsolidateAfter = apiv1.MustParseNillableDuration("Never")
	pool.Spec.Template.Spec = apiv1.NodeClaimTemplateSpec{
		NodeClassRef: &apiv1.NodeClassReference{Group: "karpenter.kwok.sh", Kind: "KWOKNodeClass", Name: "default"},
		Requirements: []apiv1.NodeSelectorRequirementWithMinValues{
			{Key: apiv1.CapacityTypeLabelKey, Operator: corev1.NodeSelectorOpIn, Values: []string{apiv1.CapacityTypeOnDemand}},
			{Key: "karpenter.kwok.sh/instance-cpu", Operator: corev1.NodeSelectorOpIn, Values: []string{"4", "8", "16"}},
		},
	}
	put(t, kube, class, pool)
}

func put(t *testing.T, kube client.Client, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		if err := kube.Create(t.Context(), o); err != nil {
			t.Fatalf("create %T %s: %v", o, o.GetName(), err)
		}
	}
}

func deployment(name string, size [2]string) *appsv1.Deployment {
	labels := map[string]string{"app": name}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: metav1.NamespaceDefault}}
	d.Spec.Replicas, d.Spec.Selector = ptr.To[int32](replicas), &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "main", Image: "pause", Resources: corev1.ResourceRequirements{
		Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(size[0]), corev1.ResourceMemory: resource.MustParse(size[1]),
		},
	}}}
	return d
}

// awaitRunning waits until the given number of pods run.
func awaitRunning(t *testing.T, kube client.Client, pods int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	running := 0
	err := wait.PollUntilContextCancel(ctx, 500*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		var there corev1.PodList
		if err := kube.List(ctx, &there, client.InNamespace(metav1.NamespaceDefault)); err != nil {
			return false, err
		}
		running = 0
		for _, p := range there.Items {
			if p.Status.Phase == corev1.PodRunning {
				running++
			}
		}
		return running == pods, nil
	})
	if err != nil {
		t.Fatalf("%d pods run: %v", running, err)
	}
}

// awaitOpen waits until every claim has a node that accepts pods. It returns the price of all nodes, in dollars per hour.
func awaitOpen(t *testing.T, kube client.Client) float64 {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	sum, missing := 0.0, ""
	err := wait.PollUntilContextCancel(ctx, 500*time.Millisecond, true, func(ctx context.Context) (bool, error) {
		var nodes corev1.NodeList
		var list apiv1.NodeClaimList
		if err := errors.Join(kube.List(ctx, &list), kube.List(ctx, &nodes)); err != nil {
			return false, err
		}
		sum, missing = 0, ""
		for _, n := range nodes.Items {
			sum += priceOf(n)
			if len(n.Spec.Taints) > 0 {
				missing = fmt.Sprintf("all pods run, and node %s still has the taints %v", n.Name, n.Spec.Taints)
			}
		}
		if math.IsNaN(sum) {
			missing = "a node does not say what it costs"
		}
		if have, want := len(nodes.Items), len(list.Items); have != want {
			missing = fmt.Sprintf("%d nodes for %d claims", have, want)
		}
		return missing == "", nil
	})
	if err != nil {
		t.Fatalf("%s (%v)", missing, err)
	}
	return sum
}

// priceOf returns the price of a node in dollars per hour, or NaN if the node has no price label.
func priceOf(n corev1.Node) float64 {
	price, err := strconv.ParseFloat(n.Labels["eks-node-viewer/instance-price"], 64)
	if err != nil {
		return math.NaN()
	}
	return price
}

// claims returns the number of claims that were created before the first node joined, and the number of all claims. No claim
// has been deleted.
func claims(t *testing.T, kube client.Client) (before, all int) {
	t.Helper()
	var list apiv1.NodeClaimList
	if err := kube.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	var joined []time.Time
	for i := range list.Items {
		if c := condition.Get(&list.Items[i], apiv1.ConditionTypeRegistered); c != nil && c.Status == metav1.ConditionTrue {
			joined = append(joined, c.LastTransitionTime.Time)
		}
	}
	if len(joined) == 0 {
		t.Fatal("no node has joined")
	}
	first := slices.MinFunc(joined, time.Time.Compare)
	for _, c := range list.Items {
		if c.CreationTimestamp.Time.Before(first) {
			before++
		}
	}
	return before, len(list.Items)
}

var (
	replannedTotal = regexp.MustCompile(`(?m)^karpenter_scheduler_replanned_pods_total\{[^}]*\} (\S+)$`)
	followedTotal  = regexp.MustCompile(`(?m)^karpenter_scheduler_nominated_pods_bound_total\{node="nominated"[^}]*\} (\S+)$`)
	elsewhereTotal = regexp.MustCompile(`(?m)^karpenter_scheduler_nominated_pods_bound_total\{node="other"[^}]*\} (\S+)$`)
	nominatedTotal = regexp.MustCompile(`(?m)^karpenter_scheduler_nominations_total\{action="written"\} (\S+)$`)
)

// metrics returns the controller's metrics.
func metrics(t *testing.T, c *cluster.Cluster) []byte {
	t.Helper()
	s, err := c.Dir().Load()
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.Get("http://" + s.Address("karpenter-metrics") + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// read returns the value of a counter, zero if the text does not have it.
func read(t *testing.T, text []byte, counter *regexp.Regexp) int {
	t.Helper()
	match := counter.FindSubmatch(text)
	if match == nil {
		return 0
	}
	n, err := strconv.ParseFloat(string(match[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return int(n)
}
