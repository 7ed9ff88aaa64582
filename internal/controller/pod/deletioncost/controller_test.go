package deletioncost

import (
	"context"
	"fmt"
	"strconv"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/controller/internal/world"
	"github.com/karpenter-go/karpenter/internal/observe"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// A cluster is one node of a NodePool that consolidates, with pods of a ReplicaSet, and the controller.
type cluster struct {
	*Controller
	t      *testing.T
	answer error // error of patches, if set
	first  int   // number of the first pod to which it is not the answer, 0 if it is the answer to all
	via    string
}

func newCluster(t *testing.T, pods int) *cluster {
	pool := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	pool.Spec.Disruption.ConsolidateAfter = apiv1.MustParseNillableDuration("0s")
	labels := map[string]string{
		apiv1.NodePoolLabelKey: "default", apiv1.NodeRegisteredLabelKey: "true", apiv1.NodeInitializedLabelKey: "true",
	}
	claim := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "claim", Labels: labels}}
	claim.Status.ProviderID = "fake:///1"
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", Labels: labels}}
	node.Spec.ProviderID = "fake:///1"
	node.Status.Allocatable = corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi"),
	}
	all := []client.Object{pool, claim, node}
	for i := range pods {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("web-%d", i), Namespace: "default", UID: types.UID(fmt.Sprint(i)),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web", UID: "web", Controller: ptr.To(true)}},
		}}
		p.Spec.NodeName = "node"
		all = append(all, p)
	}
	w := world.New(t, all...)
	c := &cluster{t: t}
	patch := func(via string, o client.Object, send func() error) error {
		c.via = via
		if i, _ := strconv.Atoi(string(o.GetUID())); c.answer != nil && (c.first == 0 || i < c.first) {
			return c.answer
		}
		return send()
	}
	c.Controller = &Controller{
		Cluster: observe.New(clocktesting.NewFakeClock(world.Start)), Metrics: telemetry.NewMetrics(prometheus.NewRegistry(), nil).DeletionCost,
		Client: interceptor.NewClient(w.Client, interceptor.Funcs{
			Patch: func(ctx context.Context, under client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				return patch("pods", o, func() error { return under.Patch(ctx, o, p, opts...) })
			},
			// The API server changes annotations in a patch of the status, unlike the fake client.
			SubResourcePatch: func(ctx context.Context, under client.Client, sub string, o client.Object, p client.Patch, _ ...client.SubResourcePatchOption) error {
				return patch("pods/"+sub, o, func() error { return under.Patch(ctx, o, p) })
			},
		}),
	}
	for _, o := range all {
		if o.GetNamespace() == "" {
			c.Cluster.Set(o)
		}
	}
	c.watch()
	return c
}

// watch passes the pods to the controller.
func (c *cluster) watch() {
	for _, p := range c.pods() {
		c.Cluster.Set(&p)
	}
}

func (c *cluster) pods() []corev1.Pod {
	var list corev1.PodList
	if err := c.Client.List(c.t.Context(), &list); err != nil {
		c.t.Fatal(err)
	}
	return list.Items
}

// costs returns how many pods have a cost, and how many of these costs are marked as written by Karpenter.
func (c *cluster) costs() (all, written int) {
	for _, p := range c.pods() {
		if v := p.Annotations[corev1.PodDeletionCost]; v != "" {
			all++
			if p.Annotations[apiv1.WrittenDeletionCostAnnotationKey] == v {
				written++
			}
		}
	}
	return all, written
}

func (c *cluster) pass() ctrl.Result {
	c.t.Helper()
	r, err := c.Reconcile(c.t.Context(), ctrl.Request{})
	if err != nil {
		c.t.Fatal(err)
	}
	return r
}

func (c *cluster) count(result string) float64 {
	return testutil.ToFloat64(c.Metrics.PodAnnotationWritesTotal.WithLabelValues(result))
}

