package aws_test

import (
	"errors"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/karpenter-go/karpenter/internal/act"
)

// A paused leader has the claims in the state before the pause. When it resumes, another leader may have launched their
// instances. The old leader launches none, because its record of a launch is refused.
func TestPausedLeaderLaunchesNothing(t *testing.T) {
	w := newWorld(t)
	old := w.start(t)
	w.stop = func() {} // the old leader does not end
	for _, name := range []string{"one", "two"} {
		w.store(t, w.claim(name))
	}
	stale := w.load(t, "one")
	next := w.start(t)
	given, errs := w.createAll(t, next, []string{"one", "two"}) // by one call of the new leader, and none of the old one
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for name, i := range given {
		w.launched(t, name, i)
	}
	_, err := old.Create(t.Context(), stale)
	var elsewhere *act.RecordedElsewhereError
	if !errors.As(err, &elsewhere) {
		t.Errorf("a paused leader got %v", err)
	}
	if n := len(w.alive(t)); n != 2 {
		t.Errorf("%d instances run, want 2", n)
	}
}

// A new leader whose cache is old makes the call that the last leader made: the same claims, the same parameters and so the same
// token. Its record is refused. When it sees the record of the last leader, it takes the instance of that call.
func TestNewLeaderFindsInstanceOfSameCall(t *testing.T) {
	w := newWorld(t)
	last := w.start(t)
	w.stop = func() {} // start does not stop the first process, so that two processes run
	w.store(t, w.claim("one"))
	stale := w.load(t, "one")
	w.clock = ahead{}
	next := w.start(t)
	first, err := last.Create(t.Context(), w.load(t, "one"))
	if err != nil {
		t.Fatal(err)
	}
	var elsewhere *act.RecordedElsewhereError
	if _, err := next.Create(t.Context(), stale); !errors.As(err, &elsewhere) {
		t.Errorf("a new leader with an old cache got %v", err)
	}
	second, err := next.Create(t.Context(), w.load(t, "one"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len(w.alive(t)); n != 1 || first.ProviderID != second.ProviderID {
		t.Errorf("%d instances run, of which the claim was given %s and %s", n, first.ProviderID, second.ProviderID)
	}
}

// ahead is a clock a minute ahead of that of the machine.
type ahead struct{ clock.RealClock }

// Now implements clock.PassiveClock.
func (a ahead) Now() time.Time { return a.RealClock.Now().Add(time.Minute) }

// Since implements clock.PassiveClock.
func (a ahead) Since(t time.Time) time.Duration { return a.Now().Sub(t) }
