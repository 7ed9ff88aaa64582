package telemetry

import "github.com/prometheus/client_golang/prometheus"

// NodePoolMetrics are the metrics of NodePools.
type NodePoolMetrics struct {
	// Limit and Usage have the labels resource_type and nodepool. The unit is cores, bytes or a count, depending on the
	// resource.
	Limit *prometheus.GaugeVec
	Usage *prometheus.GaugeVec
	// CostTotal has the label nodepool. Its unit is US dollars per hour.
	CostTotal *prometheus.GaugeVec
	// CostTrackerErrorsTotal has the label nodepool. It counts each node once.
	CostTrackerErrorsTotal *prometheus.CounterVec
	// AllowedDisruptions and NodesConsumingBudgets have the labels nodepool and reason.
	AllowedDisruptions    *prometheus.GaugeVec
	NodesConsumingBudgets *prometheus.GaugeVec
}

func newNodePoolMetrics(d declarer) *NodePoolMetrics {
	return &NodePoolMetrics{
		Limit: d.gauge("limit", "Limits of the NodePool, in cores, bytes or counts.", "resource_type", "nodepool"),
		Usage: d.gauge("usage",
			"Capacity of the nodes of the NodePool that are not being disrupted or deleted, in cores, bytes or counts.", "resource_type", "nodepool"),
		CostTotal: d.gauge("cost_total", "Price of the nodes of the NodePool in USD/h.", "nodepool"),
		CostTrackerErrorsTotal: d.counter("cost_tracker_errors_total",
			"Nodes whose price is not known, each counted when it is first seen so.", "nodepool"),
		AllowedDisruptions: d.gauge("allowed_disruptions",
			"Nodes that the disruption budgets of the NodePool allow to disrupt now.", "nodepool", "reason"),
		NodesConsumingBudgets: d.gauge("nodes_consuming_budgets",
			"Nodes that count against the disruption budgets of the NodePool now.", "nodepool", "reason"),
	}
}
