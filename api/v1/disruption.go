package v1

// Disruption configures the voluntary disruption of the nodes of a pool.
type Disruption struct {
	// Time after which the node can be consolidated, since a pod was last bound to it,
	// finished, or began to terminate (status.lastPodEventTime of the NodeClaim). A
	// duration in h, m and s such as 30s or 1h30m, or Never, which disables
	// consolidation, also of empty nodes. Default: 0s.
	// +kubebuilder:default:="0s"
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(([0-9]+(s|m|h))+|Never)$`
	// +optional
	ConsolidateAfter NillableDuration `json:"consolidateAfter"`

	// Nodes that can be consolidated. WhenEmpty: only nodes without pods that need
	// another node. WhenEmptyOrUnderutilized: also nodes whose pods fit on other
	// nodes or on a cheaper one. Balanced: like WhenEmptyOrUnderutilized, if the
	// score is at least 0.5; the score is the saved share of cost divided by the
	// disrupted share of pods. Default: WhenEmptyOrUnderutilized.
	// +kubebuilder:default:="WhenEmptyOrUnderutilized"
	// +optional
	ConsolidationPolicy ConsolidationPolicy `json:"consolidationPolicy,omitempty"`

	// Maximum number of nodes disrupted at the same time; the smallest active budget
	// for the reason applies. Default: 10% at any time for any reason. An empty list
	// means unlimited.
	// +kubebuilder:default:={{nodes: "10%"}}
	// +kubebuilder:validation:MaxItems=50
	// +listType=atomic
	// +optional
	Budgets []Budget `json:"budgets,omitzero"`
}

// Budget bounds how many nodes of a pool may be disrupted at a time.
//
// +kubebuilder:validation:XValidation:rule="has(self.schedule) == has(self.duration)",message="a budget needs schedule and duration together: set both for a window, or neither for always"
type Budget struct {
	// Reasons that the budget applies to: Underutilized, Empty, Drifted, Unhealthy. Default:
	// all.
	// +kubebuilder:validation:MaxItems=50
	// +listType=set
	// +optional
	Reasons []DisruptionReason `json:"reasons,omitempty"`

	// Maximum number of nodes, or a percentage of the initialized nodes of the NodePool, such as
	// 20%, rounded up. 0 or 0% blocks disruption while the budget is active. Default:
	// 10%.
	// +kubebuilder:default:="10%"
	// +kubebuilder:validation:Pattern=`^((100|[0-9]{1,2})%|[0-9]+)$`
	Nodes string `json:"nodes"`

	// Start of the window in which the budget is active: five cron fields (minute,
	// hour, day of month, month, day of week), or @hourly, @daily, @midnight,
	// @weekly, @monthly, @yearly, @annually. Always UTC. Default: always active.
	// +kubebuilder:validation:Pattern=`^(@(annually|yearly|monthly|weekly|daily|midnight|hourly)|\s*\S+(\s+\S+){4}\s*)$`
	// +optional
	Schedule *string `json:"schedule,omitempty"`

	// Length of the window from each start of the schedule, in hours and minutes:
	// 8h, 30m, 1h30m.
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$`
	// +optional
	Duration *Duration `json:"duration,omitempty"`
}

// ConsolidationPolicy defines which nodes can be consolidated.
//
// +kubebuilder:validation:Enum=WhenEmpty;WhenEmptyOrUnderutilized;Balanced
type ConsolidationPolicy string

// Consolidation policies.
const (
	// ConsolidationPolicyWhenEmpty: only nodes without pods that need another node.
	ConsolidationPolicyWhenEmpty ConsolidationPolicy = "WhenEmpty"
	// ConsolidationPolicyWhenEmptyOrUnderutilized: all nodes whose consolidation saves money.
	ConsolidationPolicyWhenEmptyOrUnderutilized ConsolidationPolicy = "WhenEmptyOrUnderutilized"
	// ConsolidationPolicyBalanced: nodes whose consolidation saves enough money for the pods that it disrupts.
	ConsolidationPolicyBalanced ConsolidationPolicy = "Balanced"
)

// DisruptionReason is a reason for which a node is disrupted and to which budgets apply.
//
// +kubebuilder:validation:Enum=Underutilized;Empty;Drifted;Unhealthy
type DisruptionReason string

// Disruption reasons.
const (
	// DisruptionReasonUnderutilized: the same pods can run on cheaper or fewer nodes.
	DisruptionReasonUnderutilized DisruptionReason = "Underutilized"
	// DisruptionReasonEmpty: the node has no pods that need another node.
	DisruptionReasonEmpty DisruptionReason = "Empty"
	// DisruptionReasonDrifted: the node differs from its pool or node class.
	DisruptionReasonDrifted DisruptionReason = "Drifted"
	// DisruptionReasonUnhealthy: a condition of the node matches a repair policy.
	DisruptionReasonUnhealthy DisruptionReason = "Unhealthy"
)
