package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/internal/backtest"
)

// aWatch is a client whose methods List and Watch return prepared results.
type aWatch struct {
	client.WithWatch
	list   []corev1.Pod
	events chan watch.Event
}

func (a *aWatch) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*corev1.PodList).Items = a.list
	return nil
}

func (a *aWatch) Watch(context.Context, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
	return watch.NewProxyWatcher(a.events), nil
}

func followedPod(name string, phase corev1.PodPhase) corev1.Pod {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(name)}}
	p.Spec.NodeName = "n"
	p.Spec.Containers = []corev1.Container{{Name: "c", Image: "secret"}}
	p.Status.Phase = phase
	return p
}

// failing is a writer whose writes fail, as on a full disk.
type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// The lines that a follower writes can be read as a trace. They include pods that existed at the beginning,
// pods that were created, pods that finished, and pods that were deleted between two watches.
func TestFollow(t *testing.T) {
	now := clocktesting.NewFakeClock(time.Unix(1000, 0))
	var out bytes.Buffer
	there := &aWatch{list: []corev1.Pod{followedPod("old", corev1.PodRunning), followedPod("done", corev1.PodSucceeded)}, events: make(chan watch.Event, 9)}
	f := follower{pods: there, clock: now, out: &out, alive: map[types.UID]*corev1.Pod{}}
	send := func(e watch.EventType, p corev1.Pod) { there.events <- watch.Event{Type: e, Object: &p} }
	round := func() {
		close(there.events)
		if err := f.round(t.Context()); err != nil {
			t.Fatal(err)
		}
		there.events = make(chan watch.Event, 9)
	}
	send(watch.Added, followedPod("new", corev1.PodPending))
	send(watch.Modified, followedPod("new", corev1.PodRunning))
	send(watch.Added, followedPod("job", corev1.PodRunning))
	round()
	now.SetTime(time.Unix(1060, 0))
	there.list = []corev1.Pod{followedPod("new", corev1.PodRunning), followedPod("job", corev1.PodRunning)} // old has vanished
	send(watch.Modified, followedPod("job", corev1.PodSucceeded))
	send(watch.Deleted, followedPod("job", corev1.PodSucceeded))
	send(watch.Error, corev1.Pod{})
	round()
	trace, err := backtest.Read("day.jsonl", &out, nil)
	if err != nil {
		t.Fatal(err)
	}
	never := trace.Pods[1].Deleted
	want := []backtest.Pod{{Created: 1_000_000, Deleted: 1_060_000}, {Created: 1_000_000, Deleted: never}, {Created: 1_000_000, Deleted: 1_060_000}}
	if fmt.Sprint(trace.Pods) != fmt.Sprint(want) || never < 1e15 {
		t.Errorf("%v, want %v", trace.Pods, want)
	}
	if spec := trace.Shapes[0].Template.Spec; spec.Containers[0].Image != "" || spec.NodeName != "" {
		t.Errorf("spec %+v", spec)
	}
	f.out = failing{}
	there.list = append(there.list, followedPod("late", corev1.PodRunning))
	if err := f.follow(t.Context(), func(error) {}); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Errorf("error %v, want that of the disk", err)
	}
}
