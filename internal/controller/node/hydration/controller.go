package hydration

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/controller/pace"
)

// A Controller adds what nodes of older versions lack.
type Controller struct {
	Client client.Client
	Cloud  cloud.Provider
	// CPUMillis is what the process may use; it decides how many nodes are worked on at once.
	CPUMillis int64
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "node.hydration" }

// Register adds the controller to mgr.
func (c *Controller) Register(mgr ctrl.Manager) error {
	registered := predicate.NewPredicateFuncs(func(o client.Object) bool {
		return o.GetLabels()[apiv1.NodeRegisteredLabelKey] == "true"
	})
	err := ctrl.NewControllerManagedBy(mgr).Named(c.Name()).
		For(&corev1.Node{}, builder.WithPredicates(registered)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: pace.Workers(c.CPUMillis, 1000, 5000),
			RateLimiter:             pace.Default(),
		}).Complete(c)
	if err != nil {
		return fmt.Errorf("set up controller %s: %w", c.Name(), err)
	}
	return nil
}

// Reconcile labels the node with the name of its claim's node class. A node that is not registered gets the label then.
func (c *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	node := &corev1.Node{}
	if err := c.Client.Get(ctx, req.NamespacedName, node); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !node.DeletionTimestamp.IsZero() || node.Spec.ProviderID == "" ||
		node.Labels[apiv1.NodeRegisteredLabelKey] != "true" {
		return ctrl.Result{}, nil
	}
	var claims apiv1.NodeClaimList
	if err := c.Client.List(ctx, &claims, client.MatchingFields{"status.providerID": node.Spec.ProviderID}); err != nil {
		return ctrl.Result{}, fmt.Errorf("list claims of node %s: %w", node.Name, err)
	}
	if len(claims.Items) != 1 || !c.Cloud.Facts().Manages(claims.Items[0].Spec.NodeClassRef) {
		return ctrl.Result{}, nil
	}
	ref := claims.Items[0].Spec.NodeClassRef
	before := node.DeepCopy()
	node.Labels[apiv1.NodeClassLabelKey(schema.GroupKind{Group: ref.Group, Kind: ref.Kind})] = ref.Name
	err := act.Patch(ctx, c.Client, before, node)
	if act.Conflict(err) {
		return ctrl.Result{}, nil // whoever wrote in between makes the watch call again
	}
	return ctrl.Result{}, err
}
