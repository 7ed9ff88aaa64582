package disrupt

import (
	"cmp"
	"slices"
	"strings"
	"time"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
)

// youth is how long a replacement may take to come up. What is older and not initialized is not counted on.
const youth = 15 * time.Minute

// leftOver reports whether n has an instance that is paid for, is about to be initialized, and was launched in the place of
// nodes that stay for now: nobody waits for it, and what has to move may wait for it rather than for one more node.
func leftOver(s *model.Snapshot, n *model.Node) bool {
	if n.Claim == nil || !n.Launched() || n.Initialized || n.Deleting || stuck(s, n) {
		return false
	}
	stay := false
	for _, name := range replaces(n) {
		claim, there := s.Claim(name)
		if !there {
			continue
		}
		if claim.DeletionTimestamp != nil || slices.Contains(names(claim.Annotations[apiv1.ReplacedByAnnotationKey]), n.Claim.Name) {
			return false
		}
		stay = true
	}
	return stay
}

// stuck reports whether n should have come up long ago.
func stuck(s *model.Snapshot, n *model.Node) bool {
	return !n.Initialized && s.Now.Sub(n.Claim.CreationTimestamp.Time) >= youth
}

// oneByOne bounds how many replacements Spare looks at by themselves.
const oneByOne = 20

// Spare returns those of the replacements, which nothing waits for any more, that can go without anybody noticing: no pod
// was ever put on them, none is kept from being disrupted, and every pod that waits, or will because its node is going, has
// a place without them. The others have found another use. What could not be looked at within bounds is in neither list.
// One that should have come up long ago is of no use to anybody, nor one that has not registered yet and costs more than what
// would be launched instead of it.
func Spare(s *model.Snapshot, replacements []*model.Node, o Options) (spare, used []*model.Node) {
	var idle []*model.Node
	for _, n := range replacements {
		if len(n.Reschedulable()) > 0 || !n.Claim.Status.LastPodEventTime.IsZero() || !StillUnprotected(s, n).OK() {
			used = append(used, n)
			continue
		}
		if stuck(s, n) {
			spare = append(spare, n)
			continue
		}
		idle = append(idle, n)
	}
	if len(idle) == 0 {
		return spare, used
	}
	slices.SortFunc(idle, func(a, b *model.Node) int { return strings.Compare(a.Name, b.Name) })
	s = s.Apply(model.Delta{Claims: append(underWayClaims(s), leavingAll(s, spare)...)})
	need := shortOf(s, o)
	if w := s.Apply(model.Delta{Claims: leavingAll(s, idle)}); !need.less(shortOf(w, o)) {
		return append(spare, idle...), used
	}
	for _, n := range idle[:min(len(idle), oneByOne)] {
		w := s.Apply(model.Delta{Claims: leavingAll(s, []*model.Node{n})})
		without := shortOf(w, o)
		dear := !n.Registered && without.refused == need.refused && Price(s, n) > without.price-need.price+tiny
		if need.less(without) && !dear {
			used = append(used, n)
			continue
		}
		spare = append(spare, n)
		s, need = w, without
	}
	return spare, used
}

// underWayClaims returns the claims of marked nodes as if they were being deleted: so their pods look for another place.
func underWayClaims(s *model.Snapshot) []*apiv1.NodeClaim {
	var marked []*model.Node
	for _, n := range s.Nodes() {
		if n.Claim != nil && !n.Deleting && underWay(n) {
			marked = append(marked, n)
		}
	}
	return leavingAll(s, marked)
}

func leavingAll(s *model.Snapshot, nodes []*model.Node) []*apiv1.NodeClaim {
	claims := make([]*apiv1.NodeClaim, len(nodes))
	for i, n := range nodes {
		claims[i] = leaving(n.Claim, s.Now)
	}
	return claims
}

// A lack is what a cluster is short of for the pods that look for a place: how many have none, and how many nodes at what
// price are to be launched for the others.
type lack struct {
	refused, launches int
	price             float64
}

func shortOf(s *model.Snapshot, o Options) lack {
	plan := pack.Solve(s, o.Pack)
	l := lack{launches: len(plan.Nodes), price: plan.Price}
	for _, r := range plan.Refusals {
		l.refused += len(r.Pods)
	}
	return l
}

func (l lack) less(than lack) bool {
	return cmp.Or(cmp.Compare(l.refused, than.refused), cmp.Compare(l.launches, than.launches)) < 0
}
