package telemetry

import "github.com/prometheus/client_golang/prometheus"

// ClusterStateMetrics are the metrics of Karpenter's cached state of the cluster.
type ClusterStateMetrics struct {
	// NodeCount, Synced (0 or 1) and UnsyncedTimeSeconds have no labels.
	NodeCount           *prometheus.GaugeVec
	Synced              *prometheus.GaugeVec
	UnsyncedTimeSeconds *prometheus.GaugeVec
	// UtilizationPercent has the label resource_type and values from 0 to 100.
	UtilizationPercent *prometheus.GaugeVec
	// ClockOffsetSeconds has no labels.
	ClockOffsetSeconds *prometheus.GaugeVec
}

func newClusterStateMetrics(d declarer) *ClusterStateMetrics {
	s := d.in("cluster_state")
	return &ClusterStateMetrics{
		NodeCount:           s.gauge("node_count", "Nodes in the state cache, including those of launched NodeClaims that have not joined."),
		Synced:              s.gauge("synced", "1 if the state cache is in sync with the API server."),
		UnsyncedTimeSeconds: s.gauge("unsynced_time_seconds", "Time for which the state cache has not been in sync, in seconds."),
		UtilizationPercent: d.in("cluster").gauge("utilization_percent",
			"Requests of all pods in percent of the allocatable resources of all nodes, including launched ones that have not joined.", "resource_type"),
		ClockOffsetSeconds: d.gauge("clock_offset_seconds",
			"By how much the controller's clock is ahead of the API server's, in seconds; negative if it is behind. Beyond 30, the earlier one counts."),
	}
}

// CloudMetrics are the metrics of calls to the cloud provider.
type CloudMetrics struct {
	// DurationSeconds has the labels controller, method and provider.
	DurationSeconds *prometheus.HistogramVec
	// ErrorsTotal has the labels controller, method, provider, error and nodepool. The value of error is cloud.Kind of the error.
	// The value of nodepool is the NodePool of the object in the call, or empty if it has none.
	ErrorsTotal *prometheus.CounterVec
}

func newCloudMetrics(d declarer) *CloudMetrics {
	return &CloudMetrics{
		DurationSeconds: d.histogram("duration_seconds", "Duration of calls to the cloud provider in seconds.",
			DurationBuckets(), "controller", "method", "provider"),
		ErrorsTotal: d.counter("errors_total", "Failed calls to the cloud provider.",
			"controller", "method", "provider", "error", "nodepool"),
	}
}
