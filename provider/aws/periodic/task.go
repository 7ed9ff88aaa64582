package periodic

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/provider/aws/fault"
)

// A Task is repeated work. Its runs do not overlap.
type Task struct {
	// Label is the controller's name in logs and metrics.
	Label string
	// Run does the work once and returns the time until the next run. After an error, Run is called again, with
	// increasing pauses.
	Run func(ctx context.Context) (next time.Duration, err error)
}

// Name is the controller's name.
func (t Task) Name() string { return t.Label }

// Reconcile runs the task once. The request is ignored. After an error, it requeues with increasing pauses. An error is
// logged when it first occurs, when its text changes, and once an hour, so that it is found in the recent log. The first
// success after errors is logged as well.
func (t *running) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	next, err := t.task.Run(ctx)
	switch {
	case err == nil:
		if t.last.Succeeded() {
			log.FromContext(ctx).Info("periodic task recovered", "task", t.task.Label)
		}
		t.pause = 0
		return ctrl.Result{RequeueAfter: next}, nil
	case ctx.Err() != nil:
		return ctrl.Result{}, nil // the process is stopping
	}
	t.pause = min(max(2*t.pause, retryFirst), retryLongest)
	if text := fault.Brief(err); t.last.Failed(text, t.pause) {
		log.FromContext(ctx).Error(errors.New(text), "periodic task failed, retrying", "task", t.task.Label, "next-retry", t.pause)
	}
	return ctrl.Result{RequeueAfter: t.pause}, nil
}

// The pause after an error, which doubles from the first to the longest.
const (
	retryFirst   = time.Second
	retryLongest = 5 * time.Minute
)

// running is a task with the state of its last run.
type running struct {
	task  Task
	last  telemetry.LastError
	pause time.Duration
}

// Reconcile runs the task once and returns its error. It is for tests and other callers without a manager.
func (t Task) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	next, err := t.Run(ctx)
	return ctrl.Result{RequeueAfter: next}, err
}

// Register adds the task to mgr. The first run is when the manager becomes leader.
func (t Task) Register(mgr ctrl.Manager) error {
	c, err := controller.New(t.Label, mgr, controller.Options{Reconciler: &running{task: t}, MaxConcurrentReconciles: 1})
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
