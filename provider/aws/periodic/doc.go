// Package periodic turns a repeated task into a controller: it is reconciled at start and again after the delay that each run
// returns. It has no timer; the manager's work queue, or a simulator's virtual clock, triggers it again.
package periodic
