package interruption

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A State is the input of Decide.
type State struct {
	Now     time.Time
	Notices []model.Notice
	// Claims are the claims of the provider that received the notices.
	Claims []*apiv1.NodeClaim
	// Nodes are the nodes of the cluster. A node belongs to the claim with its provider ID.
	Nodes []*corev1.Node
}

// Decide returns an action for each claim that a notice names, in the order of claim names. A claim that is being deleted
// has an action only if Action.whileDeleted leaves something to do. Notices about other instances are ignored.
func Decide(s State) []Action {
	nodes := make(map[string]*corev1.Node, len(s.Nodes))
	for _, n := range s.Nodes {
		nodes[n.Spec.ProviderID] = n
	}
	var actions []Action
	for _, claim := range s.Claims {
		notice, ok := mostUrgent(s.Notices, claim)
		if !ok {
			continue
		}
		a := actionFor(claim, nodes[claim.Status.ProviderID], notice, s.Now)
		if !claim.DeletionTimestamp.IsZero() {
			if a, ok = a.whileDeleted(); !ok {
				continue
			}
		}
		actions = append(actions, a)
	}
	slices.SortFunc(actions, func(a, b Action) int { return cmp.Compare(a.Claim.Name, b.Claim.Name) })
	return actions
}

// EarlyLimit is the age up to which Early returns a notice. It is the time that a spot instance runs after its notice.
const EarlyLimit = 2 * time.Minute

// Early returns the notices that may concern an instance whose launch has no known result yet, in their order. They
// must be handled again later. There are none if each claim has an instance. Otherwise these are the notices that
// require the deletion of a claim, name an instance that no claim has, and are not older than EarlyLimit. A notice
// without a time counts as older. Notices of instances that have stopped or are terminated are not among them: periodic
// checks find these instances.
func Early(s State) []model.Notice {
	known, launching := map[string]bool{}, false
	for _, claim := range s.Claims {
		id := claim.Status.ProviderID
		launching = launching || id == "" && claim.DeletionTimestamp.IsZero()
		known[id], known[shortOf(id)] = true, true
	}
	if !launching {
		return nil
	}
	var early []model.Notice
	for _, n := range s.Notices {
		switch {
		case n.Instance == "", known[n.Instance], urgency(n.Kind) < 0, s.Now.Sub(n.Time) > EarlyLimit:
		case n.Kind == model.NoticeInstanceStopped, n.Kind == model.NoticeInstanceTerminated:
		case responses[urgency(n.Kind)].to(n).end != keep:
			early = append(early, n)
		}
	}
	return early
}

// shortOf returns the ID of the instance within a provider ID.
func shortOf(id string) string { return id[strings.LastIndex(id, "/")+1:] }

// mostUrgent returns the most urgent notice about the claim, the first of equally urgent ones. Unknown kinds are ignored.
func mostUrgent(notices []model.Notice, claim *apiv1.NodeClaim) (found model.Notice, ok bool) {
	for _, n := range notices {
		if concerns(n, claim) && urgency(n.Kind) > urgency(found.Kind) {
			found, ok = n, true
		}
	}
	return found, ok
}

// concerns reports whether the notice names the instance of the claim or, if it names no instance, its node.
func concerns(n model.Notice, claim *apiv1.NodeClaim) bool {
	if n.Instance == "" {
		return n.Node != "" && n.Node == claim.Status.NodeName
	}
	return n.Instance == claim.Status.ProviderID || n.Instance == shortOf(claim.Status.ProviderID)
}

// actionFor returns the action that responses define for the notice.
func actionFor(claim *apiv1.NodeClaim, node *corev1.Node, n model.Notice, now time.Time) Action {
	r := responses[urgency(n.Kind)].to(n)
	a := Action{Claim: claim, Node: node, Notice: n, Unavailable: r.unavailable, Delete: r.end != keep}
	if r.reason != "" {
		a.Told = Event{Type: corev1.EventTypeWarning, Reason: r.reason, Message: n.Message}
		if r.end == keep || n.Kind == model.NoticeRebalance {
			a.Told.Type = corev1.EventTypeNormal
		}
	}
	if r.end < drain {
		return a
	}
	a.Ended = Event{
		Type: corev1.EventTypeWarning, Reason: ReasonTerminating,
		Message: fmt.Sprintf("Deleting NodeClaim %s after an interruption message: %s", claim.Name, strings.ReplaceAll(string(n.Kind), "_", " ")),
	}
	a.Cordon = node != nil && !model.HasTaint(node.Spec.Taints, apiv1.DisruptedNoScheduleTaint())
	if r.end == force && claim.Annotations[apiv1.NodeClaimTerminationTimestampAnnotationKey] == "" {
		a.Deadline = now
	}
	return a
}

// whileDeleted returns the part of the action that remains if the claim is being deleted. ok is false if nothing remains.
//
// Capacity is recorded as unavailable and the deadline is set as for other claims. The notice is told if it is an announcement
// of the cloud, or if it sets the deadline. Otherwise it is not told: the end of an instance may be the result of the deletion,
// and a failed check or pending event is found again at each poll while the node is drained.
func (a Action) whileDeleted() (_ Action, ok bool) {
	a.Delete, a.Ended, a.Cordon = false, Event{}, false
	if !announced(a.Notice.Kind) && a.Deadline.IsZero() {
		a.Told = Event{}
	}
	return a, a.Unavailable != "" || a.Told.Reason != "" || !a.Deadline.IsZero()
}

// An Action is what to do about one claim because of a notice. It is idempotent.
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
	// Deadline is the termination deadline of the drain, zero for none. It is written to the claim after its deletion: a claim
	// that is not deleted must not keep it.
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
