package v1

import (
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Labels of Karpenter on nodes and claims.
const (
	// NodePoolLabelKey names the pool that owns a claim and its node.
	NodePoolLabelKey = Group + "/nodepool"
	// CapacityTypeLabelKey is one of the CapacityType values.
	CapacityTypeLabelKey = Group + "/capacity-type"
	// NodeRegisteredLabelKey is "true" once the node has its claim's labels and taints.
	NodeRegisteredLabelKey = Group + "/registered"
	// NodeInitializedLabelKey is "true" once the node is initialized.
	NodeInitializedLabelKey = Group + "/initialized"
	// NodeDoNotSyncTaintsLabelKey: if it is "true", registration does not write
	// the claim's taints to the node. It still removes the unregistered taint.
	NodeDoNotSyncTaintsLabelKey = Group + "/do-not-sync-taints"
	// ExcludeBalancersLabelValue is the value of the label
	// node.kubernetes.io/exclude-from-external-load-balancers on a node that drains.
	ExcludeBalancersLabelValue = "karpenter"
)

// Values of CapacityTypeLabelKey.
const (
	CapacityTypeSpot     = "spot"
	CapacityTypeOnDemand = "on-demand"
	CapacityTypeReserved = "reserved"
)

// Values of the label kubernetes.io/arch.
const (
	ArchitectureAmd64 = "amd64"
	ArchitectureArm64 = "arm64"
)

// ReadinessTaintPrefix is the prefix of the keys of taints that readiness gates
// add to a node and remove.
const ReadinessTaintPrefix = "readiness.k8s.io/"

// TerminationFinalizer prevents the deletion of a claim and its node until the instance is terminated.
const TerminationFinalizer = Group + "/termination"

// NodeClassLabelKey returns the key of the label of claims and nodes whose
// value is the name of their node class: <group>/<kind in lower case>. The key
// also identifies their provider.
func NodeClassLabelKey(kind schema.GroupKind) string {
	return kind.Group + "/" + strings.ToLower(kind.Kind)
}
