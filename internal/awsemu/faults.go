package awsemu

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
)

// faults are the injected faults. The newest rule that matches a call applies.
type faults struct {
	clock clock.Clock

	mu        sync.Mutex // guards the rest
	throttles []*bucket
	fails     []*fail
	hangs     []*control.Hang
	// documented is true if EC2's documented buckets apply, too. levels are their levels.
	documented bool
	levels     map[string]level
	released   chan struct{} // closed and replaced when hangs are cleared
}

// A bucket is a token bucket for the calls that match Op.
type bucket struct {
	control.Throttle
	tokens float64
	filled time.Time
}

// A fail is an injected error response.
type fail struct{ control.Fail }

func newFaults(c clock.Clock) *faults {
	return &faults{clock: c, released: make(chan struct{})}
}

// matchesOp reports whether a pattern matches an operation's name, with or without its service.
func matchesOp(pattern string, r *request) bool {
	pattern = strings.ToLower(pattern)
	action := strings.ToLower(r.action)
	return pattern == "" || wire.Match(pattern, action) || wire.Match(pattern, r.service+":"+action)
}

// throttled takes a token for a call and reports whether there was none.
func (f *faults) throttled(r *request) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.clock.Now()
	for _, b := range slices.Backward(f.throttles) {
		if !matchesOp(b.Op, r) {
			continue
		}
		b.tokens = min(float64(b.Burst), b.tokens+b.Rate*now.Sub(b.filled).Seconds())
		b.filled = now
		if b.tokens < 1 {
			return true
		}
		b.tokens--
		return false
	}
	return f.documented && spend(f.levels, draws(r), now)
}

// document switches EC2's documented buckets on or off. All buckets are full then.
func (f *faults) document(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.documented, f.levels = on, map[string]level{}
}

// failure returns the injected error for the call, and false if there is none. If the error was set for a number of times, it
// decrements that number.
func (f *faults) failure(r *request) (fail, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, rule := range slices.Backward(f.fails) {
		if !matchesOp(rule.Op, r) {
			continue
		}
		if rule.Times > 0 {
			rule.Times--
			if rule.Times == 0 {
				f.fails = slices.Delete(f.fails, i, i+1)
			}
		}
		return *rule, true
	}
	return fail{}, false
}

// err returns the error as a response.
func (f fail) err() *wire.Error {
	e := wire.Errorf(f.Code, "%s", f.Message)
	if f.Message == "" {
		e.Message = "This error was ordered by the emulator's user."
	}
	if f.Status != 0 {
		e.Status = f.Status
	}
	return e
}

// hang returns the hang for a call, zero if there is none. If the hang was set for a number of times, it decrements that number.
func (f *faults) hang(r *request) control.Hang {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, rule := range slices.Backward(f.hangs) {
		if !matchesOp(rule.Op, r) || !namesType(r, rule.Type) {
			continue
		}
		out := *rule
		if rule.Times > 0 {
			rule.Times--
			if rule.Times == 0 {
				f.hangs = slices.Delete(f.hangs, i, i+1)
			}
		}
		return out
	}
	return control.Hang{}
}

// namesType reports whether a request has an instance type that matches the pattern. An empty pattern matches every
// request.
func namesType(r *request, pattern string) bool {
	if pattern == "" {
		return true
	}
	for key, values := range r.values {
		if !strings.HasSuffix(key, "InstanceType") {
			continue
		}
		if slices.ContainsFunc(values, func(v string) bool { return wire.Match(pattern, v) }) {
			return true
		}
	}
	return false
}

// wait delays a call. It returns false if the client has disconnected during the delay.
func (f *faults) wait(ctx context.Context, h control.Hang) bool {
	if h.For <= 0 {
		return true
	}
	f.mu.Lock()
	released := f.released
	f.mu.Unlock()
	timer := f.clock.NewTimer(time.Duration(h.For))
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-released:
	case <-ctx.Done():
		return false
	}
	return true
}

// clear removes the rules for operations that op matches, all rules if op is empty. If op matches "ec2", it also ends
// EC2's documented limits. All hanging calls continue at once.
func (f *faults) clear(op string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	same := func(ruleOp string) bool {
		return op == "" || ruleOp == op || wire.Match(strings.ToLower(op), strings.ToLower(ruleOp))
	}
	f.throttles = slices.DeleteFunc(f.throttles, func(b *bucket) bool { return same(b.Op) })
	f.fails = slices.DeleteFunc(f.fails, func(r *fail) bool { return same(r.Op) })
	f.hangs = slices.DeleteFunc(f.hangs, func(h *control.Hang) bool { return same(h.Op) })
	if same(throttleEC2) {
		f.documented = false
	}
	close(f.released)
	f.released = make(chan struct{})
}

// Throttle limits the rate of an operation. Its bucket is full at first.
func (e *Emulator) Throttle(t control.Throttle) {
	if t.Burst <= 0 {
		t.Burst = max(1, int(t.Rate))
	}
	f := e.faults
	f.mu.Lock()
	defer f.mu.Unlock()
	f.throttles = append(f.throttles, &bucket{Throttle: t, tokens: float64(t.Burst), filled: f.clock.Now()})
}

// Fail makes an operation return an error.
func (e *Emulator) Fail(order control.Fail) {
	e.faults.mu.Lock()
	defer e.faults.mu.Unlock()
	e.faults.fails = append(e.faults.fails, &fail{order})
}

// Hang delays the calls of an operation.
func (e *Emulator) Hang(h control.Hang) {
	e.faults.mu.Lock()
	defer e.faults.mu.Unlock()
	e.faults.hangs = append(e.faults.hangs, &h)
}

// ClearFaults ends throttling, errors and hangs of the matching operations. All
// hanging calls continue at once.
func (e *Emulator) ClearFaults(op string) { e.faults.clear(op) }
