package interruption

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// An Action is what to do about one claim because of a notice, in the order of its fields. It is idempotent.
type Action struct {
	// Claim is the claim that the notice concerns.
	Claim *apiv1.NodeClaim
	// Node is the claim's node, nil if it has none yet.
	Node *corev1.Node
	// Notice is the most urgent notice about the claim.
	Notice model.Notice
	// Unavailable is the capacity type that has no capacity for the claim's instance type and zone, or for its
	// reservation. It is empty if the notice is not about capacity.
	Unavailable string
	// Told is the Kubernetes event that reports the notice. Its Reason is empty if there is none.
	Told Event
	// Deadline is the termination deadline of the drain, written to the claim before it is deleted; zero for none.
	Deadline time.Time
	// Delete is true if the claim is deleted.
	Delete bool
	// Ended is the Kubernetes event that reports the deletion of the claim. Its Reason is empty if there is none.
	Ended Event
	// Cordon is true if the node is cordoned after the claim is deleted.
	Cordon bool
}

// An Event is a Kubernetes event for a claim and its node.
type Event struct {
	// Type is Normal or Warning.
	Type            string
	Reason, Message string
}
