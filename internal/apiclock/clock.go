// Package apiclock provides the clock for ages of API objects.
//
// Ages are differences between the clock of this machine and timestamps of the API server. If this machine's clock jumped
// forward, all nodes would seem to be expired, and all launches overdue. So this machine's clock is compared with the date
// in each response of the API server. While this machine's clock is ahead by more than Tolerance, the API server's time is
// used. So nothing is deleted because of its age before it is old enough by both clocks, within Tolerance.
//
// State may be lost, because the next response of the API server restores it.
package apiclock

import (
	"net/http"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

// Tolerance is the accepted difference between the two clocks.
const Tolerance = 30 * time.Second

// A Clock is the clock of this machine. While that is ahead of the API server's clock by more than Tolerance, it is the API
// server's clock. Timers are those of this machine. It is safe for concurrent use.
type Clock struct {
	clock.WithDelayedExecution
	Log logr.Logger

	mu sync.Mutex
	// server is the API server's time when this machine's clock had the time local. Both are zero before the first
	// response.
	server, local time.Time
	// offset is how far this machine's clock was ahead at the last response, negative if it was behind.
	offset time.Duration
	// report is called with the offset in seconds.
	report func(float64)
}

// New returns a Clock that uses c alone until the first response of the API server.
func New(c clock.WithDelayedExecution, log logr.Logger) *Clock {
	return &Clock{WithDelayedExecution: c, Log: log}
}

// Now returns the time of this machine, or that of the API server if it is earlier by more than Tolerance.
func (c *Clock) Now() time.Time {
	now := c.WithDelayedExecution.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server.IsZero() {
		return now
	}
	// Sub uses the monotonic clock, so a jump of the clock since the last response does not count as elapsed time.
	server := c.server.Add(now.Sub(c.local))
	if now.Round(0).Sub(server) > Tolerance {
		return server
	}
	return now
}

// Since returns how long ago t was.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Report sets f as the function that is called with the offset in seconds whenever it is measured, and calls it once with
// the last offset.
func (c *Clock) Report(f func(float64)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.report = f
	f(c.offset.Seconds())
}

// Wrap returns a RoundTripper that compares the date of each response of next with the clock.
func (c *Clock) Wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		start := c.WithDelayedExecution.Now()
		answer, err := next.RoundTrip(r)
		if err == nil {
			if date, parseErr := http.ParseTime(answer.Header.Get("Date")); parseErr == nil {
				c.observe(date, start)
			}
		}
		return answer, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// observe compares the clocks by a response with the given date to a request that began at start. The date is in whole
// seconds. So when the API server answered, its clock was between date and one second later. The answer was sent at
// most the duration of the request ago.
func (c *Clock) observe(date, start time.Time) {
	now := c.WithDelayedExecution.Now()
	latest := date.Add(time.Second + now.Sub(start))
	offset := time.Duration(0)
	switch wall := now.Round(0); {
	case wall.Before(date):
		offset = wall.Sub(date)
	case wall.After(latest):
		offset = wall.Sub(latest)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if differed, differs := beyond(c.offset), beyond(offset); differs != differed {
		if differs {
			c.Log.Info("clock differs from the API server's, the earlier time counts for ages and deadlines", "offset", offset.String())
		} else {
			c.Log.Info("clock agrees with the API server's again")
		}
	}
	c.server, c.local, c.offset = now.Round(0).Add(-offset), now, offset
	if c.report != nil {
		c.report(offset.Seconds())
	}
}

func beyond(offset time.Duration) bool { return offset.Abs() > Tolerance }
