package v1

// Annotations of Karpenter.
const (
	// DoNotDisruptAnnotationKey keeps a pod, and so its node, or a node itself
	// from voluntary disruption. On nodes and claims only "true" counts; on pods
	// also a positive Go duration, measured from the start of the pod.
	DoNotDisruptAnnotationKey = Group + "/do-not-disrupt"
	// DoNotRepairAnnotationKey with the value "true" keeps a node from repair, replacement and reboot alike. It is read on the
	// Node once that is registered, on the NodeClaim before.
	DoNotRepairAnnotationKey = Group + "/do-not-repair"
	// DisruptionCostAnnotationKey on a pod is what its eviction costs, an int32. It counts in place of
	// controller.kubernetes.io/pod-deletion-cost.
	DisruptionCostAnnotationKey = Group + "/disruption-cost"
	// RebootPreBootIDAnnotationKey on a NodeClaim is the boot ID of its node before the reboot was requested from the cloud.
	RebootPreBootIDAnnotationKey = Group + "/reboot-pre-boot-id"
	// RebootTerminationGracePeriodAnnotationKey on a NodeClaim bounds the drain before a reboot, a Go duration. Absent means
	// no bound, 0s means no drain.
	RebootTerminationGracePeriodAnnotationKey = Group + "/reboot-termination-grace-period"
	// NodePoolHashAnnotationKey holds NodePool.Hash as it was when a claim was made.
	NodePoolHashAnnotationKey = Group + "/nodepool-hash"
	// NodePoolHashVersionAnnotationKey is the version of the hash.
	NodePoolHashVersionAnnotationKey = Group + "/nodepool-hash-version"
	// NodeClaimTerminationTimestampAnnotationKey is when a claim that drains is
	// ended by force (RFC 3339).
	NodeClaimTerminationTimestampAnnotationKey = Group + "/nodeclaim-termination-timestamp"
	// NodeClaimMinValuesRelaxedAnnotationKey is "true" if the best-effort policy
	// gave up minValues for this claim, "false" if it did not have to.
	NodeClaimMinValuesRelaxedAnnotationKey = Group + "/nodeclaim-min-values-relaxed"
	// RequestedDRADriversAnnotationKey lists, separated by commas, the drivers of
	// dynamic resources that must publish slices before the node is initialized.
	RequestedDRADriversAnnotationKey = Group + "/requested-dra-drivers"
	// PriceOverlayAppliedAnnotationKey is "true" if a NodeOverlay set the price.
	PriceOverlayAppliedAnnotationKey = Group + "/price-overlay-applied"
	// CapacityOverlayAppliedAnnotationKey is "true" if a NodeOverlay added capacity.
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
