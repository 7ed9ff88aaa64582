package v1alpha1

// ConditionTypeReady is the only condition.
const ConditionTypeReady = "Ready"

// Labels of the kwok provider's instance types.
const (
	// InstanceSizeLabelKey is the number of CPUs of generic types, or what comes
	// after the dot in a name like m5.large.
	InstanceSizeLabelKey = Group + "/instance-size"
	// InstanceFamilyLabelKey is the name up to the first dash or dot.
	InstanceFamilyLabelKey = Group + "/instance-family"
	// InstanceCPULabelKey is the number of CPUs.
	InstanceCPULabelKey = Group + "/instance-cpu"
	// InstanceMemoryLabelKey is the memory as a quantity.
	InstanceMemoryLabelKey = Group + "/instance-memory"
)
