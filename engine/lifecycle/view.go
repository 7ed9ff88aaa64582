package lifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// A View is all that Next may look at. It is not changed.
type View struct {
	// Now is the moment of the judgement.
	Now time.Time
	// Claim is the claim as it was read last, with what this pass has already set on it.
	Claim *apiv1.NodeClaim
	// Nodes are those whose provider ID is the claim's. Without a provider ID there are none.
	Nodes []*corev1.Node
	// Hook is the provider's word on registration. The zero Hook lets the node pass.
	Hook Hook
	// Instance is what the provider said last when it was asked to end the instance.
	Instance InstanceState
	// DRA tells that drivers of dynamic resources must have published before a node is initialized; Slices are what
	// was published for the claim's node, in any order.
	DRA    bool
	Slices []*resourcev1.ResourceSlice
}

// A Hook is a provider's answer whether a node may be declared registered.
type Hook struct {
	// Wait longer than zero holds the node back and is when to ask again.
	Wait time.Duration
	// Labels are added to claim and node, also while the node is held back.
	Labels map[string]string
	// Err is what went wrong in asking, for people; the node is held back. Empty if nothing did.
	Err string
}

// pending reports whether the hook holds the node back.
func (h Hook) pending() bool { return h.Wait > 0 || h.Err != "" }

// An InstanceState is what is known of the end of a claim's instance.
type InstanceState uint8

const (
	// InstanceUnknown means that the provider was not asked yet in this pass.
	InstanceUnknown InstanceState = iota
	// InstanceGone means that the provider has no such instance, or never launched one.
	InstanceGone
)
