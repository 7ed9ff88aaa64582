package nodepool

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/workers"
)

// RegistrationHealth sets the condition NodeRegistrationHealthy of NodePools from Health. After a change of the NodePool or of
// its node class, the condition is Unknown, because the change may have fixed the problem.
type RegistrationHealth struct {
	Client client.Client
	Clock  clock.PassiveClock
	Cloud  cloud.Provider
	Health *Health
	// CPUMillis is the CPU request of the process, which determines the number of workers.
	CPUMillis int64
}

// Name is the controller's name in logs and metrics.
func (c *RegistrationHealth) Name() string { return "nodepool.registrationhealth" }

// Reconcile writes the condition and the generation of the node class for which it was computed.
func (c *RegistrationHealth) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	pool := &apiv1.NodePool{}
	if err := c.Client.Get(ctx, req.NamespacedName, pool); err != nil {
		if apierrors.IsNotFound(err) {
			return ctrl.Result{}, c.cleanUp(ctx)
		}
		return ctrl.Result{}, fmt.Errorf("get pool %s: %w", req.Name, err)
	}
	facts := c.Cloud.Facts()
	if pool.DeletionTimestamp != nil || !facts.Manages(pool.Spec.Template.Spec.NodeClassRef) {
		return ctrl.Result{}, nil
	}
	class, err := readClass(ctx, c.Client, facts, pool)
	if err != nil {
		return ctrl.Result{}, err
	}
	// A conflict is not repeated with a NodePool read from the API server: Health would be restored from the NodePool in the cache, which may
	// be older, at the next reconcile.
	before := pool.DeepCopy()
	c.diagnose(pool, class)
	return written(act.PatchStatus(ctx, c.Client, before, pool))
}

// diagnose sets the condition of the NodePool. class is nil if it does not exist.
func (c *RegistrationHealth) diagnose(pool *apiv1.NodePool, class classObject) {
	const t = apiv1.ConditionTypeNodeRegistrationHealthy
	now, stored := c.Clock.Now(), condition.Get(pool, t)
	classChanged := class != nil && class.GetGeneration() != pool.Status.NodeClassObservedGeneration
	if stored == nil || stored.ObservedGeneration != pool.Generation || classChanged {
		c.Health.forget(pool.UID)
		condition.SetUnknown(pool, t, condition.ReasonAwaitingReconciliation,
			"No node has registered since the NodePool or its node class changed", now)
		if class != nil {
			pool.Status.NodeClassObservedGeneration = class.GetGeneration()
		}
		return
	}
	d := c.Health.Of(pool.UID)
	switch {
	case !d.Known:
		c.recall(pool.UID, stored)
	case d.Healthy:
		condition.SetTrue(pool, t, now)
	default:
		condition.SetFalse(pool, t, d.Reason, d.Message, now)
	}
}

// recall restores the record of the NodePool in Health from its stored condition after a restart. Status True restores one
// success. Status False restores unhealthyAt failures.
func (c *RegistrationHealth) recall(pool types.UID, stored *metav1.Condition) {
	switch stored.Status {
	case metav1.ConditionTrue:
		c.Health.RecordSuccess(pool)
	case metav1.ConditionFalse:
		for range unhealthyAt {
			c.Health.RecordFailure(pool, stored.Reason, stored.Message)
		}
	}
}

// cleanUp removes the records of deleted NodePools from Health. It compares the records with the existing NodePools, because the
// request for a deleted NodePool has only its name.
func (c *RegistrationHealth) cleanUp(ctx context.Context) error {
	var pools apiv1.NodePoolList
	if err := c.Client.List(ctx, &pools); err != nil {
		return fmt.Errorf("list pools: %w", err)
	}
	uids := make(map[types.UID]bool, len(pools.Items))
	for i := range pools.Items {
		uids[pools.Items[i].UID] = true
	}
	c.Health.retain(uids)
	return nil
}

// Register adds the controller to the manager.
func (c *RegistrationHealth) Register(mgr ctrl.Manager) error {
	b := overPools(mgr, c.Name(), workers.Number(c.CPUMillis, minWorkers, maxWorkers)).
		Watches(&apiv1.NodeClaim{}, handler.EnqueueRequestsFromMapFunc(poolOfClaim), builder.WithPredicates(outcome()))
	if err := watchClasses(b, mgr, c.Cloud.Facts()); err != nil {
		return err
	}
	return b.Complete(c)
}

// outcome selects the changes of a claim after which Health may differ: its node registered, or it is being deleted. Most changes of claims
// are others, and a NodePool that is reconciled for each of them is written again and again while its watch is late.
func outcome() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, ok1 := e.ObjectOld.(*apiv1.NodeClaim)
			after, ok2 := e.ObjectNew.(*apiv1.NodeClaim)
			return ok1 && ok2 && (condition.IsTrue(before, apiv1.ConditionTypeRegistered) != condition.IsTrue(after, apiv1.ConditionTypeRegistered) ||
				before.DeletionTimestamp == nil && after.DeletionTimestamp != nil)
		},
	}
}

// poolOfClaim maps a claim to its pool.
func poolOfClaim(_ context.Context, claim client.Object) []reconcile.Request {
	pool := claim.GetLabels()[apiv1.NodePoolLabelKey]
	if pool == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: pool}}}
}
