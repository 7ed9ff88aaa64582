package periodic

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// A failing task is retried with increasing delay. It logs each error once, and its recovery once.
func TestTask(t *testing.T) {
	var err error
	var lines []string
	ctx := log.IntoContext(t.Context(), funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}))
	task := Task{Label: "test", Run: func(context.Context) (time.Duration, error) { return time.Minute, err }}
	if task.Name() != "test" {
		t.Errorf("name is %q", task.Name())
	}
	loop := &running{task: task}
	run := func() time.Duration {
		t.Helper()
		got, e := loop.Reconcile(ctx, ctrl.Request{})
		if e != nil {
			t.Fatal(e)
		}
		return got.RequeueAfter
	}
	if got := run(); got != time.Minute {
		t.Errorf("comes back in %v", got)
	}
	err = errors.New("down")
	var pauses []time.Duration
	for range 12 {
		pauses = append(pauses, run())
	}
	if pauses[0] != time.Second || pauses[1] != 2*time.Second || pauses[11] != 5*time.Minute || len(lines) != 1 {
		t.Errorf("pauses are %v, lines %v", pauses, lines)
	}
	for len(lines) == 1 && len(pauses) < 40 {
		pauses = append(pauses, run())
	}
	var passed time.Duration
	for _, p := range pauses[:len(pauses)-1] {
		passed += p
	}
	if passed < time.Hour || passed > time.Hour+5*time.Minute || len(lines) != 2 {
		t.Errorf("the same error is logged again after %v, want an hour; lines %v", passed, lines)
	}
	lines = lines[:1]
	err = errors.New("down in another way")
	run()
	err = nil
	if got := run(); got != time.Minute || len(lines) != 3 || !strings.Contains(lines[2], "recovered") {
		t.Errorf("afterwards it comes back in %v; lines %v", got, lines)
	}
	err = errors.New("down")
	if got := run(); got != time.Second {
		t.Errorf("a new failure waits %v", got)
	}
	if _, e := task.Reconcile(ctx, ctrl.Request{}); e == nil {
		t.Error("a single run hides its error")
	}
}

// A task that is interrupted by the end of the process logs nothing.
func TestCutOff(t *testing.T) {
	var lines []string
	ctx := log.IntoContext(t.Context(), funcr.New(func(_, line string) { lines = append(lines, line) }, funcr.Options{}))
	ctx, stop := context.WithCancel(ctx)
	stop()
	loop := &running{task: Task{Label: "test", Run: func(ctx context.Context) (time.Duration, error) { return 0, ctx.Err() }}}
	if _, err := loop.Reconcile(ctx, ctrl.Request{}); err != nil || len(lines) != 0 {
		t.Errorf("error %v, lines %v", err, lines)
	}
}
