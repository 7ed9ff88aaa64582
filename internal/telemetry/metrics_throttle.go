package telemetry

import "github.com/prometheus/client_golang/prometheus"

// ThrottleMetrics are the metrics of limits and pauses that apply to the whole cluster. They do not exist in upstream
// Karpenter.
type ThrottleMetrics struct {
	// Paused (label action) is 1 while the action, launches or disruption, is paused.
	Paused *prometheus.GaugeVec
	// HeldBack is the number of nodes that the last decision did not launch because of a pause or limit. The label action is
	// launches (nodes for pending pods), replacements (of disrupted nodes) or static (nodes of static NodePools).
	HeldBack *prometheus.GaugeVec
}

func newThrottleMetrics(d declarer) *ThrottleMetrics {
	return &ThrottleMetrics{
		Paused: d.gauge("paused", "1 while the action (launches or disruption) is paused, else 0.", "action"),
		HeldBack: d.gauge("withheld_nodes",
			"Nodes that the last decision did not launch because of a pause or a rate limit.", "action"),
	}
}
