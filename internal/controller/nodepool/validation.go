package nodepool

import (
	"context"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
)

// validationWorkers does not depend on the CPU of the process, because validation makes no slow calls.
const validationWorkers = 10

// Validation sets the condition ValidationSucceeded of NodePools. It checks the rules that the schema of the CRD cannot
// express.
type Validation struct {
	Client client.Client
	// Live reads NodePools from the API server after a conflict, see writeStatus. If it is nil, Client is used.
	Live  client.Reader
	Clock clock.PassiveClock
	Cloud cloud.Provider
}

// Name is the controller's name in logs and metrics.
func (c *Validation) Name() string { return "nodepool.validation" }

// Reconcile validates the spec of the NodePool. The message of the condition has all mistakes.
func (c *Validation) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	facts := c.Cloud.Facts()
	pool, err := get(ctx, c.Client, facts, req)
	if pool == nil {
		return ctrl.Result{}, err
	}
	now, rules := c.Clock.Now(), apiv1.CoreLabels().With(facts.Labels)
	return writeStatus(ctx, c.Client, c.Live, pool, func(pool *apiv1.NodePool) error {
		if mistakes := pool.Validate(rules); mistakes != nil {
			condition.SetFalse(pool, apiv1.ConditionTypeValidationSucceeded,
				apiv1.ReasonNodePoolValidationFailed, mistakes.Error(), now)
		} else if condition.SetTrue(pool, apiv1.ConditionTypeValidationSucceeded, now) {
			warn(ctx, pool, rules)
		}
		return nil
	})
}

// warn logs the required values that no node can have. They are not mistakes, because one manifest may be for several providers.
func warn(ctx context.Context, pool *apiv1.NodePool, rules apiv1.LabelRules) {
	for _, r := range pool.Spec.Template.Spec.Requirements {
		if unknown := apiv1.UnknownValues(r, rules); len(unknown) > 0 {
			ctrl.LoggerFrom(ctx).Info("ignoring requirement values that no node has", "key", r.Key, "values", unknown)
		}
	}
}

// Register adds the controller to the manager.
func (c *Validation) Register(mgr ctrl.Manager) error {
	return overPools(mgr, c.Name(), validationWorkers).Complete(c)
}
