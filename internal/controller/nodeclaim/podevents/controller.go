package podevents

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/lifecycle"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/controller/nodeclaim/internal/lookup"
	"github.com/karpenter-go/karpenter/internal/controller/pace"
)

// conflictRetry is when a write that met somebody else's is tried again.
const conflictRetry = time.Second

// A Controller notes when pods last came or went.
type Controller struct {
	Client client.Client
	Clock  clock.Clock
	Cloud  cloud.Provider
	// CPUMillis is what the process may use; it decides how many nodes are looked at at once.
	CPUMillis int64
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "nodeclaim.podevents" }

// Register adds the controller to mgr.
func (c *Controller) Register(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).Named(c.Name()).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(nodeOf), builder.WithPredicates(movement())).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: pace.Workers(c.CPUMillis, 10, 1000),
			RateLimiter:             pace.Default(),
		}).Complete(c)
	if err != nil {
		return fmt.Errorf("set up controller %s: %w", c.Name(), err)
	}
	return nil
}

// nodeOf maps a pod to the node it is bound to.
func nodeOf(_ context.Context, o client.Object) []ctrl.Request {
	pod, ok := o.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" {
		return nil
	}
	return []ctrl.Request{{NamespacedName: types.NamespacedName{Name: pod.Spec.NodeName}}}
}

// movement lets those events through by which a pod may have come or gone. A pod that is deleted was told to go
// before.
func movement() predicate.Predicate {
	return predicate.Funcs{
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok1 := e.ObjectOld.(*corev1.Pod)
			after, ok2 := e.ObjectNew.(*corev1.Pod)
			return ok1 && ok2 && stage(before) != stage(after)
		},
	}
}

// stage is how far a pod has come: what changes it is an event.
func stage(p *corev1.Pod) [3]bool {
	return [3]bool{
		p.Spec.NodeName != "",
		p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed,
		p.DeletionTimestamp != nil,
	}
}

// Reconcile notes on the claims of one node when pods last came or went.
func (c *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	node := &corev1.Node{} // the cache's own, only read
	if err := c.Client.Get(ctx, req.NamespacedName, node, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	claims, err := lookup.ClaimsOf(ctx, c.Client, node)
	claims = slices.DeleteFunc(claims, c.fresh)
	if err != nil || len(claims) == 0 {
		return ctrl.Result{}, err
	}
	pods, err := c.podsOn(ctx, node.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	last := lifecycle.LastPodEvent(pods, c.Clock.Now())
	var errs []error
	for _, claim := range claims {
		errs = append(errs, c.note(ctx, claim, last))
	}
	if err := errors.Join(errs...); act.Conflict(err) {
		return ctrl.Result{RequeueAfter: conflictRetry}, nil
	} else if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{}, nil
}

// fresh reports whether nothing can be noted on the claim yet, for what it says is too new, or ever. It spares looking at the pods
// of its node, which come and go by the hundred.
func (c *Controller) fresh(claim *apiv1.NodeClaim) bool {
	return !c.Cloud.Facts().Manages(claim.Spec.NodeClassRef) || !news(claim, c.Clock.Now())
}

// news reports whether the moment is to be noted on the claim.
func news(claim *apiv1.NodeClaim, at time.Time) bool {
	known := claim.Status.LastPodEventTime.Time
	return !at.IsZero() && (known.IsZero() || at.Sub(known) >= lifecycle.PodEventWindow)
}

// note writes the moment onto the claim if it is news.
func (c *Controller) note(ctx context.Context, claim *apiv1.NodeClaim, last time.Time) error {
	if !news(claim, last) {
		return nil
	}
	before := claim.DeepCopy()
	claim.Status.LastPodEventTime = metav1.NewTime(last)
	return act.PatchStatus(ctx, c.Client, before, claim)
}

// podsOn returns the pods on the node. They are the cache's own and must not be changed: hundreds of pods may come to a node one
// by one, and each of them asks again.
func (c *Controller) podsOn(ctx context.Context, node string) ([]*corev1.Pod, error) {
	var list corev1.PodList
	err := c.Client.List(ctx, &list, client.MatchingFields{lookup.IndexPodNodeName: node}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return nil, fmt.Errorf("list pods on node %s: %w", node, err)
	}
	pods := make([]*corev1.Pod, 0, len(list.Items))
	for i := range list.Items {
		pods = append(pods, &list.Items[i])
	}
	return pods, nil
}
