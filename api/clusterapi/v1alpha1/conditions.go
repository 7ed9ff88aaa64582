package v1alpha1

// Conditions of a ClusterAPINodeClass.
const (
	// ConditionTypeReady is the root: the class can be used.
	ConditionTypeReady = "Ready"
	// ConditionTypeClusterReady means that the Cluster exists, is not being deleted and is not paused.
	ConditionTypeClusterReady = "ClusterReady"
	// ConditionTypeTemplatesReady means that at least one template can be used. The message names those that cannot.
	ConditionTypeTemplatesReady = "TemplatesReady"
	// ConditionTypePricesKnown means that each template has a price in each of its zones. Ready does not depend on it.
	// The message names the templates without a price. No Machines are created from these.
	ConditionTypePricesKnown = "PricesKnown"
)

// Reasons of conditions that are not True.
const (
	ReasonClusterNotFound  = "ClusterNotFound"
	ReasonClusterDeleting  = "ClusterDeleting"
	ReasonClusterPaused    = "ClusterPaused"
	ReasonNoTemplates      = "NoTemplates"
	ReasonInvalidTemplates = "InvalidTemplates"
	ReasonUnknownPrices    = "UnknownPrices"
	ReasonPricesNotRead    = "PricesNotRead"
	ReasonNotReachable     = "ManagementClusterNotReachable"
)
