package archtest

import (
	"slices"
	"testing"
)

// A rule is a requirement on the source: what must hold, the reason, and how to fix a place where it does not
// hold.
type rule struct{ must, why, fix string }

// report fails the test for each of the places where the rule does not hold, in order.
func (r rule) report(t *testing.T, places []string) {
	t.Helper()
	slices.Sort(places)
	for _, place := range slices.Compact(places) {
		t.Errorf("%s\n\trule: %s\n\twhy:  %s\n\tfix:  %s", place, r.must, r.why, r.fix)
	}
}
