package telemetry

import "github.com/prometheus/client_golang/prometheus"

// NodePoolMetrics are about pools.
type NodePoolMetrics struct {
	// Limit and Usage (resource_type, nodepool), in base units: cores, bytes, counts.
	Limit *prometheus.GaugeVec
	Usage *prometheus.GaugeVec
	// CostTotal (nodepool), in US dollars an hour.
	CostTotal *prometheus.GaugeVec
	// CostTrackerErrorsTotal (nodepool).
	CostTrackerErrorsTotal *prometheus.CounterVec
	// AllowedDisruptions and NodesConsumingBudgets (nodepool, reason).
	AllowedDisruptions    *prometheus.GaugeVec
	NodesConsumingBudgets *prometheus.GaugeVec
}

func newNodePoolMetrics(d declarer) *NodePoolMetrics {
	return &NodePoolMetrics{
		Limit:     d.gauge("limit", "Limits of the pool.", "resource_type", "nodepool"),
		Usage:     d.gauge("usage", "Capacity of the nodes of the pool.", "resource_type", "nodepool"),
		CostTotal: d.gauge("cost_total", "Price of the nodes of the pool, in dollars an hour.", "nodepool"),
		CostTrackerErrorsTotal: d.counter("cost_tracker_errors_total",
			"Nodes whose price could not be found.", "nodepool"),
		AllowedDisruptions: d.gauge("allowed_disruptions",
			"Nodes that the budgets of the pool allow to disrupt now.", "nodepool", "reason"),
		NodesConsumingBudgets: d.gauge("nodes_consuming_budgets",
			"Nodes that count against the budgets of the pool now.", "nodepool", "reason"),
	}
}
