package telemetry

import "github.com/prometheus/client_golang/prometheus"

// DisruptionMetrics are the metrics of voluntary disruption.
type DisruptionMetrics struct {
	// DecisionEvaluationDurationSeconds has the labels reason and consolidation_type.
	DecisionEvaluationDurationSeconds *prometheus.HistogramVec
	// DecisionsTotal has the labels decision, reason and consolidation_type.
	DecisionsTotal *prometheus.CounterVec
	// DecisionsByNodepoolTotal has the labels nodepool, decision, reason and consolidation_type.
	DecisionsByNodepoolTotal *prometheus.CounterVec
	// TerminateFirstDecisionsTotal has the labels nodepool, reason and terminate_first_reason.
	TerminateFirstDecisionsTotal *prometheus.CounterVec
	// EligibleNodes has the label reason.
	EligibleNodes *prometheus.GaugeVec
	// ConsolidationTimeoutsTotal and FailedValidationsTotal have the label consolidation_type.
	ConsolidationTimeoutsTotal *prometheus.CounterVec
	FailedValidationsTotal     *prometheus.CounterVec
	// QueueFailuresTotal has the labels decision, reason and consolidation_type.
	QueueFailuresTotal *prometheus.CounterVec
	// ConsolidationScore and ConsolidationMovesTotal have the labels decision, nodepool and policy. The value of policy is the
	// NodePool's consolidationPolicy.
	ConsolidationScore      *prometheus.HistogramVec
	ConsolidationMovesTotal *prometheus.CounterVec
	// BlockedDollarsPerHour has the labels nodepool and rule. The next two counters have the label nodepool. The three metrics do
	// not exist in upstream Karpenter.
	BlockedDollarsPerHour *prometheus.GaugeVec
	RedisruptionsTotal    *prometheus.CounterVec
	PodsMovedTotal        *prometheus.CounterVec
}

func newDisruptionMetrics(d declarer) *DisruptionMetrics {
	v, c := d.in("voluntary_disruption"), d.in("consolidation")
	m := &DisruptionMetrics{
		DecisionEvaluationDurationSeconds: v.histogram("decision_evaluation_duration_seconds",
			"Duration of decisions about disruption in seconds.", DurationBuckets(), "reason", "consolidation_type"),
		DecisionsTotal: v.counter("decisions_total", "Decisions to disrupt.",
			"decision", "reason", "consolidation_type"),
		DecisionsByNodepoolTotal: v.counter("decisions_by_nodepool_total", "Decisions to disrupt, by NodePool.",
			"nodepool", "decision", "reason", "consolidation_type"),
		TerminateFirstDecisionsTotal: v.counter("terminate_first_decisions_total",
			"Nodes terminated before their replacements were launched, by NodePool and cause.",
			"nodepool", "reason", "terminate_first_reason"),
		EligibleNodes: v.gauge("eligible_nodes", "Nodes that may be disrupted now.", "reason"),
		ConsolidationTimeoutsTotal: v.counter("consolidation_timeouts_total",
			"Searches for a consolidation that ended at their limit.", "consolidation_type"),
		FailedValidationsTotal: v.counter("failed_validations_total",
			"Decisions dropped because the cluster changed before they were carried out.", "consolidation_type"),
		QueueFailuresTotal: v.counter("queue_failures_total",
			"Replacements that were not initialized when their disruption was rolled back.", "decision", "reason", "consolidation_type"),
		ConsolidationScore: c.histogram("score", "Consolidation score: saved share of cost divided by disrupted share of pods.",
			scoreBuckets(), "decision", "nodepool", "policy"),
		ConsolidationMovesTotal: c.counter("moves_total", "Consolidations that pay, by whether they were approved.",
			"decision", "nodepool", "policy"),
		BlockedDollarsPerHour: v.gauge("unrealized_savings_dollars_per_hour",
			"Unrealized savings in USD/h, by the rule that blocks disruption.", "nodepool", "rule"),
		RedisruptionsTotal: v.counter("replacement_disruptions_total",
			"Disrupted nodes that were launched as replacements less than a day before.", "nodepool"),
		PodsMovedTotal: v.counter("pods_moved_total", "Pods that were rescheduled because their node was disrupted.", "nodepool"),
	}
	for _, kind := range []string{"multi", "single"} {
		m.ConsolidationTimeoutsTotal.WithLabelValues(kind) // creates the series with value 0
	}
	return m
}
