package periodic

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// A Task is work that repeats, one run at a time.
type Task struct {
	// Label is the controller's name in logs and metrics.
	Label string
	// Run does the work once and says after how long it is due again. After an error it is repeated with back-off.
	Run func(ctx context.Context) (next time.Duration, err error)
}

// Name is the controller's name.
func (t Task) Name() string { return t.Label }

// Reconcile runs the task once. The request does not matter.
func (t Task) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	next, err := t.Run(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: next}, nil
}

// Register adds the task to mgr. It runs first when the manager becomes leader.
func (t Task) Register(mgr ctrl.Manager) error {
	c, err := controller.New(t.Label, mgr, controller.Options{Reconciler: t, MaxConcurrentReconciles: 1})
	if err != nil {
		return fmt.Errorf("create controller %s: %w", t.Label, err)
	}
	once := source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		queue.Add(reconcile.Request{NamespacedName: types.NamespacedName{Name: t.Label}})
		return nil
	})
	if err := c.Watch(once); err != nil {
		return fmt.Errorf("start controller %s: %w", t.Label, err)
	}
	return nil
}
