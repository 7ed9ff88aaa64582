package expiration

import (
	"context"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/lifecycle"
	"github.com/karpenter-go/karpenter/internal/controller/internal/claims"
	"github.com/karpenter-go/karpenter/internal/controller/internal/dismiss"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/internal/workers"
)

// A Controller deletes claims at their expiry.
type Controller struct {
	Client  client.Client
	Clock   clock.Clock
	Metrics *telemetry.Metrics
	Cloud   cloud.Provider
	// CPUMillis is what the process may use; it decides how many claims are worked on at once.
	CPUMillis int64
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "nodeclaim.expiration" }

// Register adds the controller to mgr.
func (c *Controller) Register(mgr ctrl.Manager) error {
	return claims.Complete(claims.Over(mgr, c, c.Cloud.Facts(), workers.Number(c.CPUMillis, 10, 100)), c)
}

// Reconcile deletes the claim if its time has come, and otherwise looks again when it comes.
func (c *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	claim, err := claims.GetLive(ctx, c.Client, c.Cloud.Facts(), req)
	if claim == nil {
		return ctrl.Result{}, err
	}
	at, ok := lifecycle.Expiry(claim)
	if !ok {
		return ctrl.Result{}, nil
	}
	if left := at.Sub(c.Clock.Now()); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	_, err = dismiss.Claim(ctx, c.Client, c.Metrics.NodeClaims, claim, string(lifecycle.DeleteExpired))
	return ctrl.Result{}, err
}
