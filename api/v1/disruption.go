package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Disruption says when nodes of a pool may be taken away by choice.
type Disruption struct {
	// How long a node must see no pod come or go before it may be consolidated:
	// a duration in h, m and s such as 30s or 1h30m, or Never, which stops
	// consolidation and the removal of empty nodes. Default: 0s.
	// +kubebuilder:default:="0s"
	// +kubebuilder:validation:Schemaless
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:Pattern=`^(([0-9]+(s|m|h))+|Never)$`
	// +optional
	ConsolidateAfter NillableDuration `json:"consolidateAfter"`

	// Which nodes may be consolidated. WhenEmpty: only those without pods that
	// would have to move. WhenEmptyOrUnderutilized: also those whose pods fit on
	// other or cheaper nodes. Balanced: like the former, but only where the saving
	// is worth the pods that have to move. Default: WhenEmptyOrUnderutilized.
	// +kubebuilder:default:="WhenEmptyOrUnderutilized"
	// +optional
	ConsolidationPolicy ConsolidationPolicy `json:"consolidationPolicy,omitempty"`

	// Most nodes of the pool that may be going away at the same time. All budgets
	// that are active and name the reason count; the smallest wins. Default: 10%
	// at any time for any reason. An empty list means no bound.
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
	// Reasons the budget is for: Underutilized, Empty, Drifted. Default: all.
	// +kubebuilder:validation:MaxItems=50
	// +listType=set
	// +optional
	Reasons []DisruptionReason `json:"reasons,omitempty"`

	// Most nodes: a number, or a part of the pool such as 20%, rounded up. 0 or
	// 0% forbids disruption while the budget is active. Default: 10%.
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
	Duration *metav1.Duration `json:"duration,omitempty"`
}

// ConsolidationPolicy says which nodes consolidation looks at.
//
// +kubebuilder:validation:Enum=WhenEmpty;WhenEmptyOrUnderutilized;Balanced
type ConsolidationPolicy string

// Consolidation policies.
const (
	// ConsolidationPolicyWhenEmpty: only nodes without pods that would move.
	ConsolidationPolicyWhenEmpty ConsolidationPolicy = "WhenEmpty"
	// ConsolidationPolicyWhenEmptyOrUnderutilized: all that saves money.
	ConsolidationPolicyWhenEmptyOrUnderutilized ConsolidationPolicy = "WhenEmptyOrUnderutilized"
	// ConsolidationPolicyBalanced: what saves enough for the pods it moves.
	ConsolidationPolicyBalanced ConsolidationPolicy = "Balanced"
)

// DisruptionReason is why a node is disrupted by choice.
//
// +kubebuilder:validation:Enum=Underutilized;Empty;Drifted
type DisruptionReason string

// Disruption reasons.
const (
	// DisruptionReasonUnderutilized: the same pods run cheaper elsewhere.
	DisruptionReasonUnderutilized DisruptionReason = "Underutilized"
	// DisruptionReasonEmpty: nothing on the node would have to move.
	DisruptionReasonEmpty DisruptionReason = "Empty"
	// DisruptionReasonDrifted: the node is no longer what its pool asks for.
	DisruptionReasonDrifted DisruptionReason = "Drifted"
)
