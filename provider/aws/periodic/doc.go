// Package periodic turns work that repeats into a controller: reconciled once at start and again whenever its result says
// so. It owns no timer; the work queue of the manager, or a simulator's virtual clock, brings it back.
package periodic
