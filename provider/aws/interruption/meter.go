package interruption

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// A Meter updates the metrics about messages and unhealthy instances.
type Meter struct {
	messages  *prometheus.CounterVec
	deleted   prometheus.Counter
	queued    prometheus.Histogram
	unhealthy *prometheus.CounterVec

	mu     sync.Mutex                 // guards ailing
	ailing map[string]map[string]bool // unhealthy instances by category, from the last poll
}

// NewMeter registers the metrics with reg.
func NewMeter(reg prometheus.Registerer) *Meter {
	seconds := []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300}
	m := &Meter{
		messages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "karpenter_interruption_received_messages_total",
			Help: "Messages received from the interruption queue, by kind.",
		}, []string{"message_type"}),
		deleted: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "karpenter_interruption_deleted_messages_total",
			Help: "Messages handled and deleted from the interruption queue.",
		}),
		queued: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "karpenter_interruption_message_queue_duration_seconds",
			Help:    "Time from an event until its message was received, in seconds.",
			Buckets: seconds,
		}),
		unhealthy: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "karpenter_interruption_instance_status_unhealthy_total",
			Help: "Instances reported as unhealthy by EC2, once for each failure.",
		}, []string{"category"}),
		ailing: map[string]map[string]bool{},
	}
	reg.MustRegister(m.messages, m.deleted, m.queued, m.unhealthy)
	return m
}

func (m *Meter) received(message Message, now time.Time) {
	m.messages.WithLabelValues(string(message.Kind)).Inc()
	if !message.Time.IsZero() {
		m.queued.Observe(max(now.Sub(message.Time), 0).Seconds())
	}
}

// ill records which instances are unhealthy in a category now, and counts the new ones.
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
