package telemetry

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// StatusMetrics are the metrics of status conditions and of the deletion of objects of one kind. The labels in Extra depend on
// the kind. They are the last ones in the order of WithLabelValues.
type StatusMetrics struct {
	// TransitionSeconds (labels type, status, to_status and Extra) is the time that a condition had its status before the status
	// changed to to_status.
	TransitionSeconds *prometheus.HistogramVec
	// TransitionsTotal has the labels type, status, reason and Extra.
	TransitionsTotal *prometheus.CounterVec
	// Count (labels namespace, name, type, status, reason and Extra) is 1 for each condition of each object. With many
	// nodes, the series of Nodes and NodeClaims have no name, and the value is the number of objects.
	Count *prometheus.GaugeVec
	// CurrentStatusSeconds (labels namespace, name, type, status, reason and Extra) is the time since the last change of the
	// condition's status.
	CurrentStatusSeconds *prometheus.GaugeVec
	// TerminationCurrentTimeSeconds (labels namespace, name and Extra) is the time since the deletion timestamp of an object that
	// still exists.
	TerminationCurrentTimeSeconds *prometheus.GaugeVec
	// TerminationDurationSeconds (labels Extra) is the time from the deletion timestamp until the object no longer existed.
	TerminationDurationSeconds *prometheus.HistogramVec

	// Extra is nodepool and nodeclass. For AnyKind it is nodepool, nodeclass, group and kind.
	Extra []string
}

// ConditionMetrics has the StatusMetrics of all kinds.
type ConditionMetrics struct {
	byKind   map[string]*StatusMetrics
	anyKind  *StatusMetrics
	declared []Declaration
}

// NewConditionMetrics declares the metrics of the kinds, and registers them with reg. Their names contain the kind in
// lower case. For older dashboards there is a second set of metrics, which have the kind as a label instead.
func NewConditionMetrics(reg prometheus.Registerer, kinds ...string) *ConditionMetrics {
	m := &ConditionMetrics{byKind: map[string]*StatusMetrics{}}
	d := declarer{reg: reg, namespace: "operator", declared: &m.declared}
	for _, kind := range kinds {
		m.byKind[kind] = newStatusMetrics(d, kind+"_", "nodepool", "nodeclass")
	}
	m.anyKind = newStatusMetrics(d, "", "nodepool", "nodeclass", "group", "kind")
	return m
}

// Kind returns the metrics of a kind, which is given in lower case, or nil if NewConditionMetrics was not called with
// that kind.
func (m *ConditionMetrics) Kind(kind string) *StatusMetrics { return m.byKind[kind] }

// AnyKind returns the metrics that have the kind as a label.
func (m *ConditionMetrics) AnyKind() *StatusMetrics { return m.anyKind }

// Declared returns the Declarations of all metrics, sorted by name.
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
