package disruptionstatus

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/lifecycle"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/controller/internal/claims"
)

// driftPeriod is the interval between two checks for drift.
const driftPeriod = 5 * time.Minute

// A Controller sets the conditions Consolidatable and Drifted of claims.
type Controller struct {
	Client client.Client
	Clock  clock.Clock
	Cloud  cloud.Provider
	// CPUMillis is the CPU request of the process, which determines the number of workers.
	CPUMillis int64
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "nodeclaim.disruption" }

// Reconcile updates the conditions of one claim. It skips a claim whose NodePool does not exist, or that has no label of a
// NodePool.
func (c *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	claim, err := claims.GetLive(ctx, c.Client, c.Cloud.Facts(), req)
	if claim == nil {
		return ctrl.Result{}, err
	}
	name := claim.Labels[apiv1.NodePoolLabelKey]
	if name == "" {
		return ctrl.Result{}, nil
	}
	pool := &apiv1.NodePool{}
	if err := c.Client.Get(ctx, types.NamespacedName{Name: name}, pool); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}

	before := claim.DeepCopy()
	wait := c.setConsolidatable(claim, pool)
	driftWait, driftErr := c.setDrifted(ctx, claim, pool)
	if wait == 0 || driftWait > 0 && driftWait < wait {
		wait = driftWait
	}
	err = act.PatchStatus(ctx, c.Client, before, claim)
	if !act.Conflict(err) {
		err = errors.Join(driftErr, err)
	}
	return claims.Result(ctrl.Result{RequeueAfter: wait}, err)
}

// setConsolidatable sets or clears the condition Consolidatable. It returns the delay until the condition will become true, zero
// if that does not depend on time.
func (c *Controller) setConsolidatable(claim *apiv1.NodeClaim, pool *apiv1.NodePool) time.Duration {
	if pool.Spec.Replicas != nil {
		condition.Clear(claim, apiv1.ConditionTypeConsolidatable) // a static pool keeps its number of nodes
		return 0
	}
	yes, wait := lifecycle.Consolidatable(claim, pool, c.Clock.Now())
	if yes || wait > 0 && consolidationRequested(claim, pool, c.Clock.Now()) {
		condition.SetTrue(claim, apiv1.ConditionTypeConsolidatable, c.Clock.Now())
	} else {
		condition.Clear(claim, apiv1.ConditionTypeConsolidatable)
	}
	return wait
}

// consolidationRequested reports whether a user has requested consolidation after the last pod event of the claim's node or, if
// there was none, after its initialization.
func consolidationRequested(claim *apiv1.NodeClaim, pool *apiv1.NodePool, now time.Time) bool {
	since := claim.Status.LastPodEventTime.Time
	if initialized := condition.Get(claim, apiv1.ConditionTypeInitialized); since.IsZero() && initialized != nil {
		since = initialized.LastTransitionTime.Time
	}
	return lifecycle.ConsolidationRequested(pool, since, now)
}

// ReasonRequested is the reason of the condition Drifted if a user has requested the disruption of the node.
const ReasonRequested = "DisruptionRequested"

// setDrifted sets or clears the condition Drifted and returns the delay until the next check. If the check fails, the
// condition is not changed. The delay is zero if the claim is not launched, or if an error is returned.
func (c *Controller) setDrifted(
	ctx context.Context, claim *apiv1.NodeClaim, pool *apiv1.NodePool,
) (wait time.Duration, err error) {
	if !condition.IsTrue(claim, apiv1.ConditionTypeLaunched) {
		condition.Clear(claim, apiv1.ConditionTypeDrifted)
		return 0, nil
	}
	reason, err := c.drift(ctx, claim, pool)
	var unresolved *cloud.NodeClassNotReadyError
	switch {
	case errors.As(err, &unresolved):
		return driftPeriod, nil // the NodePool's status reports the error; a change of the class triggers a reconcile
	case errors.Is(err, cloud.ErrNotFound):
		return driftPeriod, nil // as just after a launch; garbage collection finds claims whose instance is gone
	case err != nil:
		return 0, err
	case reason == "":
		condition.Clear(claim, apiv1.ConditionTypeDrifted)
	default:
		condition.SetTrueWithReason(claim, apiv1.ConditionTypeDrifted, reason, reason, c.Clock.Now())
	}
	return driftPeriod, nil
}

// drift returns the reason why the claim has drifted, "" if it has not. The checks are in the order of their cost: a
// request of a user, the NodePool, the instance types (for claims older than lifecycle.TypeDriftAge), the provider.
func (c *Controller) drift(ctx context.Context, claim *apiv1.NodeClaim, pool *apiv1.NodePool) (string, error) {
	now, aliases := c.Clock.Now(), c.Cloud.Facts().Labels.Aliases
	if claim.Annotations[apiv1.DisruptionRequestedAnnotationKey] != "" {
		return ReasonRequested, nil
	}
	if reason := lifecycle.Drift(claim, pool, nil, aliases, now); reason != "" {
		return reason, nil
	}
	if now.Sub(claim.CreationTimestamp.Time) >= lifecycle.TypeDriftAge {
		types, err := c.Cloud.InstanceTypes(ctx, pool)
		if err != nil {
			return "", fmt.Errorf("list instance types of pool %s: %w", pool.Name, err)
		}
		if reason := lifecycle.Drift(claim, pool, types, aliases, now); reason != "" {
			return reason, nil
		}
	}
	reason, err := c.Cloud.Drift(ctx, claim)
	if err != nil {
		return "", fmt.Errorf("check drift of claim %s: %w", claim.Name, err)
	}
	return string(reason), nil
}
