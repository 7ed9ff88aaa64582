package v1alpha1

// ConditionTypeReady is the root condition of an overlay.
const ConditionTypeReady = "Ready"

// ConditionTypeValidationSucceeded is the only dependent of the root.
const ConditionTypeValidationSucceeded = "ValidationSucceeded"

// Reasons of ValidationSucceeded=False.
const (
	// ReasonRuntimeValidation: the spec contradicts itself.
	ReasonRuntimeValidation = "RuntimeValidation"
	// ReasonConflict: another overlay of the same weight claims the same offering.
	ReasonConflict = "Conflict"
)
