package backtest

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// A Comparison has the results of several policies for the same trace. Its JSON is the output of the command.
type Comparison struct {
	Begin time.Time `json:"begin"`
	End   time.Time `json:"end"`
	// Policies are in the order in which they were given.
	Policies []Result `json:"policies"`
	// Seconds is the wall-clock time of the replay of all policies. Compare does not set it, because it reads no clock.
	Seconds float64 `json:"seconds"`
}

// Compare replays the trace under each policy, several policies at a time. It calls progress, which must not be nil, from
// time to time with the replayed share of all policies, from 0 to 1. The error joins those of the Planners.
func Compare(t *Trace, policies []Policy, s Settings, progress func(done float64)) (Comparison, error) {
	out := Comparison{Begin: t.Begin, End: t.End, Policies: make([]Result, len(policies))}
	var mu sync.Mutex // guards done
	done := make([]float64, len(policies))
	tell := func(i int, share float64) {
		mu.Lock()
		defer mu.Unlock()
		done[i] = share
		sum := 0.0
		for _, v := range done {
			sum += v
		}
		progress(sum / float64(len(done)))
	}
	errs := make([]error, len(policies))
	slots := make(chan struct{}, max(1, runtime.GOMAXPROCS(0)))
	var all sync.WaitGroup
	for i := range policies {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			var err error
			if out.Policies[i], err = Replay(t, policies[i], s, func(share float64) { tell(i, share) }); err != nil {
				errs[i] = fmt.Errorf("replay policy %s: %w", policies[i].Name, err)
			}
			tell(i, 1)
		})
	}
	all.Wait()
	return out, errors.Join(errs...)
}
