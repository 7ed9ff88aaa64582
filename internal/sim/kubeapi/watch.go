package kubeapi

import (
	"encoding/json"
	"fmt"
	"net/url"
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
	// bookmark is true if the client wants bookmarks.
	bookmark bool
	closed   bool
	// Ready is called when an event was added.
	Ready func()
}

// Pending returns how many events wait.
func (w *Watch) Pending() int { return len(w.events) }

// Next takes the oldest event, as the line that is sent to the client. It returns nil if none waits.
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
func (t *table) watch(namespace string, q url.Values) (*Watch, error) {
	match, err := t.selector(namespace, q)
	if err != nil {
		return nil, err
	}
	w := &Watch{table: t, match: match, bookmark: q.Get("allowWatchBookmarks") == "true"}
	from := uint64(0)
	if v := q.Get("resourceVersion"); v != "" {
		if from, err = strconv.ParseUint(v, 10, 64); err != nil {
			return nil, apierrors.NewBadRequest("invalid resourceVersion " + v)
		}
	}
	initial := q.Get("sendInitialEvents") == "true"
	switch {
	case initial, from == 0:
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
		w.push(event(watch.Modified, c.after.json))
	case is:
		w.push(event(watch.Added, c.after.json))
	case was && c.after == nil:
		w.push(event(watch.Deleted, c.before.json))
	case was:
		// The object does not match the selectors any more. The event has its last matching state, and the version of the change.
		last := c.before.object.DeepCopyObject().(client.Object)
		last.SetResourceVersion(strconv.FormatUint(c.version, 10))
		e, err := w.table.encode(last, c.version)
		if err != nil {
			panic(err) // it was encoded before
		}
		w.push(event(watch.Deleted, e.json))
	}
}

func (w *Watch) push(line []byte) {
	w.events = append(w.events, line)
	if w.Ready != nil {
		w.Ready()
	}
}

// event returns a line of a watch.
func event(kind watch.EventType, object []byte) []byte {
	return fmt.Appendf(nil, "{\"type\":%q,\"object\":%s}\n", kind, object)
}

// bookmarkEvent returns the bookmark of the server's version. If last is true, it marks the end of the initial events.
func (w *Watch) bookmarkEvent(last bool) []byte {
	o := metav1.PartialObjectMetadata{}
	o.SetGroupVersionKind(w.table.kind.GroupVersionKind)
	o.ResourceVersion = strconv.FormatUint(w.table.server.version, 10)
	if last {
		o.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	}
	data, err := json.Marshal(o)
	if err != nil {
		panic(err) // a struct of strings
	}
	return event(watch.Bookmark, data)
}
