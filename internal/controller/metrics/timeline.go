package metrics

import (
	"container/list"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// maxTimelines is the maximum number of pods in a Timeline. If there are more, the oldest entries are removed.
const maxTimelines = 50_000

// A Timeline records three times for each pending pod: when Karpenter first observed it, when a provisioning round first decided
// about it, and since when a node is found or planned for it. Provisioning writes a Timeline, and Pods reads it. It is safe for
// concurrent use.
type Timeline struct {
	metrics *telemetry.PodMetrics

	mu    sync.Mutex // guards all below
	pods  map[types.NamespacedName]*list.Element
	order *list.List // of *moments; the first observed pod is at the front
}

// moments are the recorded times of one pod. A time is zero before its event.
type moments struct {
	key         types.NamespacedName
	uid         types.UID
	seen        time.Time
	decided     time.Time
	schedulable time.Time
	pool        string // NodePool of the node found or planned for the pod
}

// NewTimeline returns an empty Timeline that observes the durations of decisions in m.
func NewTimeline(m *telemetry.PodMetrics) *Timeline {
	return &Timeline{metrics: m, pods: map[types.NamespacedName]*list.Element{}, order: list.New()}
}

// Seen records that the pod is pending. Only the first call for a pod has an effect.
func (t *Timeline) Seen(key types.NamespacedName, uid types.UID, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at(key, uid, now)
}

// Decided records that a round, which began at start, made a decision for the pod. placed is true if a node of the NodePool was
// found or planned for it. The first decision ends the time that pods_scheduling_decision_duration_seconds measures. The pod
// counts as placed from the first round that places it until a round does not. Bound pods that must leave a disrupted node are
// ignored.
func (t *Timeline) Decided(p *model.Pod, start, now time.Time, placed bool, pool string) {
	if p.Bound() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	m := t.at(types.NamespacedName{Namespace: p.Object.Namespace, Name: p.Object.Name}, p.UID, start)
	if m.decided.IsZero() {
		m.decided = now
		t.metrics.SchedulingDecisionDurationSeconds.WithLabelValues().Observe(now.Sub(m.seen).Seconds())
	}
	switch {
	case !placed:
		m.schedulable, m.pool = time.Time{}, ""
	case m.schedulable.IsZero():
		m.schedulable, m.pool = now, pool
	default:
		m.pool = pool
	}
}

// of returns the recorded times of the pod, all zero if there are none.
func (t *Timeline) of(key types.NamespacedName, uid types.UID) moments {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e, ok := t.pods[key]; ok {
		if m := e.Value.(*moments); m.uid == uid {
			return *m
		}
	}
	return moments{}
}

// forget removes the recorded times of a pod that is ready, has finished or was deleted.
func (t *Timeline) forget(key types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(t.pods[key])
}

// at returns the moments of a pod, and creates them with seen = now if there are none. Pods with the same name and different UIDs
// are different pods.
func (t *Timeline) at(key types.NamespacedName, uid types.UID, now time.Time) *moments {
	if e, ok := t.pods[key]; ok {
		if m := e.Value.(*moments); m.uid == uid {
			return m
		}
		t.drop(e)
	}
	m := &moments{key: key, uid: uid, seen: now}
	t.pods[key] = t.order.PushBack(m)
	if t.order.Len() > maxTimelines {
		t.drop(t.order.Front())
	}
	return m
}

func (t *Timeline) drop(e *list.Element) {
	if e != nil {
		delete(t.pods, e.Value.(*moments).key)
		t.order.Remove(e)
	}
}
