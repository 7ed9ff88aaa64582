// Package parallel calls a function for many items concurrently. A panic becomes the error of the item for which it
// occurs. Otherwise a panic in a goroutine would end the process.
package parallel

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/go-logr/logr"
)

// Do calls do for each i below n, with at most limit calls at the same time, and waits for all. It returns the errors
// by i. A panic is logged with the logger of ctx. A limit of 0 means no limit.
func Do(ctx context.Context, n, limit int, do func(i int) error) []error {
	errs := make([]error, n)
	if limit <= 0 || limit > n {
		limit = n
	}
	slots := make(chan struct{}, max(1, limit))
	var all sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			errs[i] = recovered(ctx, i, do)
		})
	}
	all.Wait()
	return errs
}

// All calls the functions concurrently and waits for them. It returns their errors in the order of the functions, as
// Do does.
func All(ctx context.Context, functions ...func() error) []error {
	return Do(ctx, len(functions), 0, func(i int) error { return functions[i]() })
}

// recovered calls do. If do panics, it returns the panic as an error.
func recovered(ctx context.Context, i int, do func(int) error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v", v)
			logr.FromContextOrDiscard(ctx).Error(err, "internal error: one of several operations failed, the others go on",
				"stack", string(debug.Stack()))
		}
	}()
	return do(i)
}
