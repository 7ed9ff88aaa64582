package lifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// A View is the input of Next. Next does not change it.
type View struct {
	Now time.Time
	// Claim is the claim as last read, including the changes of this pass.
	Claim *apiv1.NodeClaim
	// LaunchTimeout is how long a launch of the claim may take. 0 means the constant LaunchTimeout.
	LaunchTimeout time.Duration
	// Nodes are the nodes with the claim's provider ID, none if the claim has no provider ID.
	Nodes []*corev1.Node
	// Hook is the provider's registration hook. The zero Hook allows the registration.
	Hook Hook
	// Instance is the result of the last EndInstance in this pass.
	Instance InstanceState
	// Pods are the pods of the claim's node. They are needed only after InitializationTimeoutAt.
	Pods []*corev1.Pod
	// DRA is true if DRA drivers must publish their devices before the node is initialized. Slices are the
	// ResourceSlices of the claim's node, in any order.
	DRA    bool
	Slices []*resourcev1.ResourceSlice
}

// A Hook is the result of the provider's registration hook, which decides whether a node may be registered.
type Hook struct {
	// Wait is the time until the hook is called again. If it is longer than zero, the registration is delayed.
	Wait time.Duration
	// Labels are added to the claim and the node, even while the registration is delayed.
	Labels map[string]string
	// Err is the error message of the provider, empty if there is none. An error delays the registration.
	Err string
}

// pending reports whether the hook delays the registration.
func (h Hook) pending() bool { return h.Wait > 0 || h.Err != "" }

// An InstanceState is the result of EndInstance for the claim's instance.
type InstanceState uint8

const (
	// InstanceUnknown means that the provider was not called in this pass.
	InstanceUnknown InstanceState = iota
	// InstanceGone is the state if the provider has no instance of the claim: it was terminated or never launched.
	InstanceGone
)
