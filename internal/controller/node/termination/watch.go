package termination

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/controller/pace"
)

// Register adds the controller to mgr. It is woken by nodes that are being deleted, and by the pods, volumes and claims of
// such nodes.
func (c *Controller) Register(mgr ctrl.Manager) error {
	leaving := predicate.NewPredicateFuncs(func(o client.Object) bool { return !o.GetDeletionTimestamp().IsZero() })
	return ctrl.NewControllerManagedBy(mgr).
		Named(c.Name()).
		For(&corev1.Node{}, builder.WithPredicates(leaving)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(c.requestsOfPod)).
		Watches(&storagev1.VolumeAttachment{}, handler.EnqueueRequestsFromMapFunc(c.requestsOfAttachment)).
		Watches(&apiv1.NodeClaim{}, handler.EnqueueRequestsFromMapFunc(c.requestsOfClaim)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: pace.Workers(c.CPUMillis, 100, 5000),
			RateLimiter:             pace.Limiter(backoffBase, backoffMax),
		}).
		Complete(c)
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

// requestsOfClaim finds the node of a claim by its name if the claim knows it, else by the ID of its instance.
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
		ctrl.LoggerFrom(ctx).Error(err, "cannot find the node of a claim", "NodeClaim", types.NamespacedName{Name: claim.Name})
		return nil
	}
	var requests []ctrl.Request
	for _, node := range nodes.Items {
		requests = append(requests, c.requestIfLeaving(ctx, node.Name)...)
	}
	return requests
}

// requestIfLeaving returns a request for the node if it is being deleted. Most pods are on nodes that stay, and must not
// fill the queue.
func (c *Controller) requestIfLeaving(ctx context.Context, name string) []ctrl.Request {
	if name == "" {
		return nil
	}
	node := &corev1.Node{}
	key := types.NamespacedName{Name: name}
	if err := c.Client.Get(ctx, key, node); err != nil || node.DeletionTimestamp.IsZero() {
		return nil // a node that cannot be read comes back with its own events
	}
	return []ctrl.Request{{NamespacedName: key}}
}
