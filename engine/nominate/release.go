package nominate

import (
	"time"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

const (
	// maxWaitForNominations is the longest time that a node whose pods are all nominated waits for the nominations of other nodes
	// of its plan that have joined, from when it has joined itself.
	maxWaitForNominations = 25 * time.Second
	// maxWaitForLaunches is the same for other claims of its plan that are not launched yet.
	maxWaitForLaunches = 3 * time.Second
	// samePlan is how far apart the creation times of claims of one plan may be. API servers write times in whole seconds.
	samePlan = time.Second
	// settle is how long a node that has joined waits until no nomination is missing. When a node joins, the scheduler tries all
	// pending pods and erases their nominations, and that takes it a moment. After that up to negligible nominations may be
	// missing, which are written before the claims are released.
	settle     = 2 * time.Second
	negligible = 20
)

// A release decides which claims need not wait for nominations any longer.
//
// The scheduler tries all pending pods again whenever a node is opened to pods, and erases the nominations of those whose node is
// still closed. So nodes of one plan are released together.
type release struct {
	s       *model.Snapshot
	options Options
	// outstanding are the nodes that have joined with pods that lack their nomination.
	outstanding map[*model.Node]bool
	// missing is how many nominations they lack.
	missing int
	// firstOutstanding is when the first of their claims was created, firstLaunch when the first of the claims was created that wait
	// for their launch. Both are zero if there is none.
	firstOutstanding, firstLaunch time.Time
}

func newRelease(s *model.Snapshot, o Options, outstanding map[*model.Node]bool) release {
	r := release{s: s, options: o, outstanding: outstanding}
	for n := range outstanding {
		r.firstOutstanding = earlier(r.firstOutstanding, n.Claim)
	}
	for _, c := range s.Claims() {
		if waitsForNominations(c) && c.Status.ProviderID == "" && c.DeletionTimestamp == nil {
			r.firstLaunch = earlier(r.firstLaunch, c)
		}
	}
	return r
}

// earlier returns the earlier of t, if it is not zero, and the creation of the claim.
func earlier(t time.Time, c *apiv1.NodeClaim) time.Time {
	if created := c.CreationTimestamp.Time; t.IsZero() || created.Before(t) {
		return created
	}
	return t
}

// claims returns the claims whose nodes have joined and need not wait any longer, and whether others are left whose nodes have
// joined and wait.
func (r release) claims() (nominated []Nominated, waiting bool) {
	for _, c := range r.s.Claims() {
		n, ok := r.s.NodeByName(c.Name)
		if !waitsForNominations(c) || !ok || n.Claim != c || n.Registered || n.Deleting {
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

// ready reports whether all pods of the node, which has joined, are nominated, and no others of its plan need be waited for.
func (r release) ready(n *model.Node) bool {
	waited, latest := r.s.Now.Sub(n.Object.CreationTimestamp.Time), n.Claim.CreationTimestamp.Add(samePlan)
	precedes := func(t time.Time) bool { return !t.IsZero() && !t.After(latest) }
	lacks := r.missing > negligible || r.missing > 0 && waited < settle
	switch {
	case r.options.Launching || lacks && r.outstanding[n]:
		return false
	case lacks && waited < maxWaitForNominations && precedes(r.firstOutstanding):
		return false
	case waited < maxWaitForLaunches && precedes(r.firstLaunch):
		return false
	}
	return true
}

// waitsForNominations reports whether the registration of the claim's node waits, or has waited, for nominations.
func waitsForNominations(c *apiv1.NodeClaim) bool {
	_, waits := c.Annotations[apiv1.PodsNominatedToAnnotationKey]
	return waits
}
