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
	// LaunchedDollarsPerHourTotal (namespace) counts prices of new nodes, divided equally among the pods they were launched for.
	LaunchedDollarsPerHourTotal *prometheus.CounterVec
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
			"Duration of one planning round in seconds.", DurationBuckets(), "controller"),
		QueueDepth: d.gauge("queue_depth", "Pods that the current planning round has not placed yet.",
			"controller", "scheduling_id"),
		UnfinishedWorkSeconds: d.gauge("unfinished_work_seconds", "Time since the current planning round began, in seconds.",
			"controller", "scheduling_id"),
		IgnoredPodsCount: d.gauge("ignored_pods_count",
			"Pending pods ignored because of unsupported or invalid constraints."),
		UnschedulablePodsCount: d.gauge("unschedulable_pods_count",
			"Pods that the last planning round could not place.", "controller"),
		PendingPodsByEffectiveZoneCount: d.gauge("pending_pods_by_effective_zone_count",
			"Pending pods by the only zone that is feasible for them, or \"flexible\" or \"none\".", "controller", "zone"),
		NominationsTotal: d.counter("nominations_total",
			"Nominations of pods to nodes, written or cleared.", "action"),
		ReplannedPodsTotal: d.counter("replanned_pods_total",
			"Pods that were planned again because they were not bound to the planned node.", "controller"),
		UnusableLaunchesTotal: d.counter("unusable_launches_total",
			"Launched nodes that could not run the pods they were launched for.", "nodepool"),
		LaunchedDollarsPerHourTotal: d.counter("launched_dollars_per_hour_total",
			"Prices of the nodes launched for pending pods of a namespace, in US dollars per hour. The price of a node is divided "+
				"equally among the pods it was launched for.", "namespace"),
		PlanFaultsTotal: d.counter("plan_faults_total",
			"Internal errors of the planner: violated rules and panics. The pods concerned were left out of the plan.",
			"controller", "fault"),
		BackoffPodsCount: d.gauge("backoff_pods_count",
			"Pods whose next launch is delayed because earlier launched nodes could not run them.", "controller"),
	}
}
