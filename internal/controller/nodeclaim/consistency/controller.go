package consistency

import (
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/lifecycle"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/controller/internal/claims"
	"github.com/karpenter-go/karpenter/internal/controller/internal/lookup"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/internal/workers"
)

// period is the maximum interval between two reconciles of a claim.
const period = 10 * time.Minute

// A Controller compares nodes with their claims.
type Controller struct {
	Client client.Client
	Clock  clock.Clock
	Events telemetry.Recorder
	Cloud  cloud.Provider
	// CPUMillis is the CPU request of the process, which determines the number of workers.
	CPUMillis int64
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "nodeclaim.consistency" }

// Register adds the controller to mgr.
func (c *Controller) Register(mgr ctrl.Manager) error {
	facts := c.Cloud.Facts()
	b := claims.Over(mgr, c, facts, workers.Number(c.CPUMillis, 10, 1000)).
		Watches(&corev1.Node{}, lookup.FromNode(c.Client, facts), builder.WithPredicates(capacityChanged()))
	return claims.Complete(b, c)
}

// capacityChanged selects new nodes, and updates of nodes whose capacity has changed.
func capacityChanged() predicate.Predicate {
	return predicate.Funcs{
		DeleteFunc: func(event.DeleteEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok1 := e.ObjectOld.(*corev1.Node)
			after, ok2 := e.ObjectNew.(*corev1.Node)
			return ok1 && ok2 && !equality.Semantic.DeepEqual(before.Status.Capacity, after.Status.Capacity)
		},
	}
}

// Reconcile compares one claim with its node, if the node is initialized. Before its initialization, a node may not report
// all resources.
func (c *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	claim, err := claims.GetLive(ctx, c.Client, c.Cloud.Facts(), req)
	if claim == nil || !condition.IsTrue(claim, apiv1.ConditionTypeInitialized) {
		return ctrl.Result{}, err
	}
	nodes, err := lookup.NodesOf(ctx, c.Client, claim)
	if err != nil {
		return ctrl.Result{}, err
	}
	if len(nodes) != 1 {
		return ctrl.Result{RequeueAfter: period}, nil
	}

	before := claim.DeepCopy()
	c.compare(claim, nodes[0])
	return claims.Result(ctrl.Result{RequeueAfter: period}, act.PatchStatus(ctx, c.Client, before, claim))
}

// compare sets the condition ConsistentStateFound, and publishes an event for every resource that is too small.
func (c *Controller) compare(claim *apiv1.NodeClaim, node *corev1.Node) {
	missing := lifecycle.Shortfall(claim, node)
	if len(missing) == 0 {
		condition.SetTrue(claim, apiv1.ConditionTypeConsistentStateFound, c.Clock.Now())
		return
	}
	for _, m := range missing {
		c.Events.Publish(telemetry.Event{
			Object: claim, Type: corev1.EventTypeWarning, Reason: telemetry.EventFailedConsistencyCheck,
			Message: m, Dedupe: []string{string(claim.UID), m},
		})
	}
	condition.SetFalse(claim, apiv1.ConditionTypeConsistentStateFound, apiv1.ReasonConsistencyCheckFailed,
		strings.Join(missing, "; "), c.Clock.Now())
}
