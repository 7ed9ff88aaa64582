package kubeapi

import (
	"fmt"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A Watch is a stream of changes. Its events are queued until Next takes them. The transport decides when to do so,
// so a simulation may delay them.
type Watch struct {
	table  *table
	match  selector
	events [][]byte
	// bookmark is true if the client wants bookmarks. protobuf is true if the events are encoded as protobuf.
	bookmark, protobuf bool
	closed             bool
	// Listed is true if the watch begins with the present objects, as a list does.
	Listed bool
	// Ready is called when an event was added.
	Ready func()
}

// Pending returns how many events wait.
func (w *Watch) Pending() int { return len(w.events) }

// Next takes the oldest event, as the bytes that are sent to the client. It returns nil if none waits.
func (w *Watch) Next() []byte {
	if len(w.events) == 0 {
		return nil
	}
	e := w.events[0]
	w.events = w.events[1:]
	return e
}

// Close ends the watch. Events that wait are lost.
func (w *Watch) Close() {
	if w.closed {
		return
	}
	w.closed, w.events = true, nil
	w.table.watches = slices.DeleteFunc(w.table.watches, func(o *Watch) bool { return o == w })
}

// Closed reports whether the watch has ended.
func (w *Watch) Closed() bool { return w.closed }

// Plural returns the name of the watched kind in paths.
func (w *Watch) Plural() string { return w.table.kind.Plural }

// Bookmark adds an event that carries the server's current version, if the client asked for bookmarks.
func (w *Watch) Bookmark() {
	if w.bookmark && !w.closed {
		w.push(w.bookmarkEvent(false))
	}
}

// watch begins a watch as a query describes it.
func (t *table) watch(namespace string, r *Request) (*Watch, error) {
	q := r.Query
	match, err := t.selector(namespace, q)
	if err != nil {
		return nil, err
	}
	w := &Watch{
		table: t, match: match, bookmark: q.Get("allowWatchBookmarks") == "true", protobuf: r.Protobuf && !t.kind.Custom,
	}
	from := uint64(0)
	if v := q.Get("resourceVersion"); v != "" {
		if from, err = strconv.ParseUint(v, 10, 64); err != nil {
			return nil, apierrors.NewBadRequest("invalid resourceVersion " + v)
		}
	}
	initial := q.Get("sendInitialEvents") == "true"
	w.Listed = initial || from == 0
	switch {
	case w.Listed:
		for _, e := range t.sorted() {
			w.add(change{after: e, version: e.version})
		}
		if initial {
			w.push(w.bookmarkEvent(true))
		}
	case from < t.dropped:
		return nil, apierrors.NewResourceExpired(fmt.Sprintf("too old resource version: %d (%d)", from, t.dropped))
	default:
		for _, c := range t.changes {
			if c.version > from {
				w.add(c)
			}
		}
	}
	t.watches = append(t.watches, w)
	return w, nil
}

// add adds the event of a change, if the watch includes the object.
func (w *Watch) add(c change) {
	was, is := w.match.matches(c.before), w.match.matches(c.after)
	switch {
	case is && was:
		w.push(w.event(watch.Modified, c.after))
	case is:
		w.push(w.event(watch.Added, c.after))
	case was && c.after == nil:
		w.push(w.event(watch.Deleted, c.before))
	case was:
		// The object does not match the selectors any more. The event has its last matching state, and the version of the change.
		last := c.before.object.DeepCopyObject().(client.Object)
		last.SetResourceVersion(strconv.FormatUint(c.version, 10))
		w.push(w.event(watch.Deleted, w.table.entry(last, c.version)))
	}
}

func (w *Watch) push(event []byte) {
	w.events = append(w.events, event)
	if w.Ready != nil {
		w.Ready()
	}
}

// bookmarkEvent returns the bookmark of the server's version. If last is true, it marks the end of the initial events.
func (w *Watch) bookmarkEvent(last bool) []byte {
	o := w.table.blank()
	o.SetResourceVersion(strconv.FormatUint(w.table.etcd.version, 10))
	if last {
		o.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return w.event(watch.Bookmark, w.table.entry(o, w.table.etcd.version))
}
