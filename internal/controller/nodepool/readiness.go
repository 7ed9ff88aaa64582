package nodepool

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/workers"
)

// Readiness sets the condition NodeClassReady of pools from the Ready condition of their node class.
type Readiness struct {
	Client client.Client
	// Live reads NodePools from the API server after a conflict, see writeStatus. If it is nil, Client is used.
	Live  client.Reader
	Clock clock.PassiveClock
	Cloud cloud.Provider
	// CPUMillis is the CPU request of the process, which determines the number of workers.
	CPUMillis int64
}

// Name is the controller's name in logs and metrics.
func (c *Readiness) Name() string { return "nodepool.readiness" }

// Reconcile writes the readiness of the NodePool's node class to the NodePool's status.
func (c *Readiness) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	pool, err := get(ctx, c.Client, c.Cloud.Facts(), req)
	if pool == nil {
		return ctrl.Result{}, err
	}
	return writeStatus(ctx, c.Client, c.Live, pool, func(pool *apiv1.NodePool) error {
		class, err := readClass(ctx, c.Client, c.Cloud.Facts(), pool)
		if err != nil {
			return err
		}
		said := judgeClass(class, pool.Spec.Template.Spec.NodeClassRef)
		if said.Status == metav1.ConditionTrue {
			condition.SetTrue(pool, apiv1.ConditionTypeNodeClassReady, c.Clock.Now())
		} else {
			condition.SetFalse(pool, apiv1.ConditionTypeNodeClassReady, said.Reason, said.Message, c.Clock.Now())
		}
		return nil
	})
}

// readClass returns the node class of the pool, or nil if there is none.
func readClass(
	ctx context.Context, c client.Client, facts cloud.Facts, pool *apiv1.NodePool,
) (classObject, error) {
	ref := pool.Spec.Template.Spec.NodeClassRef
	class, err := newClass(c.Scheme(), facts, ref)
	if err != nil {
		return nil, err
	}
	if err := c.Get(ctx, client.ObjectKey{Name: ref.Name}, readable(class)); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("get node class %s: %w", ref.Name, err)
	}
	return class, nil
}

// judgeClass returns the condition NodeClassReady, which is whether claims can be launched with the class. class is nil if it
// does not exist. The status is True, or False with a reason and a message.
func judgeClass(class classObject, ref *apiv1.NodeClassReference) metav1.Condition {
	no := func(reason, message string) metav1.Condition {
		return metav1.Condition{Status: metav1.ConditionFalse, Reason: reason, Message: message}
	}
	if class == nil {
		return no(apiv1.ReasonNodeClassNotFound, fmt.Sprintf("%s %s does not exist", ref.Kind, ref.Name))
	}
	if class.GetDeletionTimestamp() != nil {
		return no(apiv1.ReasonNodeClassTerminating, fmt.Sprintf("%s %s is being deleted", ref.Kind, ref.Name))
	}
	ready := condition.Get(class, class.StatusConditions().Root)
	switch {
	case ready == nil || ready.Status == metav1.ConditionUnknown:
		return no(apiv1.ReasonNodeClassReadinessUnknown,
			fmt.Sprintf("Condition %s of %s %s is Unknown%s", class.StatusConditions().Root, ref.Kind, ref.Name,
				cause(class, metav1.ConditionUnknown)))
	case ready.Status == metav1.ConditionFalse:
		return no(ready.Reason, fmt.Sprintf("%s %s is not ready%s", ref.Kind, ref.Name,
			cmp.Or(cause(class, metav1.ConditionFalse), after(ready.Message))))
	}
	return metav1.Condition{Status: metav1.ConditionTrue}
}

// cause returns a text about the first condition with the given status and a message. It considers the conditions on which the
// class's condition Ready depends. The text is to be appended to a sentence.
func cause(class classObject, status metav1.ConditionStatus) string {
	for _, name := range class.StatusConditions().Dependents {
		if d := condition.Get(class, name); d != nil && d.Status == status && d.Message != "" && d.Message != d.Reason {
			return after(name + ": " + d.Message)
		}
	}
	return ""
}

func after(text string) string {
	if text == "" {
		return ""
	}
	return ": " + text
}

// Register adds the controller to the manager.
func (c *Readiness) Register(mgr ctrl.Manager) error {
	b := overPools(mgr, c.Name(), workers.Number(c.CPUMillis, minWorkers, maxWorkers))
	if err := watchClasses(b, mgr, c.Cloud.Facts()); err != nil {
		return err
	}
	return b.Complete(c)
}
