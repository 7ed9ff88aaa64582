// Package periodic runs a repeated task as a controller. The task is reconciled at start, and again after the delay
// that each run returns. The work queue of the controller triggers the next run, so the package needs no timer.
package periodic
