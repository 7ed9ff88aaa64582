// Package periodic runs a repeated task as a controller. It is reconciled at start, and again after the delay that each
// run returns. It has no timer of its own: the work queue of the controller triggers the next run.
package periodic
