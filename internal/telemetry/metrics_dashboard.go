package telemetry

import "github.com/prometheus/client_golang/prometheus"

// DashboardMetrics are the metrics of the dashboard. They have no series while it is off. They do not exist in upstream
// Karpenter.
type DashboardMetrics struct {
	// Pages is the number of open streams, that is, of responses that send changes to an open page.
	Pages *prometheus.GaugeVec
	// DroppedPagesTotal counts streams that were ended because the page did not read them.
	DroppedPagesTotal *prometheus.CounterVec
	// SentBytesTotal counts the bytes of streams, compressed.
	SentBytesTotal *prometheus.CounterVec
	// SnapshotAgeSeconds is the time since the shown fleet was last compared with the cluster. It is set at each tick.
	SnapshotAgeSeconds *prometheus.GaugeVec
}

func newDashboardMetrics(d declarer) *DashboardMetrics {
	return &DashboardMetrics{
		Pages: d.gauge("pages", "Open pages of the dashboard."),
		DroppedPagesTotal: d.counter("dropped_pages_total",
			"Pages of the dashboard that were disconnected because they did not read what was sent. They connect again."),
		SentBytesTotal: d.counter("sent_bytes_total", "Bytes that streams of the dashboard sent, compressed."),
		SnapshotAgeSeconds: d.gauge("snapshot_age_seconds",
			"Time since the fleet that the dashboard shows was last compared with the cluster, in seconds. Without open pages it is up to 15 seconds."),
	}
}
