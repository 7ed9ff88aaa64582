package lifecycle

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/lifecycle"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/controller/internal/claims"
	"github.com/karpenter-go/karpenter/internal/controller/internal/lookup"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/internal/workers"
)

// Health records for each NodePool whether its nodes join the cluster.
type Health interface {
	// RecordSuccess records that one node of the NodePool joined.
	RecordSuccess(poolUID types.UID)
	// RecordFailure records that one node did not join, with the reason. The reason is empty if it is not known.
	RecordFailure(poolUID types.UID, reason, message string)
}

// Planned returns which pods were planned for which claim.
type Planned interface {
	// PodsOf returns the pods that were planned for the claim and still need a node, in the order of their keys.
	PodsOf(claim string) []*corev1.Pod
}

// A Controller executes the life cycle of claims: launch, registration, initialization and termination.
type Controller struct {
	Client client.Client
	// Live reads from the API server, without a cache; if nil, Client is used.
	Live    client.Reader
	Clock   clock.WithDelayedExecution
	Events  telemetry.Recorder
	Metrics *telemetry.Metrics
	Cloud   cloud.Provider
	// Health records the registrations for each NodePool; nil records none.
	Health Health
	// Planned returns the pods that get an event if their claim could not be launched; nil means none.
	Planned Planned
	// DRA delays initialization until the drivers of dynamic resources have published their ResourceSlices.
	DRA bool
	// CPUMillis is the CPU request of the process, which determines the number of workers.
	CPUMillis int64

	launches launches
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "nodeclaim.lifecycle" }

// Register adds the controller to mgr.
func (c *Controller) Register(mgr ctrl.Manager) error {
	facts := c.Cloud.Facts()
	// A launch may occupy a worker for minutes, so there are many workers. Waiting workers need little memory and no
	// CPU.
	number := workers.Number(c.CPUMillis, 1000, 5000)
	b := claims.Over(mgr, c, facts, number).
		Watches(&apiv1.NodeClaim{}, handler.Funcs{UpdateFunc: c.cancelLaunch}).
		Watches(&corev1.Node{}, lookup.FromNode(c.Client, facts)).
		WithOptions(controller.Options{ // not the default options, because launches are retried more slowly
			MaxConcurrentReconciles: number, RateLimiter: workers.Limiter(time.Second, time.Minute),
		})
	if c.DRA {
		b = b.Watches(&resourcev1.ResourceSlice{}, handler.EnqueueRequestsFromMapFunc(c.fromSlice))
	}
	return claims.Complete(b, c)
}

// Reconcile executes all steps in the life cycle of one claim that are possible now.
func (c *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	claim, err := claims.Get(ctx, c.Client, c.Cloud.Facts(), req)
	if err != nil {
		return ctrl.Result{}, err
	}
	if claim == nil {
		c.launches.forget(req.Name)
		return ctrl.Result{}, nil
	}
	if err := c.addFinalizer(ctx, claim); err != nil {
		return claims.Result(ctrl.Result{}, err)
	}
	return claims.Result(newPass(c, claim).run(ctx))
}

// addFinalizer adds the finalizer to a claim before its instance is launched, and the label of its node class.
func (c *Controller) addFinalizer(ctx context.Context, claim *apiv1.NodeClaim) error {
	if !claim.DeletionTimestamp.IsZero() || slices.Contains(claim.Finalizers, apiv1.TerminationFinalizer) {
		return nil
	}
	before := claim.DeepCopy()
	claim.Finalizers = append(claim.Finalizers, apiv1.TerminationFinalizer)
	claims.SetNodeClassLabel(claim)
	return act.Patch(ctx, c.Client, before, claim)
}

// cancelLaunch cancels the launch of a claim that is being deleted. It adds no request, because the watch of claims adds one.
func (c *Controller) cancelLaunch(
	_ context.Context, e event.UpdateEvent, _ workqueue.TypedRateLimitingInterface[ctrl.Request],
) {
	if !e.ObjectNew.GetDeletionTimestamp().IsZero() {
		c.launches.cancel(e.ObjectNew.GetName(), e.ObjectNew.GetUID())
	}
}

