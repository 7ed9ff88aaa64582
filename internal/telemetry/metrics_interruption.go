package telemetry

import "github.com/prometheus/client_golang/prometheus"

// InterruptionMetrics are the metrics of Karpenter's reaction times to interruptions of instances.
type InterruptionMetrics struct {
	// ToCordonSeconds is the time from an event of the cloud until the node is tainted against new pods.
	ToCordonSeconds prometheus.Histogram
	// ToLaunchSeconds is the time from an event of the cloud until the next NodeClaim of the same NodePool is launched.
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
