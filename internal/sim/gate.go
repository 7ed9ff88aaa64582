package sim

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-go/karpenter/internal/operator"
)

// gated is a controller whose reconciliations begin one after another, each in a step of the driver. Otherwise the workers of all
// controllers that have work at the same virtual time would run at once. The order of what they put in queues and caches would
// then depend on how the Go runtime switches between goroutines, which depends on the speed of the machine.
type gated struct {
	operator.Controller
	driver  *Driver
	replica string
}

// Register implements operator.Controller.
func (g gated) Register(mgr ctrl.Manager) error { return g.Controller.Register(gatedManager{mgr, g}) }

// gatedManager puts a gate in front of the reconcilers of the controllers that are added to it.
type gatedManager struct {
	ctrl.Manager
	gated gated
}

// Add implements manager.Manager.
func (m gatedManager) Add(r manager.Runnable) error {
	if err := m.gated.install(r); err != nil {
		return err
	}
	return m.Manager.Add(r)
}

// install puts a gate in front of the reconciler of r if r is a controller of controller-runtime. Its type is not exported, so the
// field with the reconciler is found by its name.
func (g gated) install(r manager.Runnable) error {
	v := reflect.ValueOf(r)
	if !strings.HasPrefix(v.Type().String(), "*controller.Controller[") {
		return nil
	}
	do := v.Elem().FieldByName("Do")
	if !do.IsValid() || !do.CanSet() {
		return fmt.Errorf("controller %s: %s has no field Do", g.Name(), v.Type())
	}
	next, ok := do.Interface().(reconcile.Reconciler)
	if !ok {
		return fmt.Errorf("controller %s: its requests are not reconcile.Request", g.Name())
	}
	do.Set(reflect.ValueOf(gate{next, g}))
	return nil
}

// A gate is a reconciler that waits for a step of the driver before it begins.
type gate struct {
	next  reconcile.Reconciler
	gated gated
}

// Reconcile implements reconcile.Reconciler.
func (g gate) Reconcile(ctx context.Context, r reconcile.Request) (reconcile.Result, error) {
	turn := make(chan struct{})
	d := g.gated.driver
	d.Arrive(g.gated.replica+" reconcile "+g.gated.Name()+" "+r.String(), func() { d.After(0, func() { close(turn) }) })
	select {
	case <-turn:
	case <-ctx.Done():
	}
	return g.next.Reconcile(ctx, r)
}
