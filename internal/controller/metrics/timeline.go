package metrics

import (
	"container/list"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// maxTimelines bounds the pods of a Timeline; beyond it, those seen first are dropped.
const maxTimelines = 50_000

// A Timeline records for each pending pod when Karpenter first saw it, when it first decided about it, and since when the pod
// is placed. Provisioning writes it, the metrics of pods read it. It is safe for concurrent use.
type Timeline struct {
	metrics *telemetry.PodMetrics

	mu    sync.Mutex // guards all below
	pods  map[types.NamespacedName]*list.Element
	order *list.List // of *moments, those seen first at the front
}

// moments are what is remembered of one pod. A zero time has not come.
type moments struct {
	key         types.NamespacedName
	uid         types.UID
	seen        time.Time
	decided     time.Time
	schedulable time.Time
	pool        string // that schedulable counts on
}

// NewTimeline returns a Timeline that remembers nothing and writes how long decisions take.
func NewTimeline(m *telemetry.PodMetrics) *Timeline {
	return &Timeline{metrics: m, pods: map[types.NamespacedName]*list.Element{}, order: list.New()}
}

// Seen notes that the pod waits for a node. Only the first time counts.
func (t *Timeline) Seen(key types.NamespacedName, uid types.UID, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.at(key, uid, now)
}

// Decided notes that a round that began at start judged the pod, and whether it found a place, on a node of the pool.
// The first decision, whichever it is, ends the wait that pods_scheduling_decision_duration_seconds measures. The place
// counts from the first round that found it; a later round that finds none takes it back. Pods that run already, and move
// because their node goes, are not pending and not counted.
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

// of returns what is remembered of the pod; zero if nothing is.
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

// forget drops what is remembered of the pod: it runs, has ended or is gone.
func (t *Timeline) forget(key types.NamespacedName) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(t.pods[key])
}

// at returns the moments of a pod, first seen at now if it is new. A pod of the same name with another UID is another pod.
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
