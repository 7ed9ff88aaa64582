package periodic

import (
	"context"
	"errors"
	"testing"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

func TestTask(t *testing.T) {
	var err error
	task := Task{Label: "test", Run: func(context.Context) (time.Duration, error) { return time.Minute, err }}
	if task.Name() != "test" {
		t.Errorf("name is %q", task.Name())
	}
	if got, e := task.Reconcile(t.Context(), ctrl.Request{}); got.RequeueAfter != time.Minute || e != nil {
		t.Errorf("comes back in %v, %v", got.RequeueAfter, e)
	}
	err = errors.New("down")
	if got, e := task.Reconcile(t.Context(), ctrl.Request{}); got.RequeueAfter != 0 || e == nil { // the queue backs off
		t.Errorf("after an error: %v, %v", got.RequeueAfter, e)
	}
}
