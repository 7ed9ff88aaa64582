package telemetry

import "github.com/prometheus/client_golang/prometheus"

// InterruptionMetrics are about how fast notices of interruptions are acted on.
type InterruptionMetrics struct {
	// ToCordonSeconds is from an event until new pods are kept off the node.
	ToCordonSeconds prometheus.Histogram
	// ToLaunchSeconds is from an event until the next claim of the same pool was launched.
	ToLaunchSeconds prometheus.Histogram
}

func newInterruptionMetrics(d declarer) *InterruptionMetrics {
	seconds := []float64{0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300}
	histogram := func(name, help string) prometheus.Histogram {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Name: d.fullName(name), Help: help, Buckets: seconds})
		d.note(h, "histogram", name, help, nil)
		return h
	}
	return &InterruptionMetrics{
		ToCordonSeconds: histogram("taint_latency_seconds", "Time from an interruption message until the node is tainted, in seconds."),
		ToLaunchSeconds: histogram("replacement_launch_latency_seconds",
			"Time from an interruption message until the next NodeClaim of the NodePool is launched, in seconds."),
	}
}
