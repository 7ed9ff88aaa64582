package interruption

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// An Action is what is to be done about one claim, in the order of its fields. Doing it twice does no harm.
type Action struct {
	// Claim is the claim that the notice concerns.
	Claim *apiv1.NodeClaim
	// Node is the claim's node, nil if it has none yet.
	Node *corev1.Node
	// Notice is the most urgent notice about the claim.
	Notice model.Notice
	// Unavailable is the capacity type that is out of capacity for the claim's instance type and zone. For reserved capacity it
	// is the claim's reservation. It is empty if nothing was learned.
	Unavailable string
	// Told is the event about the notice, on claim and node. Its Reason is empty if there is none.
	Told Event
	// Deadline is when the drain stops waiting for pods, to be written onto the claim before it is deleted; zero for none.
	Deadline time.Time
	// Delete says that the claim is to be deleted.
	Delete bool
	// Ended is the event that the claim was deleted, on claim and node. Its Reason is empty if there is none.
	Ended Event
	// Cordon says that new pods are to be kept off the node, once the claim is deleted.
	Cordon bool
}

// An Event is a line for users about a claim and its node.
type Event struct {
	// Type is Normal or Warning.
	Type            string
	Reason, Message string
}

// String returns the action as text, a line for each step.
func (a Action) String() string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, "  "+format+"\n", args...) }
	fmt.Fprintf(&b, "%s: %s\n", a.Claim.Name, a.Notice.Kind)
	if a.Unavailable != "" {
		line("record %s capacity as unavailable", a.Unavailable)
	}
	if a.Told.Reason != "" {
		line("tell %s", a.Told)
	}
	if !a.Deadline.IsZero() {
		line("set deadline %s", a.Deadline.UTC().Format(time.RFC3339))
	}
	if a.Delete {
		line("delete the claim")
	}
	if a.Ended.Reason != "" {
		line("tell %s", a.Ended)
	}
	if a.Cordon {
		line("cordon node %s", a.Node.Name)
	}
	return b.String()
}

// String returns the event as text.
func (e Event) String() string { return fmt.Sprintf("%s %s: %s", e.Type, e.Reason, e.Message) }
