package apiclock

import (
	"net/http"
	"testing"
	"time"

	"github.com/go-logr/logr"
	clocktesting "k8s.io/utils/clock/testing"
)

var start = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// server is an API server with its own time. Its response takes some time.
type server struct {
	machine *clocktesting.FakeClock
	now     time.Time
	takes   time.Duration
}

func (s *server) RoundTrip(*http.Request) (*http.Response, error) {
	date := s.now.UTC().Format(http.TimeFormat)
	s.machine.Step(s.takes)
	return &http.Response{Header: http.Header{"Date": {date}}}, nil
}

// If two clocks differ by more than the tolerance, the earlier time is used.
func TestEarlierClockCounts(t *testing.T) {
	for _, tt := range []struct {
		name   string
		ahead  time.Duration // how far this machine's clock is ahead
		takes  time.Duration // duration of the request
		want   time.Time
		offset float64
	}{
		{"they agree", 0, 0, start, 0},
		{"a slow answer is no difference", 0, 50 * time.Second, start.Add(50 * time.Second), 0},
		{"within the tolerance", 20 * time.Second, 0, start.Add(20 * time.Second), 19},
		{"this one is ahead", 15 * time.Minute, 0, start.Add(time.Second), 899},
		{"this one is behind", -15 * time.Minute, 0, start.Add(-15 * time.Minute), -900},
	} {
		t.Run(tt.name, func(t *testing.T) {
			machine := clocktesting.NewFakeClock(start.Add(tt.ahead))
			c := New(machine, logr.Discard())
			if got := c.Now(); !got.Equal(machine.Now()) {
				t.Errorf("before any answer it is %s, want %s", got, machine.Now())
			}
			var offset float64
			c.Report(func(v float64) { offset = v })
			if _, err := c.Wrap(&server{machine, start, tt.takes}).RoundTrip(&http.Request{}); err != nil {
				t.Fatal(err)
			}
			if got := c.Now(); !got.Equal(tt.want) || offset != tt.offset {
				t.Errorf("it is %s and %v s ahead, want %s and %v s", got, offset, tt.want, tt.offset)
			}
			machine.Step(time.Minute)
			if got := c.Since(tt.want); got != time.Minute {
				t.Errorf("%s have passed after a minute", got)
			}
		})
	}
}

// After this machine's clock is corrected, it is used again.
func TestClocksAgreeAgain(t *testing.T) {
	machine := clocktesting.NewFakeClock(start.Add(time.Hour))
	c := New(machine, logr.Discard())
	api := &server{machine: machine, now: start}
	ask := func() {
		if _, err := c.Wrap(api).RoundTrip(&http.Request{}); err != nil {
			t.Fatal(err)
		}
	}
	ask()
	api.now = start.Add(time.Hour)
	ask()
	if got := c.Now(); !got.Equal(machine.Now()) {
		t.Errorf("it is %s, want %s", got, machine.Now())
	}
}
