package decisionlog

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/controller/internal/claims"
	"github.com/karpenter-go/karpenter/internal/decisions"
)

// Effects records the effects of decisions on NodeClaims. It compares only the current state with the log. So it also records
// changes that happened while no process ran.
type Effects struct {
	Client client.Client
	Clock  clock.PassiveClock
	Cloud  cloud.Provider
	Log    *decisions.Log
}

// Name is the controller's name in logs and metrics.
func (c *Effects) Name() string { return "decisionlog.effects" }

// Register adds the controller to mgr.
func (c *Effects) Register(mgr ctrl.Manager) error {
	return claims.Complete(claims.Over(mgr, c, c.Cloud.Facts(), 1), c)
}

// Reconcile records the effects on one NodeClaim.
func (c *Effects) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return ctrl.Result{}, look(ctx, c.Client, c.Log, c.Clock.Now(), req.Name)
}

// look records the effects that the current state of the named NodeClaim shows.
func look(ctx context.Context, r client.Reader, log *decisions.Log, now time.Time, name string) error {
	object := decisions.ClaimObject(name)
	var claim apiv1.NodeClaim
	err := r.Get(ctx, client.ObjectKey{Name: name}, &claim)
	if apierrors.IsNotFound(err) {
		log.Note(name, decisions.EffectTerminated, object, "")
		return nil
	}
	if err != nil {
		return fmt.Errorf("read claim %s: %w", name, err)
	}
	for _, step := range []struct {
		condition string
		kind      decisions.EffectKind
	}{
		{apiv1.ConditionTypeLaunched, decisions.EffectLaunched},
		{apiv1.ConditionTypeRegistered, decisions.EffectRegistered},
		{apiv1.ConditionTypeInitialized, decisions.EffectInitialized},
	} {
		if condition.IsTrue(&claim, step.condition) {
			log.Note(name, step.kind, object, "")
		}
	}
	launches, removes := log.Expects(name)
	if claim.DeletionTimestamp.IsZero() {
		if removes && !condition.IsTrue(&claim, apiv1.ConditionTypeDisruptionReason) && now.Sub(log.RemovedSince(name)) > forgotten {
			log.Note(name, decisions.EffectCancelled, object, "The node was not deleted, and is no longer marked for disruption")
		}
		return nil
	}
	if !launches && !removes {
		log.Begin(decisions.Removed(decisions.KindDeletion, "Deleted", "the NodeClaim was deleted, but not by a decision of Karpenter", &claim))
	}
	log.Note(name, decisions.EffectTerminating, object, "")
	return nil
}

// forgotten is how long after the start of a disruption it counts as cancelled if the claim does not have the condition
// DisruptionReason. It is longer than the maximum time that a disruption waits for its replacements.
const forgotten = 15 * time.Minute
