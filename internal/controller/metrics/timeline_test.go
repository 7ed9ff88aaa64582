package metrics

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-go/karpenter/engine/model"
)

func named(name, uid string) *model.Pod {
	return model.NewPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, UID: types.UID(uid)}})
}

func key(name string) types.NamespacedName { return types.NamespacedName{Namespace: "ns", Name: name} }

// For a pod that was not observed before a round, the time counts from the start of the round.
func TestTimelineWithoutSeen(t *testing.T) {
	w := newWorld(t)
	line := NewTimeline(w.metrics.Pods)
	line.Decided(named("a", "1"), start, start.Add(3*time.Second), false, "")
	line.Decided(named("a", "1"), start.Add(9*time.Second), start.Add(12*time.Second), true, "default")
	w.expect(decision+"_sum 3\n"+decision+"_count 1", decision)
	if m := line.of(key("a"), "1"); !m.schedulable.Equal(start.Add(12*time.Second)) || m.pool != "default" {
		t.Errorf("moments are %+v", m)
	}
}

func TestTimelineIgnoresBoundPods(t *testing.T) {
	w := newWorld(t)
	line := NewTimeline(w.metrics.Pods)
	p := named("a", "1")
	p.Object.Spec.NodeName = "n1"
	line.Decided(p, start, start, true, "default")
	if len(line.pods) != 0 {
		t.Errorf("remembers %v", line.pods)
	}
}

// A new pod with the name of a deleted one, as a StatefulSet creates, has its own moments.
func TestTimelineTellsPodsOfOneNameApart(t *testing.T) {
	w := newWorld(t)
	line := NewTimeline(w.metrics.Pods)
	line.Decided(named("a", "1"), start, start, true, "default")
	line.Seen(key("a"), "2", start.Add(time.Minute))
	if m := line.of(key("a"), "1"); m != (moments{}) {
		t.Errorf("the old pod has moments %+v", m)
	}
	if m := line.of(key("a"), "2"); !m.schedulable.IsZero() || !m.seen.Equal(start.Add(time.Minute)) {
		t.Errorf("the new pod has moments %+v", m)
	}
	if line.order.Len() != 1 {
		t.Errorf("remembers %d pods", line.order.Len())
	}
}

func TestTimelineIsBounded(t *testing.T) {
	line := NewTimeline(newWorld(t).metrics.Pods)
	for i := range maxTimelines + 5 {
		line.Seen(key(fmt.Sprint(i)), "1", start)
	}
	if len(line.pods) != maxTimelines || line.order.Len() != maxTimelines {
		t.Errorf("remembers %d pods in a list of %d", len(line.pods), line.order.Len())
	}
	if m := line.of(key("0"), "1"); m != (moments{}) {
		t.Error("remembers the oldest")
	}
	if m := line.of(key(fmt.Sprint(maxTimelines+4)), "1"); m == (moments{}) {
		t.Error("forgot the latest")
	}
}
