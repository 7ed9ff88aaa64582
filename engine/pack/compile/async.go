package compile

import (
	"fmt"
	"runtime"
	"strings"
)

// Async starts work in another goroutine. The caller must call wait before it reads results of work. If work panics,
// wait panics with a *WorkPanic.
func Async(work func()) (wait func()) {
	done := make(chan *WorkPanic, 1)
	go func() {
		defer func() { done <- asWorkPanic(recover()) }()
		work()
	}()
	return func() {
		if failure := <-done; failure != nil {
			panic(failure)
		}
	}
}

// A WorkPanic is a panic of work that Async started.
type WorkPanic struct {
	// Value is the text of the panic value. Stack is the call stack of the goroutine that panicked, see Stack.
	Value, Stack string
}

func (p *WorkPanic) Error() string { return p.Value }

// asWorkPanic returns what a deferred function recovered, nil if it is nil. It must be called by the deferred function.
func asWorkPanic(recovered any) *WorkPanic {
	switch v := recovered.(type) {
	case nil:
		return nil
	case *WorkPanic:
		return v // of work that waited for other work
	default:
		return &WorkPanic{Value: fmt.Sprint(v), Stack: Stack("")}
	}
}

// Stack returns the functions on the call stack, innermost first, without the caller's and without functions of package runtime.
// It ends before the function whose name ends in the given text, unless that is empty, and after 64 frames. So the same panic
// always has the same stack.
func Stack(before string) string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(3, pcs)])
	var b strings.Builder
	for more := true; more; {
		var f runtime.Frame
		if f, more = frames.Next(); before != "" && strings.HasSuffix(f.Function, before) {
			break
		}
		if !strings.HasPrefix(f.Function, "runtime.") {
			fmt.Fprintf(&b, "%s\n\t%s:%d\n", f.Function, f.File, f.Line)
		}
	}
	return b.String()
}
