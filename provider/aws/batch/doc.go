// Package batch joins calls that arrive close together into one. A bucket is opened by its first item, closes when no
// item has come for the idle window, when it has been open for the longest window, or when it is full, and is then
// handed to the call as a whole.
//
// Buckets are independent: a call that hangs delays only the items of its bucket. A bucket goes on when a caller stops
// waiting for its item. Windows are measured on a clock.Clock. Each bucket is one goroutine, owned by the Batcher and ended
// when the context given to New is done.
package batch
