package telemetry

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// NodeMetrics are the metrics of nodes. The gauges have the labels resource_type (except CurrentLifetimeSeconds),
// node_name, phase, managed and one for each of WellKnown.
type NodeMetrics struct {
	// CreatedTotal and TerminatedTotal have the labels nodepool and zone.
	CreatedTotal    *prometheus.CounterVec
	TerminatedTotal *prometheus.CounterVec
	// DrainedTotal has the label nodepool.
	DrainedTotal *prometheus.CounterVec
	// TerminationDurationSeconds (label nodepool) is the time from the deletion timestamp of the node until it no longer
	// existed.
	TerminationDurationSeconds *prometheus.SummaryVec
	// LifetimeDurationSeconds (label nodepool) is the time from the creation of the node until it no longer existed.
	LifetimeDurationSeconds *prometheus.HistogramVec

	// RebootsTotal and RebootDurationSeconds have the label result. Its value is one of the Reboot constants. The duration starts
	// with the request for the reboot.
	RebootsTotal          *prometheus.CounterVec
	RebootDurationSeconds *prometheus.HistogramVec
	// RebootRecoveryDurationSeconds is the time of a successful reboot from the acceptance of the request by the cloud until the
	// node is ready.
	RebootRecoveryDurationSeconds prometheus.Histogram

	Allocatable            *prometheus.GaugeVec
	TotalPodRequests       *prometheus.GaugeVec
	TotalPodLimits         *prometheus.GaugeVec
	TotalDaemonRequests    *prometheus.GaugeVec
	TotalDaemonLimits      *prometheus.GaugeVec
	SystemOverhead         *prometheus.GaugeVec
	CurrentLifetimeSeconds *prometheus.GaugeVec

	// WellKnown has the keys of the node labels whose values are the last metric labels, in the order of
	// WithLabelValues. It must not be changed.
	WellKnown []string
}

func newNodeMetrics(d declarer, wellKnownLabels []string) *NodeMetrics {
	wellKnown := MetricLabels(wellKnownLabels)
	names := slices.Sorted(maps.Values(wellKnown))
	keys := slices.SortedFunc(maps.Keys(wellKnown), func(a, b string) int {
		return cmp.Compare(wellKnown[a], wellKnown[b])
	})
	lifetime := append([]string{"node_name", "phase", "managed"}, names...)
	labels := append([]string{"resource_type"}, lifetime...)
	return &NodeMetrics{
		CreatedTotal:    d.counter("created_total", "Nodes registered with the cluster.", "nodepool", "zone"),
		TerminatedTotal: d.counter("terminated_total", "Nodes terminated.", "nodepool", "zone"),
		DrainedTotal:    d.counter("drained_total", "Nodes drained of their pods.", "nodepool"),
		TerminationDurationSeconds: d.summary("termination_duration_seconds",
			"Time from the deletion of a node until its finalizer is removed, in seconds.", "nodepool"),
		LifetimeDurationSeconds: d.histogram("lifetime_duration_seconds",
			"Age of nodes at their termination in seconds.", lifetimeBuckets(), "nodepool"),
		RebootsTotal: d.counter("reboots_total", "Reboots of nodes by node repair, by result.", "result"),
		RebootDurationSeconds: d.histogram("reboot_duration_seconds",
			"Time from the request of a reboot until its end, in seconds.", rebootBuckets(), "result"),
		RebootRecoveryDurationSeconds: d.histogram("reboot_recovery_duration_seconds",
			"Time from the acceptance of a reboot by the cloud until the node is ready, in seconds.", rebootBuckets()).
			WithLabelValues().(prometheus.Histogram),
		Allocatable: d.gauge("allocatable", "Resources that pods can use, in cores, bytes or counts.", labels...),
		TotalPodRequests: d.gauge("total_pod_requests",
			"Requests of the pods on the node, including DaemonSet pods.", labels...),
		TotalPodLimits: d.gauge("total_pod_limits",
			"Limits of the pods on the node, including DaemonSet pods.", labels...),
		TotalDaemonRequests: d.gauge("total_daemon_requests", "Requests of the DaemonSet pods on the node.", labels...),
		TotalDaemonLimits:   d.gauge("total_daemon_limits", "Limits of the DaemonSet pods on the node.", labels...),
		SystemOverhead: d.gauge("system_overhead",
			"Resources reserved for the system: capacity minus allocatable.", labels...),
		CurrentLifetimeSeconds: d.gauge("current_lifetime_seconds", "Age of the node in seconds.", lifetime...),
		WellKnown:              keys,
	}
}

// MetricLabels maps keys of Kubernetes labels to names of metric labels: the part after the slash, with underscores for
// dashes and dots. If two keys have the same name, only the alphabetically first is in the result.
func MetricLabels(keys []string) map[string]string {
	names, taken := make(map[string]string, len(keys)), map[string]bool{}
	for _, key := range slices.Sorted(slices.Values(keys)) {
		name := strings.NewReplacer("-", "_", ".", "_").Replace(key[strings.LastIndex(key, "/")+1:])
		if !taken[name] {
			names[key], taken[name] = name, true
		}
	}
	return names
}

// PerResource returns the gauges that have a series for each resource of each node.
func (m *NodeMetrics) PerResource() []*prometheus.GaugeVec {
	return []*prometheus.GaugeVec{
		m.Allocatable, m.TotalPodRequests, m.TotalPodLimits, m.TotalDaemonRequests, m.TotalDaemonLimits, m.SystemOverhead,
	}
}
