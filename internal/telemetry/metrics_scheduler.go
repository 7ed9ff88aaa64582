package telemetry

import "github.com/prometheus/client_golang/prometheus"

// SchedulerMetrics are about the solver, in provisioning and in simulations of disruption.
type SchedulerMetrics struct {
	// SchedulingDurationSeconds (controller).
	SchedulingDurationSeconds *prometheus.HistogramVec
	// QueueDepth and UnfinishedWorkSeconds (controller, scheduling_id): one round each; deleted when the round is over.
	QueueDepth            *prometheus.GaugeVec
	UnfinishedWorkSeconds *prometheus.GaugeVec
	// IgnoredPodsCount has no labels.
	IgnoredPodsCount *prometheus.GaugeVec
	// UnschedulablePodsCount (controller).
	UnschedulablePodsCount *prometheus.GaugeVec
	// PendingPodsByEffectiveZoneCount (controller, zone): zone is a name, ZoneFlexible or ZoneNone.
	PendingPodsByEffectiveZoneCount *prometheus.GaugeVec
	// NominationsTotal (action): NominationWritten or NominationCleared.
	NominationsTotal *prometheus.CounterVec
	// ReplannedPodsTotal (controller) counts the pods that were not bound to the node that they were planned for.
	ReplannedPodsTotal *prometheus.CounterVec
	// UnusableLaunchesTotal (nodepool) counts the new nodes that could not run the pods they were launched for.
	UnusableLaunchesTotal *prometheus.CounterVec
	// PlanFaultsTotal (controller, fault) counts violations and panics of plans; what they concern is left out.
	PlanFaultsTotal *prometheus.CounterVec
	// BackoffPodsCount (controller): pods that wait for another launch because nodes of the last ones could not run them.
	BackoffPodsCount *prometheus.GaugeVec
}

// Values of the label action of NominationsTotal.
const (
	NominationWritten = "written"
	NominationCleared = "cleared"
)

// Values of the label fault of PlanFaultsTotal.
const (
	// FaultViolation is for what the check of a plan objected to.
	FaultViolation = "violation"
	// FaultPanic is for a panic of the solver or of the check.
	FaultPanic = "panic"
)

// Values of the label zone for pods that are not tied to one zone.
const (
	// ZoneFlexible is for pods that may go to more than one zone.
	ZoneFlexible = "flexible"
	// ZoneNone is for pods that may go nowhere.
	ZoneNone = "none"
)

func newSchedulerMetrics(d declarer) *SchedulerMetrics {
	return &SchedulerMetrics{
		SchedulingDurationSeconds: d.histogram("scheduling_duration_seconds",
			"Time of one round, from snapshot to plan.", DurationBuckets(), "controller"),
		QueueDepth: d.gauge("queue_depth", "Pods that the running round has yet to place.",
			"controller", "scheduling_id"),
		UnfinishedWorkSeconds: d.gauge("unfinished_work_seconds", "Time since the running round began.",
			"controller", "scheduling_id"),
		IgnoredPodsCount: d.gauge("ignored_pods_count",
			"Pending pods left out because they ask for what Karpenter cannot give."),
		UnschedulablePodsCount: d.gauge("unschedulable_pods_count",
			"Pods that the last round could not place.", "controller"),
		PendingPodsByEffectiveZoneCount: d.gauge("pending_pods_by_effective_zone_count",
			"Pending pods by the one zone that they can go to, or \"flexible\" or \"none\".", "controller", "zone"),
		NominationsTotal: d.counter("nominations_total",
			"Nominations of pods to the nodes that they were planned for, written or cleared.", "action"),
		ReplannedPodsTotal: d.counter("replanned_pods_total",
			"Pods that were planned for one node and needed another plan, for another node or for none.", "controller"),
		UnusableLaunchesTotal: d.counter("unusable_launches_total",
			"Nodes that came up and that the pods they were launched for could not use.", "nodepool"),
		PlanFaultsTotal: d.counter("plan_faults_total",
			"Faults of the planner: a rule that a plan broke, or a panic. What they concern was left out of the plan.",
			"controller", "fault"),
		BackoffPodsCount: d.gauge("backoff_pods_count",
			"Pods that wait for another launch because the last ones were in vain.", "controller"),
	}
}
