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

// Component is the source of all events.
const Component = "karpenter"

// An Event is a Kubernetes event about an object, before it is published.
type Event struct {
	// Object is the object concerned.
	Object runtime.Object
	// Type is corev1.EventTypeNormal or corev1.EventTypeWarning.
	Type string
	// Reason is one of the Event constants, or the type of a condition.
	Reason string
	// Message is a sentence for people. It is cut to MaxMessage.
	Message string
	// Dedupe has the values that distinguish this event from others of the same reason. If it is empty, the UID of the object is
	// used.
	Dedupe []string
	// For is the time in which equal events are dropped; 0 stands for Reason.Dedupe.
	For time.Duration
}

// A Recorder publishes events. It drops events that equal a recent one, see Event.For.
type Recorder interface {
	Publish(events ...Event)
}

// An EventRecorder publishes events to Kubernetes. It drops events that equal a recent one, and events about pods above the rate
// of their reason. At most maxRemembered recent events are stored, in memory only. If there are more, those that expire first are
// removed. A lost entry causes at most a repeated event.
type EventRecorder struct {
	sink    record.EventRecorder
	clock   clock.PassiveClock
	reasons map[string]Reason

	mu     sync.Mutex // guards seen and limits
	seen   *window
	limits map[string]*rate.Limiter
}

var _ Recorder = (*EventRecorder)(nil)

// maxRemembered is the maximum number of recent events that a recorder stores. An event takes about 150 bytes, so all take a few
// megabytes.
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

// Publish publishes the events that due returns true for. It does not wait for the API server.
func (r *EventRecorder) Publish(events ...Event) {
	for _, e := range events {
		if r.due(e) {
			r.sink.Event(e.Object, e.Type, e.Reason, Cut(e.Message))
		}
	}
}

// due reports whether e is to be published. If so, it stores e as a recent event. An event above the rate is not stored, so that
// its next occurrence below the rate is published.
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

// identity returns the UID of the object, or its kind and name if it has no UID.
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
