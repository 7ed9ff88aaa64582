package sim

import "time"

// An Actor is a part of the cluster that is not under test, such as the kubelets or the scheduler. It reads and writes the
// API server directly: its writes are carried out immediately, and no fault affects them.
type Actor interface {
	// Name returns the name of the actor. It is printed in violations, and seeds the random times at which Step is called.
	Name() string
	// Step does everything that is due at the time now, and returns when it must be called next. The zero time means not before
	// an object changes. The same objects and the same time give the same writes. It must not start goroutines.
	Step(now time.Time) (next time.Time, err error)
}
