// Package batch joins calls that arrive close together into one. A bucket is opened by its first item, closes when no
// item has come for the idle window, when it has been open for the longest window, or when it is full, and is then
// handed to the call as a whole.
//
// Buckets are independent: one that hangs holds up nobody but its own items, and a waiter that gives up leaves its bucket
// running. Windows are measured on a clock.Clock. Each bucket is one goroutine, owned by the Batcher and ended when the
// context given to New is done.
package batch
