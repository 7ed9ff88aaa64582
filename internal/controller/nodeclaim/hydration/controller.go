package hydration

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/controller/internal/claims"
	"github.com/karpenter-go/karpenter/internal/workers"
)

// A Controller adds what claims of older versions lack.
type Controller struct {
	Client client.Client
	Cloud  cloud.Provider
	// CPUMillis is what the process may use; it decides how many claims are worked on at once.
	CPUMillis int64
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "nodeclaim.hydration" }

// Register adds the controller to mgr.
func (c *Controller) Register(mgr ctrl.Manager) error {
	return claims.Complete(claims.Over(mgr, c, c.Cloud.Facts(), workers.Number(c.CPUMillis, 1000, 5000)), c)
}

// Reconcile labels the claim with the name of its node class. A claim without a finalizer is new: it gets both in one
// write when its life begins, and must not be written by two at once.
func (c *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	claim, err := claims.GetLive(ctx, c.Client, c.Cloud.Facts(), req)
	if claim == nil || !slices.Contains(claim.Finalizers, apiv1.TerminationFinalizer) {
		return ctrl.Result{}, err
	}
	before, ref := claim.DeepCopy(), claim.Spec.NodeClassRef
	if claim.Labels == nil {
		claim.Labels = map[string]string{}
	}
	claim.Labels[apiv1.NodeClassLabelKey(schema.GroupKind{Group: ref.Group, Kind: ref.Kind})] = ref.Name
	return claims.Settle(ctrl.Result{}, act.Patch(ctx, c.Client, before, claim))
}
