package podevents

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/lifecycle"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/controller/internal/claims"
	"github.com/karpenter-go/karpenter/internal/controller/internal/lookup"
	"github.com/karpenter-go/karpenter/internal/workers"
)

// A Controller notes when pods last came or went.
type Controller struct {
	Client client.Client
	Clock  clock.Clock
	Cloud  cloud.Provider
	// CPUMillis is what the process may use; it decides how many nodes are looked at at once.
	CPUMillis int64

	mu sync.Mutex // guards recent
	// recent is the last pod events by node name. Pods without a grace period are gone before Reconcile could see them.
	recent map[string]moments
}

// moments are when a pod was last seen to come to or go from a node, and when that was last written.
type moments struct{ event, written time.Time }

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "nodeclaim.podevents" }

// Register adds the controller to mgr.
func (c *Controller) Register(mgr ctrl.Manager) error {
	b := claims.Begin(mgr, c, workers.Number(c.CPUMillis, 10, 1000)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(c.seen), builder.WithPredicates(movement())).
		Watches(&corev1.Node{}, handler.Funcs{DeleteFunc: c.gone})
	return claims.Complete(b, c)
}

// seen notes what has happened to a pod, and maps it to the node it is bound to.
func (c *Controller) seen(_ context.Context, o client.Object) []ctrl.Request {
	pod, ok := o.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" {
		return nil
	}
	at := lifecycle.LastPodEvent([]*corev1.Pod{pod}, c.Clock.Now())
	c.remember(pod.Spec.NodeName, moments{event: at})
	return []ctrl.Request{{NamespacedName: types.NamespacedName{Name: pod.Spec.NodeName}}}
}

// remember adds to what is known of a node: the later moment counts.
func (c *Controller) remember(node string, m moments) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.recent == nil {
		c.recent = map[string]moments{}
	}
	known := c.recent[node]
	c.recent[node] = moments{later(known.event, m.event), later(known.written, m.written)}
}

// known returns what is known of a node.
func (c *Controller) known(node string) moments {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recent[node]
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// gone drops what is known of a node that has been deleted.
func (c *Controller) gone(_ context.Context, e event.DeleteEvent, _ workqueue.TypedRateLimitingInterface[ctrl.Request]) {
	c.forget(e.Object.GetName())
}

func (c *Controller) forget(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.recent, node)
}

// movement selects the events by which a pod may have been bound to or have left a node. The removal of a pod is none, since
// its deletion began before.
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

// Reconcile notes on the claims of one node when pods last came or went. What happens too soon after the last write is noted when
// that is long enough ago, so that the moment is exact in the end.
func (c *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	node := &corev1.Node{} // the cache's own, only read
	if err := c.Client.Get(ctx, req.NamespacedName, node, client.UnsafeDisableDeepCopy); err != nil {
		if apierrors.IsNotFound(err) {
			c.forget(req.Name)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	ours, err := lookup.ClaimsOf(ctx, c.Client, node)
	if err != nil {
		return ctrl.Result{}, err
	}
	ours = slices.DeleteFunc(ours, func(claim *apiv1.NodeClaim) bool {
		// A claim that is being deleted is not consolidated. Its pods leave by the hundred, and its status has other writers.
		return !c.Cloud.Facts().Manages(claim.Spec.NodeClassRef) || !claim.DeletionTimestamp.IsZero()
	})
	if len(ours) == 0 {
		return ctrl.Result{}, nil
	}
	now, known := c.Clock.Now(), c.known(node.Name)
	if wait := known.written.Add(lifecycle.PodEventWindow).Sub(now); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	pods, err := c.podsOn(ctx, node.Name)
	if err != nil {
		return ctrl.Result{}, err
	}
	last := lifecycle.LastPodEvent(pods, now)
	if known.event.After(node.CreationTimestamp.Time) { // of this node, not of one before by that name
		last = later(last, known.event)
	}
	var errs []error
	for _, claim := range ours {
		errs = append(errs, c.note(ctx, node.Name, claim, last))
	}
	return claims.Settle(ctrl.Result{}, errors.Join(errs...))
}

// note writes the moment onto the claim if it is news. The field has no other writer, so the write needs no lock: it would only
// conflict with deletions by users that the cache does not show yet.
func (c *Controller) note(ctx context.Context, node string, claim *apiv1.NodeClaim, last time.Time) error {
	if !last.Truncate(time.Second).After(claim.Status.LastPodEventTime.Time) { // the API keeps whole seconds
		return nil
	}
	before := claim.DeepCopy()
	claim.Status.LastPodEventTime = metav1.NewTime(last)
	if err := act.MergeStatus(ctx, c.Client, before, claim); err != nil {
		return err
	}
	c.remember(node, moments{written: c.Clock.Now()})
	return nil
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
