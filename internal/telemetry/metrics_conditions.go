package telemetry

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// StatusMetrics are about status conditions and deletion of the objects of one kind. Only some labels differ by kind:
// Extra gives those that come last, in the order of WithLabelValues.
type StatusMetrics struct {
	// TransitionSeconds (type, status, to_status, Extra): how long a condition had the status before it got to_status.
	TransitionSeconds *prometheus.HistogramVec
	// TransitionsTotal (type, status, reason, Extra).
	TransitionsTotal *prometheus.CounterVec
	// Count (namespace, name, type, status, reason, Extra) is 1 for each condition there is.
	Count *prometheus.GaugeVec
	// CurrentStatusSeconds (namespace, name, type, status, reason, Extra): since when the condition has its status.
	CurrentStatusSeconds *prometheus.GaugeVec
	// TerminationCurrentTimeSeconds (namespace, name, Extra): since when the object is being deleted.
	TerminationCurrentTimeSeconds *prometheus.GaugeVec
	// TerminationDurationSeconds (Extra): from deletion to the end.
	TerminationDurationSeconds *prometheus.HistogramVec

	// Extra are nodepool and nodeclass, or for AnyKind these before group and kind.
	Extra []string
}

// ConditionMetrics are the StatusMetrics of all kinds.
type ConditionMetrics struct {
	byKind   map[string]*StatusMetrics
	anyKind  *StatusMetrics
	declared []Declaration
}

// NewConditionMetrics declares the metrics of the kinds, and registers them with reg. The names contain the kind in lower
// case; for older dashboards there is a second set without it, with the kind as a label.
func NewConditionMetrics(reg prometheus.Registerer, kinds ...string) *ConditionMetrics {
	m := &ConditionMetrics{byKind: map[string]*StatusMetrics{}}
	d := declarer{reg: reg, namespace: "operator", declared: &m.declared}
	for _, kind := range kinds {
		m.byKind[kind] = newStatusMetrics(d, kind+"_", "nodepool", "nodeclass")
	}
	m.anyKind = newStatusMetrics(d, "", "nodepool", "nodeclass", "group", "kind")
	return m
}

// Kind returns the metrics of a kind in lower case, or nil if it was not declared.
func (m *ConditionMetrics) Kind(kind string) *StatusMetrics { return m.byKind[kind] }

// AnyKind returns the metrics that have the kind as a label.
func (m *ConditionMetrics) AnyKind() *StatusMetrics { return m.anyKind }

// Declared returns all metrics in the order of their names.
func (m *ConditionMetrics) Declared() []Declaration { return byName(m.declared) }

func newStatusMetrics(d declarer, prefix string, extra ...string) *StatusMetrics {
	with := func(labels ...string) []string { return slices.Concat(labels, extra) }
	buckets := prometheus.ExponentialBuckets(0.5, 2, 15) // 0.5 s to 2 h 17 min
	return &StatusMetrics{
		TransitionSeconds: d.histogram(prefix+"status_condition_transition_seconds",
			"Time that a condition had its previous status, in seconds.", buckets,
			with("type", "status", "to_status")...),
		TransitionsTotal: d.counter(prefix+"status_condition_transitions_total",
			"Transitions of the status of conditions.", with("type", "status", "reason")...),
		Count: d.gauge(prefix+"status_condition_count", "Always 1, for each condition of each object.",
			with("namespace", "name", "type", "status", "reason")...),
		CurrentStatusSeconds: d.gauge(prefix+"status_condition_current_status_seconds",
			"Time since the last transition of the condition, in seconds.", with("namespace", "name", "type", "status", "reason")...),
		TerminationCurrentTimeSeconds: d.gauge(prefix+"termination_current_time_seconds",
			"Time since the deletion of the object was requested, in seconds.", with("namespace", "name")...),
		TerminationDurationSeconds: d.histogram(prefix+"termination_duration_seconds",
			"Time from the deletion request of an object until its removal, in seconds.", buckets, extra...),
		Extra: extra,
	}
}
