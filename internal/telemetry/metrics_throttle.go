package telemetry

import "github.com/prometheus/client_golang/prometheus"

// ThrottleMetrics are about what holds the whole cluster back. They are beyond upstream's.
type ThrottleMetrics struct {
	// Paused (what) is 1 while launches, or disruption, are paused.
	Paused *prometheus.GaugeVec
	// HeldBack (what: launches, replacements, static) is how many nodes were not launched when that was last decided: for pods
	// that wait, in the place of others, and for pools of a fixed size.
	HeldBack *prometheus.GaugeVec
}

func newThrottleMetrics(d declarer) *ThrottleMetrics {
	return &ThrottleMetrics{
		Paused: d.gauge("paused", "1 while the action (launches or disruption) is paused, else 0.", "action"),
		HeldBack: d.gauge("withheld_nodes",
			"Nodes that the last decision did not launch because of a pause or a rate limit.", "action"),
	}
}
