package nominate

import (
	"time"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

const (
	// maxWaitForNominations bounds how long a node whose pods are all nominated waits for other nodes of its plan:
	// those that have joined and whose pods are not all nominated. It counts from the creation of the Node, as
	// maxWaitForLaunches does.
	maxWaitForNominations = 25 * time.Second
	// maxWaitForLaunches bounds how long a node whose pods are all nominated waits for claims of its plan that are not
	// launched.
	maxWaitForLaunches = 3 * time.Second
	// samePlan is the largest difference between the creation times of claims of one plan. API servers truncate times
	// to seconds.
	samePlan = time.Second
	// settle is how long a node waits while any nomination is missing, because kube-scheduler clears nominations when a
	// node joins. After that, the node waits only if more than negligible nominations are missing. The few missing ones
	// are written before the node is released.
	settle     = 2 * time.Second
	negligible = 20
)

// A release decides which claims need not wait for nominations any longer.
//
// Whenever the taint of a new node is removed, kube-scheduler tries all pending pods. It clears their nominations to
// nodes that still have the taint. So the nodes of one plan are released together.
type release struct {
	s       *model.Snapshot
	options Options
	// outstanding are the nodes that have joined while some of their pods are not nominated yet, with the number of these pods.
	// missing is the sum of these numbers.
	outstanding map[*model.Node]int
	missing     int
	// firstOutstanding is the earliest creation time of the claims of the outstanding nodes. firstLaunch is the earliest
	// creation time of the claims that are not launched. A time is zero if there is no such claim.
	firstOutstanding, firstLaunch time.Time
}

func newRelease(s *model.Snapshot, o Options, outstanding map[*model.Node]int) release {
	r := release{s: s, options: o, outstanding: outstanding}
	for n, pods := range outstanding {
		r.missing += pods
		r.firstOutstanding = earlier(r.firstOutstanding, n.Claim)
	}
	for _, c := range s.Claims.Values() {
		if model.WaitsForNominations(c) && c.Status.ProviderID == "" && c.DeletionTimestamp == nil {
			r.firstLaunch = earlier(r.firstLaunch, c)
		}
	}
	return r
}

// earlier returns the earlier of t and the creation time of the claim. A zero t is ignored.
func earlier(t time.Time, c *apiv1.NodeClaim) time.Time {
	if created := c.CreationTimestamp.Time; t.IsZero() || created.Before(t) {
		return created
	}
	return t
}

// claims returns the claims whose nodes have joined and are released. waiting reports whether others that have joined
// are not.
func (r release) claims() (nominated []Nominated, waiting bool) {
	for _, c := range r.s.Claims.Values() {
		n, ok := r.s.NodeByName(c.Name)
		if !model.WaitsForNominations(c) || !ok || n.Claim != c || n.Registered || n.Deleting {
			continue
		}
		switch {
		case !r.options.On:
			nominated = append(nominated, Nominated{Claim: c})
		case n.Object == nil || n.Object.Name == c.Annotations[apiv1.PodsNominatedToAnnotationKey]:
		case r.ready(n):
			nominated = append(nominated, Nominated{Claim: c, Node: n.Object.Name})
		default:
			waiting = true
		}
	}
	return nominated, waiting
}

// ready reports whether the node is released. It is not released while Options.Launching is set, or while nominations are
// missing (see settle) and some of them are for the node's own pods. For a limited time it also waits for other nodes that
// are not of a later plan: maxWaitForNominations for nominations, maxWaitForLaunches for claims that are not launched.
func (r release) ready(n *model.Node) bool {
	waited, latest := r.s.Now.Sub(n.Object.CreationTimestamp.Time), n.Claim.CreationTimestamp.Add(samePlan)
	precedes := func(t time.Time) bool { return !t.IsZero() && !t.After(latest) }
	lacks := r.missing > negligible || r.missing > 0 && waited < settle
	switch {
	case r.options.Launching || lacks && r.outstanding[n] > 0:
		return false
	case lacks && waited < maxWaitForNominations && precedes(r.firstOutstanding):
		return false
	case waited < maxWaitForLaunches && precedes(r.firstLaunch):
		return false
	}
	return true
}
