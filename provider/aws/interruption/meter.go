package interruption

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// awaited is how long a replacement is waited for. Pods that fit elsewhere need none.
const awaited = 10 * time.Minute

// A Meter measures how interruptions are dealt with.
type Meter struct {
	messages  *prometheus.CounterVec
	deleted   prometheus.Counter
	queued    prometheus.Histogram
	toCordon  prometheus.Histogram
	toLaunch  prometheus.Histogram
	unhealthy *prometheus.CounterVec

	mu      sync.Mutex                 // guards the rest
	waiting map[string][]time.Time     // messages whose claims await a replacement, by pool, oldest first
	counted map[types.UID]time.Time    // claims that were counted as replacements, and when
	ailing  map[string]map[string]bool // instances by category, as last seen by the poller
}

// NewMeter registers the metrics with reg.
func NewMeter(reg prometheus.Registerer) *Meter {
	seconds := []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300}
	m := &Meter{
		messages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "karpenter_interruption_received_messages_total",
			Help: "Messages received from the interruption queue, by what they are about.",
		}, []string{"message_type"}),
		deleted: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "karpenter_interruption_deleted_messages_total",
			Help: "Messages dealt with and deleted from the interruption queue.",
		}),
		queued: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "karpenter_interruption_message_queue_duration_seconds",
			Help:    "Time from an event until its message was received.",
			Buckets: seconds,
		}),
		toCordon: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "karpenter_interruption_message_to_cordon_seconds",
			Help:    "Time from an event until new pods are kept off the node.",
			Buckets: seconds,
		}),
		toLaunch: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "karpenter_interruption_message_to_launch_seconds",
			Help:    "Time from an event until the next claim of the same pool was launched.",
			Buckets: seconds,
		}),
		unhealthy: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "karpenter_interruption_instance_status_unhealthy_total",
			Help: "Instances that EC2 reported as unhealthy, once for each time that lasts.",
		}, []string{"category"}),
		waiting: map[string][]time.Time{}, counted: map[types.UID]time.Time{}, ailing: map[string]map[string]bool{},
	}
	reg.MustRegister(m.messages, m.deleted, m.queued, m.toCordon, m.toLaunch, m.unhealthy)
	return m
}

func (m *Meter) received(message Message, now time.Time) {
	m.messages.WithLabelValues(string(message.Kind)).Inc()
	if !message.Time.IsZero() {
		m.queued.Observe(max(now.Sub(message.Time), 0).Seconds())
	}
}

func (m *Meter) cordoned(n notice, now time.Time) {
	if !n.time.IsZero() {
		m.toCordon.Observe(max(now.Sub(n.time), 0).Seconds())
	}
}

// await notes that the pool will launch something in place of the claim.
func (m *Meter) await(claim *apiv1.NodeClaim, n notice, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	pool := claim.Labels[apiv1.NodePoolLabelKey]
	at := n.time
	if at.IsZero() {
		at = now
	}
	m.waiting[pool] = append(m.waiting[pool], at)
	slices.SortFunc(m.waiting[pool], func(a, b time.Time) int { return cmp.Compare(a.UnixNano(), b.UnixNano()) })
}

// launched counts a claim that was made after an interruption in its pool as the replacement for the oldest one.
func (m *Meter) launched(claim *apiv1.NodeClaim, at time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for uid, when := range m.counted {
		if at.Sub(when) > awaited {
			delete(m.counted, uid)
		}
	}
	pool := claim.Labels[apiv1.NodePoolLabelKey]
	waiting := slices.DeleteFunc(m.waiting[pool], func(t time.Time) bool { return at.Sub(t) > awaited })
	m.waiting[pool] = waiting
	if _, known := m.counted[claim.UID]; known || len(waiting) == 0 ||
		claim.CreationTimestamp.Time.Before(waiting[0].Truncate(time.Second)) {
		return
	}
	m.counted[claim.UID] = at
	m.toLaunch.Observe(max(at.Sub(waiting[0]), 0).Seconds())
	m.waiting[pool] = waiting[1:]
}

// ill notes which instances a category holds now and counts the new ones.
func (m *Meter) ill(category string, now map[string]bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id := range now {
		if !m.ailing[category][id] {
			m.unhealthy.WithLabelValues(category).Inc()
		}
	}
	m.ailing[category] = now
}