// Costs are written once. When the gate is disabled again, they are removed, and costs set by users remain.
func TestCostsAreWrittenAndRemoved(t *testing.T) {
	c := newCluster(t, 3)
	users := c.pods()[0]
	users.Annotations = map[string]string{corev1.PodDeletionCost: "7"}
	if err := c.Client.Update(t.Context(), &users); err != nil {
		t.Fatal(err)
	}
	c.watch()
	c.On = true
	for range 2 {
		if r := c.pass(); r.RequeueAfter != period {
			t.Errorf("the next pass is after %v", r.RequeueAfter)
		}
	}
	if all, written := c.costs(); all != 3 || written != 2 || c.count(telemetry.WriteUpdated) != 2 || c.via != "pods" {
		t.Errorf("%d costs, %d written, %v writes by %s", all, written, c.count(telemetry.WriteUpdated), c.via)
	}
	c.On = false
	c.pass()
	if r := c.pass(); r.RequeueAfter != 0 {
		t.Errorf("the next pass is after %v although nothing is left to do", r.RequeueAfter)
	}
	if all, written := c.costs(); all != 1 || written != 0 || c.via != "pods/status" {
		t.Errorf("%d costs, %d written are left, by %s", all, written, c.via)
	}
}

// The number of written pods in a pass is limited. The others are written in the next pass.
func TestPassIsBounded(t *testing.T) {
	c := newCluster(t, perPass+1)
	c.On = true
	if r := c.pass(); r.RequeueAfter != soon {
		t.Errorf("the next pass is after %v", r.RequeueAfter)
	}
	pending := func() float64 {
		return testutil.ToFloat64(c.Metrics.NodesWithPendingAnnotationWrites.WithLabelValues("default"))
	}
	if all, _ := c.costs(); all != perPass || pending() != 1 {
		t.Errorf("%d costs, %v nodes are pending", all, pending())
	}
	c.pass()
	if all, _ := c.costs(); all != perPass+1 || pending() != 0 {
		t.Errorf("%d costs, %v nodes are pending", all, pending())
	}
}

// A pod that was deleted or changed is left to the next pass. Other errors are returned, so that the pass is repeated. Without
// the permission to remove costs, the controller stops.
func TestFailedWrites(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for _, tt := range []struct {
		answer error
		off    bool
		result string
		fails  bool
	}{
		{apierrors.NewNotFound(pods, "web-0"), false, telemetry.WriteNotFound, false},
		{apierrors.NewConflict(pods, "web-0", nil), false, telemetry.WriteConflict, false},
		{apierrors.NewInternalError(context.DeadlineExceeded), false, telemetry.WriteError, true},
		{apierrors.NewForbidden(pods, "web-0", nil), false, telemetry.WriteError, true},
		{apierrors.NewForbidden(pods, "web-0", nil), true, telemetry.WriteError, false},
	} {
		c := newCluster(t, 1)
		c.On = true
		if tt.off {
			c.pass()
			c.On = false
		}
		c.answer = tt.answer
		_, err := c.Reconcile(t.Context(), ctrl.Request{})
		if (err != nil) != tt.fails || c.count(tt.result) != 1 {
			t.Errorf("%v: error %v, %v counted", tt.answer, err, c.count(tt.result))
		}
	}
}

// Pods whose write is refused do not prevent the writes of others, however many they are. When the gate is off, the passes end
// when only writes that are forbidden are left.
func TestRefusedPodsComeLast(t *testing.T) {
	pods := schema.GroupResource{Resource: "pods"}
	for _, tt := range []struct {
		answer error
		ends   bool
	}{
		{apierrors.NewForbidden(pods, "web", nil), true},
		{apierrors.NewBadRequest("not these"), false},
	} {
		const refused, all = 90, 96 // the names of the others come last
		c := newCluster(t, all)
		pass := func() error {
			t.Helper()
			_, err := c.Reconcile(t.Context(), ctrl.Request{})
			return err
		}
		c.On = true
		c.answer, c.first = tt.answer, refused
		for range refused/maxErrors + 1 {
			if pass() == nil {
				t.Errorf("%v: no error", tt.answer)
			}
		}
		if got, _ := c.costs(); got != all-refused {
			t.Errorf("%v: %d pods have costs, want %d", tt.answer, got, all-refused)
		}
		c.answer = nil
		c.pass()
		c.On, c.answer = false, tt.answer
		for i := 0; pass() != nil; i++ {
			if i == 10 {
				if tt.ends {
					t.Errorf("%v: the passes do not end", tt.answer)
				}
				break
			}
		}
		if got, _ := c.costs(); got != refused {
			t.Errorf("%v: %d pods have costs, want %d", tt.answer, got, refused)
		}
	}
}
