package v1

// Annotations of Karpenter.
const (
	// DoNotDisruptAnnotationKey on a pod, node or claim excludes the node from
	// voluntary disruption. On nodes and claims, the only effective value is
	// "true". On pods, the value may also be a positive Go duration, measured
	// from the start of the pod.
	DoNotDisruptAnnotationKey = Group + "/do-not-disrupt"
	// DoNotRepairAnnotationKey with the value "true" excludes a node from repair, both by
	// replacement and by reboot. It is read from the Node, to which registration copies the
	// annotations of the NodeClaim.
	DoNotRepairAnnotationKey = Group + "/do-not-repair"
	// DisruptionCostAnnotationKey on a pod is the cost of its eviction, an int32. It takes precedence over
	// controller.kubernetes.io/pod-deletion-cost.
	DisruptionCostAnnotationKey = Group + "/disruption-cost"
	// RebootPreBootIDAnnotationKey on a NodeClaim is the boot ID of its node before the reboot was requested from the cloud.
	RebootPreBootIDAnnotationKey = Group + "/reboot-pre-boot-id"
	// RebootTerminationGracePeriodAnnotationKey on a NodeClaim bounds the drain before a reboot, a Go duration. Absent means
	// no bound, 0s means no drain.
	RebootTerminationGracePeriodAnnotationKey = Group + "/reboot-termination-grace-period"
	// NodePoolHashAnnotationKey on a NodePool is the present value of NodePool.Hash. On a claim, it is the value when the
	// claim was created. If the version of the hash has changed since then, it is the value of the new version, unless the
	// claim had drifted.
	NodePoolHashAnnotationKey = Group + "/nodepool-hash"
	// NodePoolHashVersionAnnotationKey is NodePoolHashVersion at the time when the hash was written.
	NodePoolHashVersionAnnotationKey = Group + "/nodepool-hash-version"
	// NodeClaimTerminationTimestampAnnotationKey is the time (RFC 3339) at
	// which the drain of a claim ends by force, because terminationGracePeriod
	// has elapsed.
	NodeClaimTerminationTimestampAnnotationKey = Group + "/nodeclaim-termination-timestamp"
	// NodeClaimMinValuesRelaxedAnnotationKey is set on each claim that
	// Karpenter plans: "true" if the planned instance types do not meet
	// minValues, which the minValues policy BestEffort allows, else "false".
	NodeClaimMinValuesRelaxedAnnotationKey = Group + "/nodeclaim-min-values-relaxed"
	// RequestedDRADriversAnnotationKey lists, separated by commas, the drivers of
	// dynamic resources that must publish slices before the node is initialized.
	RequestedDRADriversAnnotationKey = Group + "/requested-dra-drivers"
	// PriceOverlayAppliedAnnotationKey on a claim is "true" if a NodeOverlay set
	// the price of an offering that the claim can use.
	PriceOverlayAppliedAnnotationKey = Group + "/price-overlay-applied"
	// CapacityOverlayAppliedAnnotationKey on a claim is "true" if a NodeOverlay
	// added resources to an instance type that the claim can use.
	CapacityOverlayAppliedAnnotationKey = Group + "/capacity-overlay-applied"
	// ProviderCompatibilityAnnotationKey is kept for objects of old versions.
	ProviderCompatibilityAnnotationKey = "compatibility." + Group + "/provider"
	// CapacityBufferFakePodAnnotationKey is "true" on the virtual pods of a buffer.
	CapacityBufferFakePodAnnotationKey = Group + "/capacity-buffer-fake-pod"
	// CapacityBufferNameAnnotationKey names the buffer of a virtual pod.
	CapacityBufferNameAnnotationKey = Group + "/capacity-buffer-name"
	// CapacityBufferNamespaceAnnotationKey is the namespace of that buffer.
	CapacityBufferNamespaceAnnotationKey = Group + "/capacity-buffer-namespace"
)
