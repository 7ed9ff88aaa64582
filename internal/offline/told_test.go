package offline

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// Told returns only events of the controller, in the order of their times.
func TestTold(t *testing.T) {
	noon := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	at := func(minute int) metav1.Time { return metav1.NewTime(noon.Add(time.Duration(minute) * time.Minute)) }
	event := func(reason, message string, made, last int) corev1.Event {
		return corev1.Event{
			ObjectMeta: metav1.ObjectMeta{CreationTimestamp: at(made)}, Reason: reason, Message: message, Count: 2,
			Source: corev1.EventSource{Component: telemetry.Component}, FirstTimestamp: at(made), LastTimestamp: at(last),
		}
	}
	again := event(telemetry.EventNominated, "Planned onto n2; it was planned onto n1, which is gone", 3, 3)
	others := event("FailedScheduling", "0/3 nodes are available", 1, 9)
	others.Source.Component = "default-scheduler"
	// An event of the newer API has no source, no count and no first and last time, only an event time.
	newer := corev1.Event{
		ObjectMeta: metav1.ObjectMeta{CreationTimestamp: at(1)}, Reason: "LaunchBackoff", Message: "paused",
		ReportingController: telemetry.Component, EventTime: metav1.NewMicroTime(at(2).Add(time.Millisecond)),
	}
	want := []EventResult{
		{Reason: telemetry.EventNominated, Message: "Planned onto n1, which has room", Count: 2, Last: noon.Add(time.Minute)},
		{Reason: "LaunchBackoff", Message: "paused", Count: 1, Last: noon.Add(2 * time.Minute)},
		{Reason: telemetry.EventNominated, Message: again.Message, Count: 2, Last: noon.Add(3 * time.Minute)},
	}
	got := Told([]corev1.Event{again, others, newer, event(telemetry.EventNominated, "Planned onto n1, which has room", 0, 1)})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := Told(nil); got == nil || len(got) > 0 {
		t.Errorf("of no events it makes %#v, want an empty list", got)
	}
}
