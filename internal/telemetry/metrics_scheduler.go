package telemetry

import "github.com/prometheus/client_golang/prometheus"

// SchedulerMetrics are the metrics of planning: plans of the solver (package pack) for pending pods, nominations, and
// faults of plans.
type SchedulerMetrics struct {
	// SchedulingDurationSeconds has the label controller.
	SchedulingDurationSeconds *prometheus.HistogramVec
	// QueueDepth has the labels controller and scheduling_id, which is empty. It is the number of pending pods.
	QueueDepth *prometheus.GaugeVec
	// UnfinishedWorkSeconds has the same labels.
	UnfinishedWorkSeconds *WorkInProgress
	// IgnoredPodsCount has no labels.
	IgnoredPodsCount *prometheus.GaugeVec
	// UnschedulablePodsCount has the label controller.
	UnschedulablePodsCount *prometheus.GaugeVec
	// UnschedulablePodsByRuleCount (label rule) counts the same pods by the rule that the nearest NodePool breaks.
	UnschedulablePodsByRuleCount *prometheus.GaugeVec
	// PendingPodsByEffectiveZoneCount has the labels controller and zone. The value of zone is the name of a zone, ZoneFlexible or
	// ZoneNone.
	PendingPodsByEffectiveZoneCount *prometheus.GaugeVec
	// NominationsTotal has the label action. Its value is NominationWritten or NominationCleared.
	NominationsTotal *prometheus.CounterVec
	// NominatedPodsBoundTotal has the labels scheduler and node. The value of node is BoundAsNominated or BoundElsewhere.
	NominatedPodsBoundTotal *prometheus.CounterVec
	// ReplannedPodsTotal (label controller) counts the pods for which a round planned another node than the round before,
	// or none.
	ReplannedPodsTotal *prometheus.CounterVec
	// UnusableLaunchesTotal (label nodepool) counts the new nodes that could not run the pods for which they were launched.
	UnusableLaunchesTotal *prometheus.CounterVec
	// LaunchedDollarsPerHourTotal (label namespace) counts prices of new nodes. A price is divided equally among the pods for
	// which the node was launched.
	LaunchedDollarsPerHourTotal *prometheus.CounterVec
	// PlanFaultsTotal (labels controller and fault) counts violations of scheduling rules in plans of the solver, and
	// panics of the solver. The pods and nodes concerned are removed from the plan.
	PlanFaultsTotal *prometheus.CounterVec
	// BackoffPodsCount (label controller) is the number of pods for which the next launch is delayed, because the nodes
	// launched before could not run them.
	BackoffPodsCount *prometheus.GaugeVec
}

// Values of the label action of NominationsTotal.
const (
	NominationWritten = "written"
	NominationCleared = "cleared"
)

// Values of the label node of NominatedPodsBoundTotal.
const (
	BoundAsNominated = "nominated"
	// BoundElsewhere is for pods that were bound to another node although their nominated node accepted pods.
	BoundElsewhere = "other"
)

// Values of the label fault of PlanFaultsTotal.
const (
	// FaultViolation is for a violation that the check of a plan (package verify) found.
	FaultViolation = "violation"
	// FaultPanic is for a panic of the solver or of the check.
	FaultPanic = "panic"
)

// Values of the label zone for pods that are not tied to one zone.
const (
	// ZoneFlexible is for pods that can run in more than one zone.
	ZoneFlexible = "flexible"
	// ZoneNone is for pods that can run in no zone.
	ZoneNone = "none"
)

func newSchedulerMetrics(d declarer) *SchedulerMetrics {
	return &SchedulerMetrics{
		SchedulingDurationSeconds: d.histogram("scheduling_duration_seconds",
			"Duration of one planning round in seconds.", DurationBuckets(), "controller"),
		QueueDepth: d.gauge("queue_depth", "Pods that the current planning round has not placed yet.",
			"controller", "scheduling_id"),
		UnfinishedWorkSeconds: d.workInProgress("unfinished_work_seconds",
			"Time since the current planning round or decision about disruption began, in seconds, 0 between them."),
		IgnoredPodsCount: d.gauge("ignored_pods_count",
			"Pending pods ignored because of unsupported or invalid constraints."),
		UnschedulablePodsCount: d.gauge("unschedulable_pods_count",
			"Pods that the last planning round could not place.", "controller"),
		UnschedulablePodsByRuleCount: d.gauge("unschedulable_pods_by_rule_count",
			"Pods that the last planning round could not place, by the rule that the nearest NodePool breaks.", "rule"),
		PendingPodsByEffectiveZoneCount: d.gauge("pending_pods_by_effective_zone_count",
			"Pending pods by the only zone that is feasible for them, or \"flexible\" or \"none\".", "controller", "zone"),
		NominationsTotal: d.counter("nominations_total",
			"Nominations of pods to nodes, written or cleared.", "action"),
		NominatedPodsBoundTotal: d.counter("nominated_pods_bound_total",
			"Nominated pods that were bound, by scheduler: to the nominated node, or to another one.", "scheduler", "node"),
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
