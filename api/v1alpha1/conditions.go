package v1alpha1

// ConditionTypeReady is the root condition of an overlay.
const ConditionTypeReady = "Ready"

// ConditionTypeValidationSucceeded is the only dependent of the root.
const ConditionTypeValidationSucceeded = "ValidationSucceeded"

// Reasons of ValidationSucceeded=False.
const (
	// ReasonRuntimeValidation: NodeOverlay.Validate has found mistakes in the spec.
	ReasonRuntimeValidation = "RuntimeValidation"
	// ReasonConflict: another overlay of the same weight sets the same value of the same offering.
	ReasonConflict = "Conflict"
)
