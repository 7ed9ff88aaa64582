package telemetry

import "github.com/prometheus/client_golang/prometheus"

// BrakeMetrics are about what holds the whole cluster back. They are beyond upstream's.
type BrakeMetrics struct {
	// Paused (what) is 1 while launches, or disruption, are paused.
	Paused *prometheus.GaugeVec
	// HeldBack (what: launches, replacements, static) is how many nodes were not launched when that was last decided: for pods
	// that wait, in the place of others, and for pools of a fixed size.
	HeldBack *prometheus.GaugeVec
}

func newBrakeMetrics(d declarer) *BrakeMetrics {
	return &BrakeMetrics{
		Paused: d.gauge("paused", "1 while it is paused for the whole cluster, else 0.", "what"),
		HeldBack: d.gauge("held_back_nodes",
			"Nodes that would have been launched at the last decision but for a pause or a bound a minute.", "what"),
	}
}
