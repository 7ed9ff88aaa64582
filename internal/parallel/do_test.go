package parallel

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
)

// A panic becomes the error of its item, and is logged with its stack. All other items are processed.
func TestPanicCostsOneItem(t *testing.T) {
	var log strings.Builder
	ctx := logr.NewContext(t.Context(), funcr.New(func(_, args string) { log.WriteString(args) }, funcr.Options{}))
	var done atomic.Int32
	failed := errors.New("failed")
	errs := Do(ctx, 5, 2, func(i int) error {
		switch i {
		case 1:
			panic("map is nil")
		case 3:
			return failed
		}
		done.Add(1)
		return nil
	})
	if done.Load() != 3 || errs[0] != nil || errs[2] != nil || errs[4] != nil || !errors.Is(errs[3], failed) {
		t.Errorf("%d items were done, errors are %v", done.Load(), errs)
	}
	if errs[1] == nil || !strings.Contains(errs[1].Error(), "map is nil") {
		t.Errorf("the error of the item that panicked is %v", errs[1])
	}
	if !strings.Contains(log.String(), "do_test.go") {
		t.Errorf("the log has no stack of the panic: %s", log.String())
	}
}

// Errors are in the order of the functions. A panic becomes an error.
func TestAll(t *testing.T) {
	failed := errors.New("failed")
	errs := All(t.Context(), func() error { return nil }, func() error { return failed }, func() error { panic("nil map") })
	if len(errs) != 3 || errs[0] != nil || !errors.Is(errs[1], failed) || errs[2] == nil {
		t.Errorf("errors are %v", errs)
	}
}

// At most limit calls run at the same time.
func TestLimit(t *testing.T) {
	var now, most atomic.Int32
	Do(t.Context(), 50, 3, func(int) error {
		most.Store(max(most.Load(), now.Add(1)))
		now.Add(-1)
		return nil
	})
	if most.Load() > 3 {
		t.Errorf("%d ran at once, want at most 3", most.Load())
	}
	if errs := Do(t.Context(), 0, 0, nil); len(errs) != 0 {
		t.Errorf("no items have errors %v", errs)
	}
}
