package hydration

import (
	"context"
	"slices"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/controller/internal/claims"
	"github.com/karpenter-go/karpenter/internal/workers"
)

// A Controller adds missing labels to claims that an older version of Karpenter created.
type Controller struct {
	Client client.Client
	Cloud  cloud.Provider
	// CPUMillis is the CPU request of the process, which determines the number of workers.
	CPUMillis int64
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "nodeclaim.hydration" }

// Register adds the controller to mgr.
func (c *Controller) Register(mgr ctrl.Manager) error {
	return claims.Complete(claims.Over(mgr, c, c.Cloud.Facts(), workers.Number(c.CPUMillis, 1000, 5000)), c)
}

// Reconcile labels the claim with the name of its node class. It skips a claim without a finalizer, which is new: the controller
// nodeclaim.lifecycle adds the label and the finalizer in one write.
func (c *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	claim, err := claims.GetLive(ctx, c.Client, c.Cloud.Facts(), req)
	if claim == nil || !slices.Contains(claim.Finalizers, apiv1.TerminationFinalizer) {
		return ctrl.Result{}, err
	}
	before := claim.DeepCopy()
	claims.SetNodeClassLabel(claim)
	return claims.Result(ctrl.Result{}, act.Patch(ctx, c.Client, before, claim))
}
