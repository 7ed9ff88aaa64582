package podevents

import (
	"context"
	"errors"
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

// A Controller sets status.lastPodEventTime of claims: the last time at which a pod was bound to the node, finished, or began to
// terminate.
type Controller struct {
	Client client.Client
	Clock  clock.Clock
	Cloud  cloud.Provider
	// CPUMillis is the CPU request of the process, which determines the number of workers.
	CPUMillis int64

	mu sync.Mutex // guards recent
	// recent has the times of the last pod events by node name. Without it, events of pods without a grace period would be
	// missed, because these pods no longer exist when Reconcile lists pods.
	recent map[string]eventTimes
}

// eventTimes has the time of the last pod event of a node, and the time at which it was last written to the claim.
type eventTimes struct{ event, written time.Time }

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "nodeclaim.podevents" }

// Register adds the controller to mgr.
func (c *Controller) Register(mgr ctrl.Manager) error {
	b := claims.Begin(mgr, c, workers.Number(c.CPUMillis, 10, 1000)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(c.recordPodEvent), builder.WithPredicates(stageChanged())).
		Watches(&corev1.Node{}, handler.Funcs{DeleteFunc: c.forgetDeleted})
	return claims.Complete(b, c)
}

// recordPodEvent stores the time of a pod event, and maps the pod to its node.
func (c *Controller) recordPodEvent(_ context.Context, o client.Object) []ctrl.Request {
	pod, ok := o.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" {
		return nil
	}
	at := lifecycle.LastPodEvent([]*corev1.Pod{pod}, c.Clock.Now())
	c.record(pod.Spec.NodeName, eventTimes{event: at})
	return []ctrl.Request{{NamespacedName: types.NamespacedName{Name: pod.Spec.NodeName}}}
}

// record sets each time in the entry of a node to the later of the stored and the given one.
func (c *Controller) record(node string, t eventTimes) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.recent == nil {
		c.recent = map[string]eventTimes{}
	}
	known := c.recent[node]
	c.recent[node] = eventTimes{later(known.event, t.event), later(known.written, t.written)}
}

// recorded returns the entry of a node.
func (c *Controller) recorded(node string) eventTimes {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.recent[node]
}

// later returns the later of two times.
func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// forgetDeleted removes the entry of a deleted node.
func (c *Controller) forgetDeleted(_ context.Context, e event.DeleteEvent, _ workqueue.TypedRateLimitingInterface[ctrl.Request]) {
	c.forget(e.Object.GetName())
}

// forget removes the entry of a node.
func (c *Controller) forget(node string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.recent, node)
}

// stageChanged selects the events that may change the stage of a pod. The removal of a pod is not selected, because its deletion
// timestamp was an earlier event.
func stageChanged() predicate.Predicate {
	return predicate.Funcs{
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok1 := e.ObjectOld.(*corev1.Pod)
			after, ok2 := e.ObjectNew.(*corev1.Pod)
			return ok1 && ok2 && stage(before) != stage(after)
		},
	}
}

// stage returns whether a pod is bound, finished and terminating. Each change is a pod event.
func stage(p *corev1.Pod) [3]bool {
	return [3]bool{
		p.Spec.NodeName != "",
		p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed,
		p.DeletionTimestamp != nil,
	}
}

// Reconcile writes the time of the last pod event to the claims of one node. If the last write was less than PodEventWindow ago,
// the write is delayed. The delayed write has the exact time of the event.
func (c *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	node := &corev1.Node{} // shared with the cache, must not be changed
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
		// A claim that is being deleted is not consolidated, so its lastPodEventTime is not needed. The drain of its node causes
		// many pod events, and writing their times would only conflict with the writes of other controllers.
		return !c.Cloud.Facts().Manages(claim.Spec.NodeClassRef) || !claim.DeletionTimestamp.IsZero()
	})
	if len(ours) == 0 {
		return ctrl.Result{}, nil
	}
	now, known := c.Clock.Now(), c.recorded(node.Name)
	if wait := known.written.Add(lifecycle.PodEventWindow).Sub(now); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	// The pods are shared with the cache and must not be changed. They are not copied, because each event of hundreds of pods on a
	// node may cause a call.
	pods, err := lookup.PodsOf(ctx, c.Client, node.Name, client.UnsafeDisableDeepCopy)
	if err != nil {
		return ctrl.Result{}, err
	}
	last := lifecycle.LastPodEvent(pods, now)
	if known.event.After(node.CreationTimestamp.Time) { // of this node, not of an earlier one with the same name
		last = later(last, known.event)
	}
	var errs []error
	for _, claim := range ours {
		errs = append(errs, c.writeLastEvent(ctx, node.Name, claim, last))
	}
	return claims.Result(ctrl.Result{}, errors.Join(errs...))
}

// writeLastEvent writes the time to the claim if it is later than the stored one. The patch has no optimistic lock, because no
// other controller writes the field. A lock would only cause conflicts with deletions that are not in the cache yet.
func (c *Controller) writeLastEvent(ctx context.Context, node string, claim *apiv1.NodeClaim, last time.Time) error {
	if !last.Truncate(time.Second).After(claim.Status.LastPodEventTime.Time) { // the API stores whole seconds
		return nil
	}
	before := claim.DeepCopy()
	claim.Status.LastPodEventTime = metav1.NewTime(last)
	if err := act.MergeStatus(ctx, c.Client, before, claim); err != nil {
		return err
	}
	c.record(node, eventTimes{written: c.Clock.Now()})
	return nil
}
