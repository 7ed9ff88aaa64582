package expiration

import (
	"context"
	"fmt"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/lifecycle"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/internal/controller/internal/claims"
	"github.com/karpenter-go/karpenter/internal/controller/internal/dismiss"
	"github.com/karpenter-go/karpenter/internal/decisions"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/internal/workers"
)

// A Controller deletes expired claims.
type Controller struct {
	Client  client.Client
	Clock   clock.Clock
	Metrics *telemetry.Metrics
	Cloud   cloud.Provider
	// CPUMillis is the CPU request of the process, which determines the number of workers.
	CPUMillis int64
	// Decisions records the deletions; nil records none.
	Decisions *decisions.Log

	limit deletionLimit
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "nodeclaim.expiration" }

// Register adds the controller to mgr.
func (c *Controller) Register(mgr ctrl.Manager) error {
	return claims.Complete(claims.Over(mgr, c, c.Cloud.Facts(), workers.Number(c.CPUMillis, 10, 100)), c)
}

// Reconcile deletes the claim if it has expired and the limit on deletions allows it. Otherwise Reconcile is repeated at
// the expiry, or when the limit allows the next deletion.
func (c *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	claim, err := claims.GetLive(ctx, c.Client, c.Cloud.Facts(), req)
	if claim == nil {
		return ctrl.Result{}, err
	}
	at, ok := model.ExpiresAt(claim)
	if !ok {
		return ctrl.Result{}, nil
	}
	if left := at.Sub(c.Clock.Now()); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	if !claim.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	var all apiv1.NodeClaimList
	if err := c.Client.List(ctx, &all, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, fmt.Errorf("list claims: %w", err)
	}
	staying, leaving := countClaims(all.Items)
	if wait := c.limit.take(claim.UID, c.Clock.Now(), staying, leaving); wait > 0 {
		ctrl.LoggerFrom(ctx).V(1).Info("expiry postponed, many nodeclaims expire at once", "wait", wait.String())
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	if _, leaves := c.Decisions.Expects(claim.Name); !leaves && c.Decisions != nil {
		c.Decisions.Begin(decisions.Removed(decisions.KindExpiration, "Expired",
			fmt.Sprintf("spec.expireAfter of the NodeClaim (%s) has elapsed", units.Period(*claim.Spec.ExpireAfter.Duration)), claim))
	}
	_, err = dismiss.Claim(ctx, c.Client, c.Metrics.NodeClaims, claim, string(lifecycle.DeleteExpired))
	return ctrl.Result{}, err
}

// countClaims returns the number of claims that are not being deleted, and the expired claims that are being deleted.
func countClaims(all []apiv1.NodeClaim) (staying int, leaving []deletion) {
	for i := range all {
		claim := &all[i]
		if claim.DeletionTimestamp.IsZero() {
			staying++
		} else if at, ok := model.ExpiresAt(claim); ok && !claim.DeletionTimestamp.Time.Before(at) {
			leaving = append(leaving, deletion{claim.UID, claim.DeletionTimestamp.Time})
		}
	}
	return staying, leaving
}
