package v1alpha1

// ConditionTypeReady is the only condition.
const ConditionTypeReady = "Ready"

// Labels of the kwok provider's instance types.
const (
	// InstanceSizeLabelKey is the part of the type's name after the dot, as in
	// m5.large. If the name has no dot, it is the number of CPUs.
	InstanceSizeLabelKey = Group + "/instance-size"
	// InstanceFamilyLabelKey is the part of the type's name before the first dash or dot.
	InstanceFamilyLabelKey = Group + "/instance-family"
	// InstanceCPULabelKey is the number of CPUs.
	InstanceCPULabelKey = Group + "/instance-cpu"
	// InstanceMemoryLabelKey is the memory as a quantity.
	InstanceMemoryLabelKey = Group + "/instance-memory"
)
