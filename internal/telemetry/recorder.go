package telemetry

import (
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/record"
	"k8s.io/utils/clock"
)

// Component is the source that events carry.
const Component = "karpenter"

// An Event is something that users of an object should know.
type Event struct {
	// Object is what the event is about.
	Object runtime.Object
	// Type is corev1.EventTypeNormal or corev1.EventTypeWarning.
	Type string
	// Reason is one of the Event constants, or the type of a condition.
	Reason string
	// Message is a sentence for people. What is beyond MaxMessage is cut off.
	Message string
	// Dedupe are the values that distinguish this event from others of the same reason; by default the UID of the object.
	Dedupe []string
	// For is how long the same event is not published again; 0 means the window of the reason, by default DefaultDedupe.
	For time.Duration
}

// A Recorder publishes events, each at most once in its window.
type Recorder interface {
	Publish(events ...Event)
}

// An EventRecorder publishes events to Kubernetes, but for those that it has published a short time ago and those above the rate of
// their reason. What it remembers is bounded: of too many events the ones that would be forgotten soonest go first. A
// restart forgets everything, which costs a repeated event.
type EventRecorder struct {
	sink    record.EventRecorder
	clock   clock.PassiveClock
	reasons map[string]Reason

	mu     sync.Mutex // guards seen and limits
	seen   *window
	limits map[string]*rate.Limiter
}

var _ Recorder = (*EventRecorder)(nil)

// maxRemembered bounds the events that a recorder remembers. At some 150 bytes each it holds a few megabytes.
const maxRemembered = 20_000

// NewRecorder returns a recorder that writes to r and takes the time from c.
func NewRecorder(r record.EventRecorder, c clock.Clock) *EventRecorder {
	e := &EventRecorder{
		sink: r, clock: c, reasons: reasonsByKey(),
		seen: newWindow(maxRemembered), limits: map[string]*rate.Limiter{},
	}
	for key, reason := range e.reasons {
		if reason.PerSecond > 0 {
			e.limits[key] = rate.NewLimiter(rate.Limit(reason.PerSecond), reason.Burst)
		}
	}
	return e
}

// Publish publishes the events that are due. It never blocks on the API server.
func (r *EventRecorder) Publish(events ...Event) {
	for _, e := range events {
		if r.due(e) {
			r.sink.Event(e.Object, e.Type, e.Reason, Cut(e.Message))
		}
	}
}

// due reports whether e is to be published now, and records that. An event above the rate is not recorded: it is published
// when it occurs again below the rate.
func (r *EventRecorder) due(e Event) bool {
	now, reason := r.clock.Now(), strings.ToLower(e.Reason)
	values := e.Dedupe
	if len(values) == 0 {
		values = []string{identity(e.Object)}
	}
	key := reason + "\x00" + strings.Join(values, "\x00")

	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seen.has(key, now) {
		return false
	}
	_, aboutPod := e.Object.(*corev1.Pod)
	if limit := r.limits[reason]; aboutPod && limit != nil && !limit.AllowN(now, 1) {
		return false
	}
	r.seen.add(key, now.Add(r.windowOf(e, reason)))
	return true
}

func (r *EventRecorder) windowOf(e Event, reason string) time.Duration {
	switch {
	case e.For > 0:
		return e.For
	case r.reasons[reason].Dedupe > 0:
		return r.reasons[reason].Dedupe
	}
	return DefaultDedupe
}

// identity is the UID of the object, or its kind and name if it was never stored.
func identity(o runtime.Object) string {
	m, err := meta.Accessor(o)
	if err != nil {
		return ""
	}
	if uid := m.GetUID(); uid != "" {
		return string(uid)
	}
	return o.GetObjectKind().GroupVersionKind().Kind + "/" + m.GetNamespace() + "/" + m.GetName()
}
