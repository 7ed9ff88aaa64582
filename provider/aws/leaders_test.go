package aws_test

import (
	"errors"
	"testing"

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
