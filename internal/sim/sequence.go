package sim

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-go/karpenter/internal/operator"
)

// sequenced is a controller whose reconciliations begin one after another, each in a step of the driver. Otherwise the workers of all
// controllers that have work at the same virtual time would run at once. The order of what they put in queues and caches would
// then depend on how the Go runtime switches between goroutines, which depends on the speed of the machine.
type sequenced struct {
	operator.Controller
	driver  *Driver
	replica string
}

// Register implements operator.Controller.
func (c sequenced) Register(mgr ctrl.Manager) error {
	return c.Controller.Register(sequencedManager{mgr, c})
}

// A sequencedManager changes the reconcilers of the controllers that are added to it.
type sequencedManager struct {
	ctrl.Manager
	controller sequenced
}

// Add implements manager.Manager.
func (m sequencedManager) Add(r manager.Runnable) error {
	if err := m.controller.install(r); err != nil {
		return err
	}
	return m.Manager.Add(r)
}

// install changes the reconciler of r if r is a controller of controller-runtime. Its type is not exported, so the field with the
// reconciler is found by its name.
func (c sequenced) install(r manager.Runnable) error {
	v := reflect.ValueOf(r)
	if !strings.HasPrefix(v.Type().String(), "*controller.Controller[") {
		return nil
	}
	do := v.Elem().FieldByName("Do")
	if !do.IsValid() || !do.CanSet() {
		return fmt.Errorf("controller %s: %s has no field Do", c.Name(), v.Type())
	}
	next, ok := do.Interface().(reconcile.Reconciler)
	if !ok {
		return fmt.Errorf("controller %s: its requests are not reconcile.Request", c.Name())
	}
	do.Set(reflect.ValueOf(sequencedReconciler{next, c}))
	return c.unmeasured(v.Elem().FieldByName("NewQueue"))
}

// A newQueue makes the queue of a controller.
type newQueue = func(string, workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request]

// unmeasured changes the field NewQueue of a controller so that its queue has no name, and thus no metrics. These are computed twice a
// second, for each of some fifty queues, which takes a tenth of the time of a quiet simulation.
func (c sequenced) unmeasured(field reflect.Value) error {
	made, ok := field.Interface().(newQueue)
	if !ok {
		return fmt.Errorf("controller %s: NewQueue is %s", c.Name(), field.Type())
	}
	var unnamed newQueue = func(_ string, l workqueue.TypedRateLimiter[reconcile.Request]) workqueue.TypedRateLimitingInterface[reconcile.Request] {
		return made("", l)
	}
	field.Set(reflect.ValueOf(unnamed))
	return nil
}

// A sequencedReconciler is a reconciler that waits for a step of the driver before it begins.
type sequencedReconciler struct {
	next       reconcile.Reconciler
	controller sequenced
}

// Reconcile implements reconcile.Reconciler.
func (s sequencedReconciler) Reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	turn := make(chan struct{})
	d := s.controller.driver
	d.Arrive(s.controller.replica+" reconcile "+s.controller.Name()+" "+r.String(), func() { d.After(0, func() { close(turn) }) })
	select {
	case <-turn:
	case <-ctx.Done():
	}
	return s.next.Reconcile(ctx, r)
}
