package telemetry

import "github.com/prometheus/client_golang/prometheus"

// PodMetrics are the metrics of pods. Gauges whose names end in TimeSeconds have a series for each pod, with the labels
// name and namespace. The series exists until the pod reaches the state in the name, such as bound. In a large cluster
// these gauges have no series (see metrics.Detail). The metrics of binding also have the label dynamic_resources: whether
// the pod has ResourceClaims.
type PodMetrics struct {
	// State is 1 for each pod. It has the labels PodStateLabels. With many nodes, the series have no names, and the value
	// is the number of pods.
	State *prometheus.GaugeVec

	StartupDurationSeconds             *prometheus.SummaryVec
	BoundDurationSeconds               *prometheus.HistogramVec
	ProvisioningBoundDurationSeconds   *prometheus.HistogramVec
	ProvisioningStartupDurationSeconds *prometheus.HistogramVec
	SchedulingDecisionDurationSeconds  *prometheus.HistogramVec

	UnstartedTimeSeconds                       *prometheus.GaugeVec
	UnboundTimeSeconds                         *prometheus.GaugeVec
	ProvisioningUnstartedTimeSeconds           *prometheus.GaugeVec
	ProvisioningUnboundTimeSeconds             *prometheus.GaugeVec
	ProvisioningSchedulingUndecidedTimeSeconds *prometheus.GaugeVec

	// DrainedTotal has the label reason. Its value is the reason of the claim's condition DisruptionReason, "Forceful
	// Termination" if that is not True, and empty if the claim is not known.
	DrainedTotal *prometheus.CounterVec
	// EvictionRequestsTotal has the label code. Its value is the HTTP status of the API server's response.
	EvictionRequestsTotal *prometheus.CounterVec
	// DisruptionInitiatedTotal has the labels DisruptionLabels.
	DisruptionInitiatedTotal *prometheus.CounterVec
}

// PodStateLabels returns the labels of PodMetrics.State in the order of WithLabelValues.
func PodStateLabels() []string {
	return []string{
		"name", "namespace", "owner", "node", "scheduled", "nodepool", "zone", "arch", "capacity_type", "instance_type",
		"phase", "ready", "managed",
	}
}

func newPodMetrics(d declarer) *PodMetrics {
	pod, dynamic := []string{"name", "namespace"}, "dynamic_resources"
	binding := append(pod[:2:2], dynamic)
	m := &PodMetrics{
		State: d.gauge("state", "Always 1; the labels describe the state of the pod.", PodStateLabels()...),
		StartupDurationSeconds: d.summary("startup_duration_seconds",
			"Time from the creation of a pod until it is ready, in seconds."),
		BoundDurationSeconds: d.histogram("bound_duration_seconds",
			"Time from the creation of a pod until it is bound to a node, in seconds.", DurationBuckets(), dynamic),
		ProvisioningBoundDurationSeconds: d.histogram("provisioning_bound_duration_seconds",
			"Time from the planning decision for a pod until it is bound, in seconds.", DurationBuckets(), dynamic),
		ProvisioningStartupDurationSeconds: d.histogram("provisioning_startup_duration_seconds",
			"Time from the planning decision for a pod until it is ready, in seconds.", DurationBuckets()),
		SchedulingDecisionDurationSeconds: d.histogram("scheduling_decision_duration_seconds",
			"Time from the first observation of a pending pod until the first planning decision, in seconds.", DurationBuckets()),
		DrainedTotal:          d.counter("drained_total", "Pods evicted or deleted by drains, by reason.", "reason"),
		EvictionRequestsTotal: d.counter("eviction_requests_total", "Eviction requests, by HTTP status of the response.", "code"),
		DisruptionInitiatedTotal: d.counter("disruption_initiated_total",
			"Pods on nodes that Karpenter started to disrupt.", DisruptionLabels()...),
	}
	m.UnstartedTimeSeconds = d.gauge("unstarted_time_seconds",
		"Time since the creation of a pod that is not ready, in seconds.", pod...)
	m.UnboundTimeSeconds = d.gauge("unbound_time_seconds",
		"Time since the creation of a pod that is not bound, in seconds.", binding...)
	m.ProvisioningUnstartedTimeSeconds = d.gauge("provisioning_unstarted_time_seconds",
		"Time since the planning decision for a pod that is not ready, in seconds.", pod...)
	m.ProvisioningUnboundTimeSeconds = d.gauge("provisioning_unbound_time_seconds",
		"Time since the planning decision for a pod that is not bound, in seconds.", binding...)
	m.ProvisioningSchedulingUndecidedTimeSeconds = d.gauge("provisioning_scheduling_undecided_time_seconds",
		"Time since the first observation of a pod without a planning decision, in seconds.", pod...)
	return m
}
