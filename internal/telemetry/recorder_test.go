package telemetry

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/record"
	testclock "k8s.io/utils/clock/testing"
)

// A sink records the events that are published to Kubernetes.
type sink struct {
	record.EventRecorder
	told []string
}

func (s *sink) Event(o runtime.Object, kind, reason, message string) {
	s.told = append(s.told, kind+" "+reason+" "+message)
}

func recorder() (*EventRecorder, *sink, *testclock.FakeClock) {
	s, c := &sink{}, testclock.NewFakeClock(time.Unix(1000, 0))
	return NewRecorder(s, c), s, c
}

func pod(uid string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: uid, UID: types.UID(uid)}}
}

func TestPublishTellsOncePerWindow(t *testing.T) {
	for _, tt := range []struct {
		name   string
		event  Event
		window time.Duration
	}{
		{"the default", Event{Reason: EventEvicted}, 2 * time.Minute},
		{"that of the reason", Event{Reason: EventFailedScheduling}, 5 * time.Minute},
		{"that of the event", Event{Reason: EventFailedScheduling, For: time.Second}, time.Second},
		{"a reason that is a condition", Event{Reason: "Launched"}, 2 * time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, s, c := recorder()
			e := tt.event
			e.Object, e.Type = pod("a"), corev1.EventTypeNormal
			r.Publish(e, e)
			c.Step(tt.window - time.Millisecond)
			r.Publish(e)
			if len(s.told) != 1 {
				t.Fatalf("within the window told %q, want one event", s.told)
			}
			c.Step(time.Millisecond)
			r.Publish(e)
			if len(s.told) != 2 {
				t.Errorf("after the window told %q, want a second event", s.told)
			}
		})
	}
}

func TestPublishTellsDifferentEventsApart(t *testing.T) {
	r, s, _ := recorder()
	r.Publish(
		Event{Object: pod("a"), Type: "Normal", Reason: EventEvicted, Message: "1"},
		Event{Object: pod("b"), Type: "Normal", Reason: EventEvicted, Message: "2"},
		Event{Object: pod("a"), Type: "Warning", Reason: EventFailedDraining, Message: "3"},
		Event{Object: pod("a"), Type: "Normal", Reason: EventEvicted, Message: "4", Dedupe: []string{"x"}},
		Event{Object: pod("b"), Type: "Normal", Reason: EventEvicted, Message: "same values", Dedupe: []string{"x"}},
		Event{Object: pod("a"), Type: "Normal", Reason: "EVICTED", Message: "reasons differ by more than case"},
	)
	want := []string{"Normal Evicted 1", "Normal Evicted 2", "Warning FailedDraining 3", "Normal Evicted 4"}
	if diff := cmp.Diff(want, s.told); diff != "" {
		t.Error(diff)
	}
}

func TestPublishLimitsTheRateOfNominations(t *testing.T) {
	r, s, c := recorder()
	for i := range 30 {
		r.Publish(Event{Object: pod(fmt.Sprint(i)), Reason: EventNominated})
	}
	if len(s.told) != 10 {
		t.Fatalf("told %d at once, want the burst of 10", len(s.told))
	}
	c.Step(time.Second)
	for i := range 30 {
		r.Publish(Event{Object: pod(fmt.Sprint(i)), Reason: EventNominated})
	}
	if len(s.told) != 15 {
		t.Errorf("told %d after a second, want 5 more", len(s.told))
	}
}

func TestRecorderMemoryIsBounded(t *testing.T) {
	r, s, c := recorder()
	for i := range maxRemembered + 10 {
		r.Publish(Event{Object: pod(fmt.Sprint(i)), Reason: EventEvicted, For: time.Minute + time.Duration(i)})
	}
	if got := len(r.seen.until); got != maxRemembered || len(r.seen.order) != got {
		t.Fatalf("remembers %d events in a heap of %d, want %d", got, len(r.seen.order), maxRemembered)
	}
	before := len(s.told)
	r.Publish(Event{Object: pod(fmt.Sprint(maxRemembered)), Reason: EventEvicted})
	if len(s.told) != before {
		t.Error("forgot one of the latest events, want those that expire soonest to go")
	}
	c.Step(time.Hour)
	r.Publish(Event{Object: pod("late"), Reason: EventEvicted})
	if got := len(r.seen.until); got != 1 {
		t.Errorf("remembers %d events after an hour, want only the new one", got)
	}
}

// The rate of a reason applies to events about pods only. An event about another object is always published.
func TestRateIsForPods(t *testing.T) {
	r, s, _ := recorder()
	node := func(i int) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{UID: types.UID(fmt.Sprint("node-", i))}}
	}
	for i := range 30 {
		r.Publish(
			Event{Object: pod(fmt.Sprint(i)), Reason: EventInsufficientCapacityError},
			Event{Object: node(i), Reason: EventInsufficientCapacityError},
		)
	}
	if len(s.told) != 40 {
		t.Errorf("told %d, want 30 about nodes and the burst of 10 about pods", len(s.told))
	}
}

func TestMessagesAreBounded(t *testing.T) {
	r, s, _ := recorder()
	r.Publish(Event{Object: pod("a"), Type: "Normal", Reason: EventEvicted, Message: strings.Repeat("x", 2000)})
	want := "Normal Evicted " + strings.Repeat("x", MaxMessage-3) + "..."
	if diff := cmp.Diff([]string{want}, s.told); diff != "" {
		t.Error(diff)
	}
}

func TestReasonsAreToldOnce(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Reasons() {
		if seen[r.Name] {
			t.Errorf("reason %s is in the table twice", r.Name)
		}
		seen[r.Name] = true
		if r.Type != corev1.EventTypeNormal && r.Type != corev1.EventTypeWarning {
			t.Errorf("reason %s has type %q", r.Name, r.Type)
		}
		if r.Objects == "" || r.When == "" {
			t.Errorf("reason %s is not described", r.Name)
		}
	}
}
