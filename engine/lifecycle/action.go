package lifecycle

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// An Action is one step for a claim, its node or its instance: Launch, Register, Initialize, Delete, SetDeadline,
// DeleteNodes, EndInstance, Release or Warn. All actions are idempotent.
type Action interface{ action() }

// Launch requests the claim's instance from the provider. The call must return by Deadline, because the claim is
// deleted then.
type Launch struct {
	Deadline time.Time
}

// Register updates the claim's node in one write: it adds labels, annotations and taints of the claim, an owner reference to the
// claim, and the finalizer. Once the registration is complete, it removes the unregistered taint.
type Register struct {
	Node string
	// Labels and Annotations are added to those of the node and replace equal keys.
	Labels, Annotations map[string]string
	// ClaimLabels are labels from the registration hook that the claim lacks. They are written to the claim as well.
	ClaimLabels map[string]string
	// AddTaints are missing on the node. RemoveTaints are removed by key, whatever their effect.
	AddTaints, RemoveTaints []corev1.Taint
	// Owner is the owner reference to the claim. Finalizer keeps the node until it is drained.
	Owner     metav1.OwnerReference
	Finalizer string
	// Soften changes the effect of the unregistered taint from NoExecute to NoSchedule.
	Soften bool
	// Complete is false while a hook or missing nominations delay the registration. The unregistered taint then stays.
	Complete bool
}

// Initialize labels the node as initialized. From then on, pods may rely on its resources.
type Initialize struct {
	Node   string
	Labels map[string]string
	// AddTaints reserve the node for a staged move.
	AddTaints []corev1.Taint
}

// A DeleteReason is the reason why Next deletes a claim. It is a label value in metrics.
type DeleteReason string

// The reasons for deleting a claim.
const (
	DeleteLaunchTimeout         DeleteReason = "launch_timeout"
	DeleteRegistrationTimeout   DeleteReason = "registration_timeout"
	DeleteInitializationTimeout DeleteReason = "initialization_timeout"
	DeleteInsufficientCapacity  DeleteReason = "insufficient_capacity"
	DeleteNodeClassNotReady     DeleteReason = "nodeclass_not_ready"
	DeleteGarbageCollected      DeleteReason = "garbage_collected"
	DeleteExpired               DeleteReason = "expired"
)

// Delete deletes the claim. Because of its finalizer, the claim is then drained and terminated as usual.
type Delete struct {
	Reason DeleteReason
}

// SetDeadline writes the time at which the drain of the claim's node no longer waits for pods.
type SetDeadline struct {
	At time.Time
}

// DeleteNodes deletes nodes, in name order. Nodes with Karpenter's finalizer are drained first, and the claim stays
// until they are gone.
type DeleteNodes struct {
	Names []string
}

// EndInstance requests the provider to terminate the instance. If the provider has no such instance, the caller sets
// View.InstanceGone and calls Next again, without executing the rest of the Judgement.
type EndInstance struct{}

// Release removes the finalizer from the claim, because its nodes and its instance are gone.
type Release struct{}

// Warn emits a warning event on the claim.
type Warn struct {
	Reason, Message string
}

func (Launch) action()      {}
func (Register) action()    {}
func (Initialize) action()  {}
func (Delete) action()      {}
func (SetDeadline) action() {}
func (DeleteNodes) action() {}
func (EndInstance) action() {}
func (Release) action()     {}
func (Warn) action()        {}
