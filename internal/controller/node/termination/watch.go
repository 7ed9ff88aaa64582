package termination

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/workers"
)

// Register adds the controller to mgr. It is triggered by nodes that are being deleted, and by the pods, volumes and claims
// of such nodes. PodDisruptionBudgets that may allow evictions again, and the opening of destination nodes, trigger it,
// too.
func (c *Controller) Register(mgr ctrl.Manager) error {
	leaving := predicate.NewPredicateFuncs(func(o client.Object) bool { return !o.GetDeletionTimestamp().IsZero() })
	b := ctrl.NewControllerManagedBy(mgr)
	if c.Turns != nil {
		b = b.WatchesRawSource(source.Func(c.watchTurns))
	}
	return b.
		Named(c.Name()).
		For(&corev1.Node{}, builder.WithPredicates(leaving)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(c.requestsOfPod)).
		Watches(&storagev1.VolumeAttachment{}, handler.EnqueueRequestsFromMapFunc(c.requestsOfAttachment)).
		Watches(&apiv1.NodeClaim{}, handler.EnqueueRequestsFromMapFunc(c.requestsOfClaim)).
		Watches(&policyv1.PodDisruptionBudget{}, c.budgetHandler()).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers.Number(c.CPUMillis, 100, 5000),
			RateLimiter:             workers.Limiter(backoffBase, backoffMax),
		}).
		Complete(c)
}

// budgetHandler triggers nodes with refused pods when the PodDisruptionBudget that selects these pods allows disruptions, changes
// its spec, or is deleted.
func (c *Controller) budgetHandler() handler.EventHandler {
	return handler.Funcs{
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q requestQueue) {
			before, old := e.ObjectOld.(*policyv1.PodDisruptionBudget)
			after, ok := e.ObjectNew.(*policyv1.PodDisruptionBudget)
			if old && ok && (after.Status.DisruptionsAllowed > 0 || after.Generation != before.Generation) {
				c.reopen(before, q)
				c.reopen(after, q)
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q requestQueue) {
			if budget, ok := e.Object.(*policyv1.PodDisruptionBudget); ok {
				c.reopen(budget, q)
			}
		},
	}
}

// watchTurns triggers reconciles of the nodes whose pods may leave now that their destination node accepts pods. Other nodes are not
// triggered: with a thousand nodes that are drained at a time, each would be reconciled a thousand times.
func (c *Controller) watchTurns(_ context.Context, q requestQueue) error {
	c.Turns.OnOpen(func(from []string) {
		for _, name := range from {
			q.Add(ctrl.Request{NamespacedName: types.NamespacedName{Name: name}})
		}
	})
	return nil
}

type requestQueue = workqueue.TypedRateLimitingInterface[ctrl.Request]

// reopen ends the backoff of the pods that the budget selects, and triggers their nodes.
func (c *Controller) reopen(budget *policyv1.PodDisruptionBudget, q requestQueue) {
	selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
	if err != nil {
		return // the API server treats the selector as invalid, too, and selects no pod
	}
	for _, node := range c.attempts.reopen(func(pod *corev1.Pod) bool {
		return pod.Namespace == budget.Namespace && selector.Matches(labels.Set(pod.Labels))
	}) {
		q.Add(ctrl.Request{NamespacedName: types.NamespacedName{Name: node}})
	}
}

func (c *Controller) requestsOfPod(ctx context.Context, o client.Object) []ctrl.Request {
	pod, ok := o.(*corev1.Pod)
	if !ok {
		return nil
	}
	return c.requestIfLeaving(ctx, pod.Spec.NodeName)
}

func (c *Controller) requestsOfAttachment(ctx context.Context, o client.Object) []ctrl.Request {
	attachment, ok := o.(*storagev1.VolumeAttachment)
	if !ok {
		return nil
	}
	return c.requestIfLeaving(ctx, attachment.Spec.NodeName)
}

// requestsOfClaim finds the node of a claim by the node name in its status, or by its provider ID if the status has no node name.
func (c *Controller) requestsOfClaim(ctx context.Context, o client.Object) []ctrl.Request {
	claim, ok := o.(*apiv1.NodeClaim)
	if !ok {
		return nil
	}
	if claim.Status.NodeName != "" {
		return c.requestIfLeaving(ctx, claim.Status.NodeName)
	}
	if claim.Status.ProviderID == "" {
		return nil
	}
	nodes := &corev1.NodeList{}
	if err := c.Client.List(ctx, nodes, client.MatchingFields{nodesByProvider: claim.Status.ProviderID}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "failed to find node of nodeclaim", "NodeClaim", klog.KRef("", claim.Name))
		return nil
	}
	var requests []ctrl.Request
	for _, node := range nodes.Items {
		requests = append(requests, c.requestIfLeaving(ctx, node.Name)...)
	}
	return requests
}

// requestIfLeaving returns a request for the node if it is being deleted. Requests for all other nodes, which have most of the
// pods, would fill the queue.
func (c *Controller) requestIfLeaving(ctx context.Context, name string) []ctrl.Request {
	if name == "" {
		return nil
	}
	node := &corev1.Node{}
	key := types.NamespacedName{Name: name}
	if err := c.Client.Get(ctx, key, node, client.UnsafeDisableDeepCopy); err != nil || node.DeletionTimestamp.IsZero() {
		return nil // a node that cannot be read is reconciled after its own events
	}
	return []ctrl.Request{{NamespacedName: key}}
}
