package telemetry

import (
	"container/heap"
	"time"
)

// A window is a set of at most max keys, each with a time of expiry.
type window struct {
	max   int
	until map[string]time.Time
	order expiries
}

func newWindow(max int) *window { return &window{max: max, until: map[string]time.Time{}} }

// has reports whether the window has the key at the time now. It removes the keys that have expired by then.
func (w *window) has(key string, now time.Time) bool {
	for len(w.order) > 0 && !w.order[0].at.After(now) {
		w.forgetFirst()
	}
	_, ok := w.until[key]
	return ok
}

// add adds a key that the window does not have. If there are too many keys, it removes those that expire first.
func (w *window) add(key string, until time.Time) {
	w.until[key] = until
	heap.Push(&w.order, expiry{key, until})
	for len(w.until) > w.max {
		w.forgetFirst()
	}
}

func (w *window) forgetFirst() {
	first := heap.Pop(&w.order).(expiry)
	delete(w.until, first.key)
}

// An expiry is a key and the time of its removal.
type expiry struct {
	key string
	at  time.Time
}

// expiries is a heap with the earliest on top.
type expiries []expiry

func (e expiries) Len() int           { return len(e) }
func (e expiries) Less(i, j int) bool { return e[i].at.Before(e[j].at) }
func (e expiries) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *expiries) Push(x any)        { *e = append(*e, x.(expiry)) }
func (e *expiries) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}
