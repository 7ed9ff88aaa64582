package awsemu

import (
	"slices"
	"sync"
	"time"

	"github.com/karpenter-go/karpenter/internal/awsemu/control"
)

// maxCalls is the maximum number of stored calls; the oldest are removed first.
const maxCalls = 200_000

// calls records requests in the order of their arrival.
type calls struct {
	mu   sync.Mutex // guards the rest
	list []*control.Call
	last int64
}

// begin records a request that has arrived. Its status is 0 until end.
func (c *calls) begin(r *request, now time.Time) *control.Call {
	call := &control.Call{
		Time: now, Service: r.service, Action: r.action, Params: r.params(),
		RequestID: r.id, UserAgent: r.http.UserAgent(),
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last++
	call.Seq = c.last
	if len(c.list) >= maxCalls {
		c.list = slices.Delete(c.list, 0, maxCalls/10)
	}
	c.list = append(c.list, call)
	return call
}

// end records the status and the error code of the response.
func (c *calls) end(call *control.Call, status int, code string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	call.Status, call.Code = status, code
}

// since returns the calls with a number greater than seq, oldest first.
func (c *calls) since(seq int64) []control.Call {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]control.Call, 0, len(c.list))
	for _, call := range c.list {
		if call.Seq > seq {
			out = append(out, *call)
		}
	}
	return out
}

// reset removes the calls. The numbers continue, so that a reader can still request the calls after a number.
func (c *calls) reset() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = nil
}

// Calls returns the calls with numbers greater than since, oldest first. A call without a response yet has status 0.
func (e *Emulator) Calls(since int64) []control.Call { return e.calls.since(since) }
