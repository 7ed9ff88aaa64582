package offline

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// An EventResult is an event of the controller about an object, also as JSON.
type EventResult struct {
	// Reason is an event reason of package telemetry, such as Nominated.
	Reason  string `json:"reason"`
	Message string `json:"message"`
	// Count is how often the event occurred, at least once.
	Count int32 `json:"count"`
	// Last is when it occurred last, to the second.
	Last time.Time `json:"last"`
}

// Told returns the events that the controller published, oldest first.
func Told(events []corev1.Event) []EventResult {
	out := []EventResult{}
	for i := range events {
		e := &events[i]
		if e.Source.Component != telemetry.Component && e.ReportingController != telemetry.Component {
			continue
		}
		out = append(out, EventResult{Reason: e.Reason, Message: e.Message, Count: max(e.Count, 1), Last: toldLast(e)})
	}
	slices.SortStableFunc(out, func(a, b EventResult) int {
		return cmp.Or(a.Last.Compare(b.Last), cmp.Compare(a.Message, b.Message))
	})
	return out
}

// toldLast returns the latest time in the event. Some events have only a creation time.
func toldLast(e *corev1.Event) time.Time {
	last := e.CreationTimestamp.Time
	for _, t := range []time.Time{e.FirstTimestamp.Time, e.LastTimestamp.Time, e.EventTime.Time} {
		if t.After(last) {
			last = t
		}
	}
	return last.UTC().Truncate(time.Second)
}
