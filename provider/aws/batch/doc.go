// Package batch combines requests that are made at about the same time into one call. Their items are collected in a
// bucket. The first item opens the bucket. The bucket closes when no item was added for Window.Idle, when it has been
// open for Window.Longest, or when it is full. Then one call is made for all of its items.
//
// Buckets are independent: a call that hangs delays only the items of its bucket. The call is made even if callers have
// stopped waiting for their items. Windows are measured on a clock.Clock. Each bucket is one goroutine, owned by the
// Batcher and ended when the context given to New is done.
package batch
