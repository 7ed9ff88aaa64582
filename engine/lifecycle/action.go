package lifecycle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// An Action is one thing to be done to a claim, its node or its instance. It is one of Launch, Register, Initialize,
// Delete, SetDeadline, DeleteNodes, EndInstance, Release and Warn; doing one twice does no harm.
type Action interface {
	fmt.Stringer
	action()
}

// Launch asks the provider for the claim's instance. The answer must be there by Deadline; later the claim is given
// up.
type Launch struct {
	Deadline time.Time
}

// Register gives the claim's node what the claim promised of it. All of it goes into one write.
type Register struct {
	Node string
	// Labels and Annotations are laid over the node's.
	Labels, Annotations map[string]string
	// ClaimLabels are what the provider learned only now; they go onto the claim as well.
	ClaimLabels map[string]string
	// AddTaints are missing on the node, RemoveTaints are to go, whatever their effect is by then; order matters to nobody.
	AddTaints, RemoveTaints []corev1.Taint
	// Owner and Finalizer tie node and claim together.
	Owner     metav1.OwnerReference
	Finalizer string
	// Soften changes the effect of the unregistered taint from NoExecute to NoSchedule.
	Soften bool
	// Complete is false while a hook or nominations hold the node back: what is known is written, the unregistered taint stays.
	Complete bool
}

// Initialize tells everybody that pods may count on the node.
type Initialize struct {
	Node   string
	Labels map[string]string
	// AddTaints keep pods off the node for now.
	AddTaints []corev1.Taint
}

// A DeleteReason says why a claim was given up; it is a label value in metrics.
type DeleteReason string

// The reasons for giving up a claim.
const (
	DeleteLaunchTimeout        DeleteReason = "launch_timeout"
	DeleteRegistrationTimeout  DeleteReason = "registration_timeout"
	DeleteInsufficientCapacity DeleteReason = "insufficient_capacity"
	DeleteNodeClassNotReady    DeleteReason = "nodeclass_not_ready"
	DeleteGarbageCollected     DeleteReason = "garbage_collected"
	DeleteExpired              DeleteReason = "expired"
)

// Delete gives the claim up: it is deleted, and its end takes the usual way.
type Delete struct {
	Reason DeleteReason
}

// SetDeadline writes down when the claim's node will be ended by force.
type SetDeadline struct {
	At time.Time
}

// DeleteNodes deletes nodes, in name order. Their drain is their own affair; the claim waits for them to be gone.
type DeleteNodes struct {
	Names []string
}

// EndInstance asks the provider to end the instance. If it has none any more the View's Instance is InstanceGone, and
// Next is to be asked again instead of doing the rest of the Judgement.
type EndInstance struct{}

// Release takes the finalizer off the claim: nothing of it is left.
type Release struct{}

// Warn tells people something that is wrong, as an event on the claim.
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

func (a Launch) String() string {
	return "launch by " + a.Deadline.UTC().Format(time.RFC3339)
}

func (a Register) String() string {
	var b strings.Builder
	if a.Complete {
		fmt.Fprintf(&b, "register node %s", a.Node)
	} else {
		fmt.Fprintf(&b, "prepare node %s", a.Node)
	}
	fmt.Fprintf(&b, "\n  owner %s %s\n  finalizer %s", a.Owner.Kind, a.Owner.Name, a.Finalizer)
	writePairs(&b, "label", a.Labels)
	writePairs(&b, "claim label", a.ClaimLabels)
	writePairs(&b, "annotation", a.Annotations)
	for _, t := range a.AddTaints {
		fmt.Fprintf(&b, "\n  taint %s", t.ToString())
	}
	if a.Soften {
		fmt.Fprintf(&b, "\n  soften taint %s", apiv1.UnregisteredTaintKey)
	}
	for _, t := range a.RemoveTaints {
		fmt.Fprintf(&b, "\n  untaint %s", t.ToString())
	}
	return b.String()
}

func (a Initialize) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "initialize node %s", a.Node)
	writePairs(&b, "label", a.Labels)
	for _, t := range a.AddTaints {
		fmt.Fprintf(&b, "\n  taint %s", t.ToString())
	}
	return b.String()
}

func (a Delete) String() string { return "delete claim: " + string(a.Reason) }

func (a SetDeadline) String() string { return "set deadline " + a.At.UTC().Format(time.RFC3339) }

func (a DeleteNodes) String() string { return "delete nodes " + strings.Join(a.Names, " ") }

func (a EndInstance) String() string { return "end instance" }

func (a Release) String() string { return "release claim" }

func (a Warn) String() string { return "warn " + a.Reason + ": " + a.Message }

// writePairs writes m a line an entry, by key.
func writePairs(b *strings.Builder, what string, m map[string]string) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(b, "\n  %s %s=%s", what, k, m[k])
	}
}
