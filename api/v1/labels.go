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
	// NodeInitializedLabelKey is "true" once pods may count on the node.
	NodeInitializedLabelKey = Group + "/initialized"
	// NodeDoNotSyncTaintsLabelKey, if "true", keeps registration from writing the
	// claim's taints to the node; the unregistered taint is removed all the same.
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

// ReadinessTaintPrefix begins the keys of taints that readiness gates put on a
// node and take off by themselves.
const ReadinessTaintPrefix = "readiness.k8s.io/"

// TerminationFinalizer keeps a claim and its node until the instance is gone.
const TerminationFinalizer = Group + "/termination"

// NodeClassLabelKey is the label that claims and nodes carry for their node
// class, with its name as value: <group>/<kind in lower case>. It also tells
// which provider manages them.
func NodeClassLabelKey(kind schema.GroupKind) string {
	return kind.Group + "/" + strings.ToLower(kind.Kind)
}
