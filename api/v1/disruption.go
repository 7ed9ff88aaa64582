package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Disruption says when nodes of a pool may be taken away by choice.
type Disruption struct {
	ConsolidateAfter    NillableDuration    `json:"consolidateAfter"`
	ConsolidationPolicy ConsolidationPolicy `json:"consolidationPolicy,omitempty"`
	Budgets             []Budget            `json:"budgets,omitempty" hash:"ignore"`
}

// Budget bounds how many nodes of a pool may be disrupted at a time.
type Budget struct {
	Reasons  []DisruptionReason `json:"reasons,omitempty"`
	Nodes    string             `json:"nodes" hash:"ignore"`
	Schedule *string            `json:"schedule,omitempty" hash:"ignore"`
	Duration *metav1.Duration   `json:"duration,omitempty" hash:"ignore"`
}

// ConsolidationPolicy says which nodes consolidation looks at.
type ConsolidationPolicy string

// Consolidation policies.
const (
	ConsolidationPolicyWhenEmpty                ConsolidationPolicy = "WhenEmpty"
	ConsolidationPolicyWhenEmptyOrUnderutilized ConsolidationPolicy = "WhenEmptyOrUnderutilized"
	ConsolidationPolicyBalanced                 ConsolidationPolicy = "Balanced"
)

// DisruptionReason is why a node is disrupted by choice.
type DisruptionReason string

// Disruption reasons.
const (
	DisruptionReasonUnderutilized DisruptionReason = "Underutilized"
	DisruptionReasonEmpty         DisruptionReason = "Empty"
	DisruptionReasonDrifted       DisruptionReason = "Drifted"
)