// fromSlice maps a ResourceSlice to the claim of its node.
func (c *Controller) fromSlice(ctx context.Context, o client.Object) []ctrl.Request {
	slice, ok := o.(*resourcev1.ResourceSlice)
	if !ok {
		return nil
	}
	name, _ := nodeOf(slice)
	node := &corev1.Node{}
	if name == "" {
		return nil
	}
	if err := c.Client.Get(ctx, types.NamespacedName{Name: name}, node); err != nil {
		return nil // The node does not exist yet. Its creation will trigger a reconcile.
	}
	found, err := lookup.ClaimsOf(ctx, c.Client, node)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "failed to map slice to claims")
		return nil
	}
	return lookup.Requests(found, c.Cloud.Facts())
}

// readView reads the inputs of the judgement about a claim. hookErr is the error of the provider's Registered; it does not stop the
// pass.
func (c *Controller) readView(ctx context.Context, claim *apiv1.NodeClaim) (v lifecycle.View, hookErr, err error) {
	v = lifecycle.View{
		Now: c.Clock.Now(), Claim: claim, DRA: c.DRA, LaunchTimeout: c.Cloud.Facts().LaunchTimeout(claim.Spec.NodeClassRef),
	}
	if v.Nodes, err = lookup.NodesOf(ctx, c.Client, claim); err != nil {
		return v, nil, err
	}
	if len(v.Nodes) != 1 || !claim.DeletionTimestamp.IsZero() {
		return v, nil, nil
	}
	if !condition.IsTrue(claim, apiv1.ConditionTypeRegistered) {
		wait, labels, err := c.Cloud.Registered(ctx, claim)
		v.Hook = lifecycle.Hook{Wait: wait, Labels: labels}
		if err != nil {
			hookErr = fmt.Errorf("check whether node %s may be registered: %w", v.Nodes[0].Name, err)
			v.Hook.Err = err.Error()
		}
	}
	if condition.IsTrue(claim, apiv1.ConditionTypeInitialized) {
		return v, hookErr, nil
	}
	if condition.IsTrue(claim, apiv1.ConditionTypeRegistered) && !v.Now.Before(lifecycle.InitializationTimeoutAt(claim)) {
		if v.Pods, err = lookup.PodsOf(ctx, c.Client, v.Nodes[0].Name); err != nil {
			return v, hookErr, err
		}
	}
	if c.DRA {
		v.Slices, err = c.slicesOf(ctx, v.Nodes[0])
	}
	return v, hookErr, err
}

// slicesOf returns the ResourceSlices with devices of the node.
func (c *Controller) slicesOf(ctx context.Context, node *corev1.Node) ([]*resourcev1.ResourceSlice, error) {
	var list resourcev1.ResourceSliceList
	if err := c.Client.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list resource slices: %w", err)
	}
	var slices []*resourcev1.ResourceSlice
	for i := range list.Items {
		if name, uid := nodeOf(&list.Items[i]); name == node.Name && (uid == "" || uid == node.UID) {
			slices = append(slices, &list.Items[i])
		}
	}
	return slices, nil
}

// nodeOf returns the name of the node whose devices the slice lists, empty if it lists those of no single node. That is
// the node of spec.nodeName, or the Node that owns the slice. The second result is the UID of the owner, empty for a slice with
// spec.nodeName.
func nodeOf(slice *resourcev1.ResourceSlice) (name string, uid types.UID) {
	if slice.Spec.NodeName != nil {
		return *slice.Spec.NodeName, ""
	}
	for _, o := range slice.OwnerReferences {
		if o.APIVersion == "v1" && o.Kind == "Node" {
			return o.Name, o.UID
		}
	}
	return "", ""
}
