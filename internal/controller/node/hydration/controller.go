package hydration

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/controller/internal/claims"
	"github.com/karpenter-go/karpenter/internal/controller/internal/lookup"
	"github.com/karpenter-go/karpenter/internal/workers"
)

// A Controller adds missing labels to nodes that an older version of Karpenter registered.
type Controller struct {
	Client client.Client
	Cloud  cloud.Provider
	// CPUMillis is the CPU request of the process, which determines the number of workers.
	CPUMillis int64
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "node.hydration" }

// Register adds the controller to mgr.
func (c *Controller) Register(mgr ctrl.Manager) error {
	registered := predicate.NewPredicateFuncs(func(o client.Object) bool {
		return o.GetLabels()[apiv1.NodeRegisteredLabelKey] == "true"
	})
	b := claims.Begin(mgr, c, workers.Number(c.CPUMillis, 1000, 5000)).
		For(&corev1.Node{}, builder.WithPredicates(registered))
	return claims.Complete(b, c)
}

// Reconcile labels the node with the name of its claim's node class. It skips a node that is not registered, because the
// registration sets the label.
func (c *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	node := &corev1.Node{}
	if err := c.Client.Get(ctx, req.NamespacedName, node); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !node.DeletionTimestamp.IsZero() || node.Spec.ProviderID == "" ||
		node.Labels[apiv1.NodeRegisteredLabelKey] != "true" {
		return ctrl.Result{}, nil
	}
	found, err := lookup.ClaimsOf(ctx, c.Client, node)
	if err != nil || len(found) != 1 || !c.Cloud.Facts().Manages(found[0].Spec.NodeClassRef) {
		return ctrl.Result{}, err
	}
	before, ref := node.DeepCopy(), found[0].Spec.NodeClassRef
	node.Labels[apiv1.NodeClassLabelKey(schema.GroupKind{Group: ref.Group, Kind: ref.Kind})] = ref.Name
	return claims.Result(ctrl.Result{}, act.Patch(ctx, c.Client, before, node))
}
