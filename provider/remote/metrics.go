package remote

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc/codes"

	"github.com/karpenter-go/karpenter/provider/remote/wire"
)

// Metrics are the metrics of all providers in other processes.
type Metrics struct {
	up        *prometheus.GaugeVec
	rejects   *prometheus.CounterVec
	durations *prometheus.HistogramVec
	registry  prometheus.Registerer // nil if the metrics are not registered
}

// NewMetrics registers the metrics.
func NewMetrics(r prometheus.Registerer) *Metrics {
	m := &Metrics{
		registry: r,
		up: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "karpenter_remote_provider_up",
			Help: "1 if the provider in another process answers, 0 if it does not.",
		}, []string{"provider"}),
		rejects: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "karpenter_remote_provider_rejected_answers_total",
			Help: "Number of answers of the provider that break a rule of the protocol, by rule.",
		}, []string{"provider", "reason"}),
		durations: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "karpenter_remote_provider_call_duration_seconds",
			Help:    "Duration of calls to the provider, by method and gRPC status code.",
			Buckets: []float64{0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60, 300},
		}, []string{"provider", "method", "code"}),
	}
	if r != nil {
		r.MustRegister(m.up, m.rejects, m.durations)
	}
	return m
}

func (m *Metrics) called(provider, method string, code codes.Code, d time.Duration) {
	m.durations.WithLabelValues(provider, method, strings.ToLower(code.String())).Observe(d.Seconds())
}

func (m *Metrics) rejected(provider string, reason wire.Reason) {
	m.rejects.WithLabelValues(provider, string(reason)).Inc()
}

func (m *Metrics) reachable(provider string, up bool) {
	value := 0.0
	if up {
		value = 1
	}
	m.up.WithLabelValues(provider).Set(value)
}
