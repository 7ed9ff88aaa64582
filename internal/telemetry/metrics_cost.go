package telemetry

import "github.com/prometheus/client_golang/prometheus"

// CostMetrics are the metrics of what nodes cost and what disruption saves. They do not exist in upstream Karpenter. The label
// kind is workload, idle or overhead. The label cause is the reason of idle capacity or the sort of overhead; it is empty for
// workloads.
type CostMetrics struct {
	// DollarsPerHour and DollarsTotal have the labels nodepool, capacity_type, kind and cause.
	DollarsPerHour *prometheus.GaugeVec
	DollarsTotal   *prometheus.CounterVec
	// NamespaceDollarsPerHour and NamespaceDollarsTotal (label namespace) are about workloads. At most 50 namespaces have series of
	// their own. The value for all others is "other".
	NamespaceDollarsPerHour *prometheus.GaugeVec
	NamespaceDollarsTotal   *prometheus.CounterVec
	// FloorDollarsPerHour and UnpricedNodes have no labels.
	FloorDollarsPerHour *prometheus.GaugeVec
	UnpricedNodes       *prometheus.GaugeVec
	// CommitmentUtilization and CommitmentCoverage (label commitment) are shares from 0 to 1.
	CommitmentUtilization *prometheus.GaugeVec
	CommitmentCoverage    *prometheus.GaugeVec
	// SavingsPlanned and SavingsRealized (labels reason and decision) are sums since the start, in dollars per hour.
	SavingsPlanned  *prometheus.GaugeVec
	SavingsRealized *prometheus.GaugeVec
	// ActionsTotal has the labels reason, decision and result. ActionEvictionsTotal has the labels reason and decision.
	ActionsTotal         *prometheus.CounterVec
	ActionEvictionsTotal *prometheus.CounterVec
	// PredictionErrorRatio has the label quantity. PredictedPlacementsTotal has the label result.
	PredictionErrorRatio     *prometheus.HistogramVec
	PredictedPlacementsTotal *prometheus.CounterVec
}

// The values of the label result of PredictedPlacementsTotal.
const (
	PlacementHit  = "hit"
	PlacementMiss = "miss"
)

func newCostMetrics(d declarer) *CostMetrics {
	c, s, p := d.in("cost"), d.in("savings"), d.in("prediction")
	by := []string{"nodepool", "capacity_type", "kind", "cause"}
	return &CostMetrics{
		DollarsPerHour: c.gauge("dollars_per_hour", "Price of all nodes in USD/h, by what it is for.", by...),
		DollarsTotal:   c.counter("dollars_total", "Price of all nodes in USD over time, by what it was for.", by...),
		NamespaceDollarsPerHour: c.gauge("namespace_dollars_per_hour",
			"Share of workloads in the price of nodes in USD/h, by namespace.", "namespace"),
		NamespaceDollarsTotal: c.counter("namespace_dollars_total",
			"Share of workloads in the price of nodes in USD over time, by namespace.", "namespace"),
		FloorDollarsPerHour: c.gauge("floor_dollars_per_hour",
			"Lower bound of the price of nodes for the running pods, in USD/h."),
		UnpricedNodes: c.gauge("unpriced_nodes", "Nodes whose price is not known. They count as free."),
		CommitmentUtilization: c.gauge("commitment_utilization_ratio",
			"Share of a commitment of the price book that nodes use, from 0 to 1.", "commitment"),
		CommitmentCoverage: c.gauge("commitment_coverage_ratio",
			"Share of the nodes that a commitment of the price book could cover that it covers, from 0 to 1.", "commitment"),
		SavingsPlanned: s.gauge("planned_dollars_per_hour",
			"Savings in USD/h that decisions about disruption expected, of all that were carried out since the start.", "reason", "decision"),
		SavingsRealized: s.gauge("realized_dollars_per_hour",
			"Savings in USD/h that were measured after the replacement, of all disruptions since the start.", "reason", "decision"),
		ActionsTotal: s.counter("actions_total", "Disruptions that ended, by whether they were done or cancelled.",
			"reason", "decision", "result"),
		ActionEvictionsTotal: s.counter("evictions_total", "Pods that moved because of disruptions that were done.", "reason", "decision"),
		PredictionErrorRatio: p.histogram("error_ratio",
			"Relative error of predictions about new nodes: allocatable cpu and memory, boot time.", ratioBuckets(), "quantity"),
		PredictedPlacementsTotal: p.counter("placements_total",
			"Pods that were bound, by whether it was to the planned node.", "result"),
	}
}
