package telemetry

import "github.com/prometheus/client_golang/prometheus"

// NodeClaimMetrics are about claims.
type NodeClaimMetrics struct {
	// CreatedTotal (reason, nodepool, min_values_relaxed).
	CreatedTotal *prometheus.CounterVec
	// TerminatedTotal (nodepool, capacity_type, zone).
	TerminatedTotal *prometheus.CounterVec
	// DisruptedTotal (reason, nodepool, capacity_type, consolidation_policy, termination_mode); reason is a Disrupted value.
	DisruptedTotal *prometheus.CounterVec
	// UnhealthyDisruptedTotal (condition, nodepool, capacity_type, image_id).
	UnhealthyDisruptedTotal *prometheus.CounterVec
	// InstanceTerminationDurationSeconds (nodepool): from asking the cloud to the instance being gone.
	InstanceTerminationDurationSeconds *prometheus.HistogramVec
	// TerminationDurationSeconds (nodepool): from the deletion of the claim to its end.
	TerminationDurationSeconds *prometheus.HistogramVec
}

// DisruptionLabels are the labels of a disruption, on claims and on pods alike, in the order of WithLabelValues.
func DisruptionLabels() []string {
	return []string{"reason", "nodepool", "capacity_type", "consolidation_policy", "termination_mode"}
}

func newNodeClaimMetrics(d declarer) *NodeClaimMetrics {
	return &NodeClaimMetrics{
		CreatedTotal: d.counter("created_total", "Claims created.", "reason", "nodepool", "min_values_relaxed"),
		TerminatedTotal: d.counter("terminated_total", "Claims that have ended.",
			"nodepool", "capacity_type", "zone"),
		DisruptedTotal: d.counter("disrupted_total", "Claims that Karpenter decided to end, by cause.",
			DisruptionLabels()...),
		UnhealthyDisruptedTotal: d.counter("unhealthy_disrupted_total",
			"Claims ended because their node was beyond repair, by the node condition that said so.",
			"condition", "nodepool", "capacity_type", "image_id"),
		InstanceTerminationDurationSeconds: d.histogram("instance_termination_duration_seconds",
			"Time from the request to end an instance until it is gone.", powersOfTwo(10), "nodepool"),
		TerminationDurationSeconds: d.histogram("termination_duration_seconds",
			"Time from the deletion of a claim until its finalizer is removed.", powersOfTwo(11), "nodepool"),
	}
}

// Values of the label reason of disruptions.
const (
	DisruptedUnderutilized        = "underutilized"
	DisruptedEmpty                = "empty"
	DisruptedDrifted              = "drifted"
	DisruptedExpired              = "expired"
	DisruptedUnhealthy            = "unhealthy"
	DisruptedGarbageCollected     = "garbage_collected"
	DisruptedInsufficientCapacity = "insufficient_capacity"
	DisruptedNodeClassNotReady    = "nodeclass_not_ready"
	DisruptedLaunchTimeout        = "launch_timeout"
	DisruptedRegistrationTimeout  = "registration_timeout"
)
