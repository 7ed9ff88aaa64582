package existing

import (
	"slices"
	"strings"

	"github.com/karpenter-go/karpenter/engine/binpack/vector"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/pack/compile"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// A Placement records which pods are placed on which nodes so far.
type Placement struct {
	// Counts are how many pods each topology group counts in each domain: those of Problem.Counts, and the pods placed so
	// far.
	Counts *compile.Counts
	// Waiting[c] are the pods of class c that are not placed yet, in key order. The last unkept[c] of them, or all if fewer are
	// left, are nominated to a node, or were planned for one, that could not take them so far.
	Waiting [][]*model.Pod
	// Order lists the placed pods, on existing and new nodes, in the order in which they were placed, except those of classes
	// with Spec.Free. Free lists these: their places do not depend on other pods, and required affinity or anti-affinity does
	// not select them.
	Order, Free []*model.Pod
	// MayBeFirst reports whether a pod of the class may satisfy the affinity rule by itself, because no other pod does. This is
	// kube-scheduler's first-pod exception (compile.Rule.Affinity). If it is nil, no pod may.
	MayBeFirst func(*compile.Class, *compile.Rule) bool

	problem          *compile.Problem
	nodes            []nodeState                   // by index in Problem.Nodes
	meets            map[*catalog.NodeTerms][]int8 // meets[t][i] says whether node i meets t: 0 not known, 1 yes, -1 no
	mayMoveNominated bool                          // whether MakeRoom may move nominated pods; set by KeepNominated
	unkept           []int                         // see Waiting
	keptPods         int                           // the number of pods that keepClass placed
	byName           map[string]int                // index in Problem.Nodes by the name of the node or its NodeClaim; set by KeepNominated
}

// A nodeState is the free capacity of a node, and the pods placed on it.
type nodeState struct {
	room    []int64 // free capacity by dimension
	volumes compile.Attachments
	pods    []*model.Pod
	movable []movable // the movable pods among pods
}

// New returns a placement in which no pod to plan is placed. Waiting has neither the pods of refused classes nor the omitted
// ones.
func New(p *compile.Problem, omitted map[*model.Pod]bool) *Placement {
	a := &Placement{
		Counts: p.Counts.Clone(), Waiting: make([][]*model.Pod, len(p.Classes)), problem: p, nodes: make([]nodeState, len(p.Nodes)),
		meets: map[*catalog.NodeTerms][]int8{}, unkept: make([]int, len(p.Classes)),
	}
	for i, c := range p.Classes {
		if !c.Refused.OK() {
			continue
		}
		a.Waiting[i] = c.Pods
		if len(omitted) > 0 {
			a.Waiting[i] = slices.DeleteFunc(slices.Clone(c.Pods), func(pod *model.Pod) bool { return omitted[pod] })
		}
	}
	for i, n := range p.Nodes {
		a.nodes[i] = nodeState{room: slices.Clone(n.Room), volumes: n.Volumes.Clone()}
	}
	return a
}

// Left returns the number of pods of the class that are not placed yet.
func (a *Placement) Left(c *compile.Class) int { return len(a.Waiting[c.Index]) }

// Take removes the next n pods of the class from Waiting, adds them to Order or Free, and returns them.
func (a *Placement) Take(c *compile.Class, n int) []*model.Pod {
	pods := a.Waiting[c.Index][:n:n]
	a.Waiting[c.Index] = a.Waiting[c.Index][n:]
	a.record(c, pods)
	return pods
}

// record adds pods of the class to Order or Free.
func (a *Placement) record(c *compile.Class, pods []*model.Pod) {
	if c.Free {
		a.Free = append(a.Free, pods...)
	} else {
		a.Order = append(a.Order, pods...)
	}
}

// KeepNominated places nominated and previously planned pods on their nodes (Snapshot.TargetOf) if they still fit. It
// checks only required constraints, because it is not known which preferences held when a pod was nominated.
func (a *Placement) KeepNominated() {
	if len(a.nodes) == 0 {
		return
	}
	a.byName = map[string]int{}
	for i, n := range a.problem.Nodes {
		a.byName[n.Name] = i
		if n.Claim != nil {
			a.byName[n.Claim.Name] = i
		}
	}
	for _, c := range a.problem.Classes {
		if c.Refused.OK() {
			a.keepClass(c, a.Waiting[c.Index])
		}
	}
	a.mayMoveNominated = a.mayMove()
}

// maxUnkept is the largest number of pods of a class that KeepMore tries.
const maxUnkept = 256

// KeepMore is KeepNominated for the pods of the class that it left, if these are at most maxUnkept. A pod that got a new
// node may have changed what a spread constraint allows.
func (a *Placement) KeepMore(c *compile.Class) {
	waiting := a.Waiting[c.Index]
	if n := min(a.unkept[c.Index], len(waiting)); n > 0 && n <= maxUnkept {
		a.keepClass(c, waiting[len(waiting)-n:])
	}
}

// keepClass is KeepNominated for some pods of one class, which are the last ones of Waiting. Those that it cannot place become the
// last ones.
func (a *Placement) keepClass(c *compile.Class, pods []*model.Pod) {
	last := c.Last()
	canMove := a.isMovable(c)
	var others, unkept []*model.Pod
	for i, pod := range pods {
		node, nominated := a.byName[a.problem.Snapshot.TargetOf(pod)]
		one := pods[i : i+1 : i+1]
		switch {
		case !nominated:
			others = append(others, pod)
			continue
		case a.Fits(c, last, node, one) == 0:
			unkept = append(unkept, pod)
			continue
		}
		a.place(c, last, node, one)
		a.keptPods++
		if canMove {
			a.nodes[node].movable = append(a.nodes[node].movable, movable{c, pod})
		}
		a.record(c, one)
	}
	if len(unkept) < len(pods) && len(others) < len(pods) {
		before := a.Waiting[c.Index][:a.Left(c)-len(pods)]
		a.Waiting[c.Index] = slices.Concat(before, others, unkept)
	}
	a.unkept[c.Index] = len(unkept)
}

// FirstFit places pods of the class on the first nodes on which they fit in stage s. If the stage has rules over labels that
// nodes share, it repeats the search: a placed pod may allow the next one in another domain.
func (a *Placement) FirstFit(c *compile.Class, s *compile.Stage) {
	for again := true; again && a.Left(c) > 0; {
		again = false
		for i := range a.nodes {
			if a.Left(c) == 0 {
				return
			}
			if n := a.Fits(c, s, i, a.Waiting[c.Index]); n > 0 {
				a.place(c, s, i, a.Take(c, n))
				again = len(s.OverDomains) > 0
			}
		}
	}
}

// HasRoom reports whether a node has room for a pod of the class and meets its terms in stage s, whatever the topology rules say.
func (a *Placement) HasRoom(c *compile.Class, s *compile.Stage) bool {
	for i := range a.nodes {
		if vector.Copies(c.Demand.Amount, a.nodes[i].room, 1) > 0 && a.admits(s, i) {
			return true
		}
	}
	return false
}

// admits reports whether the taints and labels of node i allow pods in stage s.
func (a *Placement) admits(s *compile.Stage, i int) bool {
	_, refused := s.Tolerations.Refuse(a.problem.Nodes[i].Taints)
	return !refused && a.meetsTerms(s.Terms, i)
}

// Fits returns how many of the pods node i can take now in stage s, counted from the first pod. c is the pods' class. There
// must be at least one pod.
func (a *Placement) Fits(c *compile.Class, s *compile.Stage, i int, pods []*model.Pod) int {
	n := vector.Copies(c.Demand.Amount, a.nodes[i].room, len(pods))
	if n == 0 || !a.admits(s, i) {
		return 0
	}
	node := a.problem.Nodes[i]
	if a.problem.UsesAttachments(c) {
		n = a.problem.Attach(a.nodes[i].volumes.Clone(), pods[:n])
	}
	for r := range s.Rules {
		if n <= 0 {
			return 0
		}
		d := node.Domain(a.problem.Groups[r.Group].Key)
		if d == compile.Unsettled && node.IsNominated(a.problem.Snapshot, pods[0]) {
			// The label has no value yet, so the rule cannot be checked. The earlier choice of this node for the pod stands.
			continue
		}
		n = min(n, a.Counts.Allows(c, r, d, a.MayBeFirst))
	}
	for _, m := range c.Members {
		n = min(n, a.Counts.Spare(m, node.Domain(a.problem.Groups[m].Key)))
		if node.InFlight && !a.isDomainKnown(m, i) && !node.IsNominated(a.problem.Snapshot, pods[0]) {
			return 0
		}
	}
	return max(n, 0)
}

// meetsTerms reports whether the labels of node i meet one of the terms. It stores the result in a.meets.
func (a *Placement) meetsTerms(t *catalog.NodeTerms, i int) bool {
	known := a.meets[t]
	if known == nil {
		known = make([]int8, len(a.nodes))
		a.meets[t] = known
	}
	if known[i] == 0 {
		known[i] = -1
		if a.problem.Meets(a.problem.Nodes[i], t) {
			known[i] = 1
		}
	}
	return known[i] > 0
}

// isDomainKnown reports whether it is known in which domain the group would count a pod on node i, or that the group
// would not count the pod. Node i is in flight. The result can be false only for groups of required spread over labels
// that nodes share.
func (a *Placement) isDomainKnown(group, i int) bool {
	p, g, n := a.problem, a.problem.Groups[group], a.problem.Nodes[i]
	if g.Kind != topology.Spread || !g.Hard || g.Key == compile.HostKey || !p.MayCount(g, n) {
		return true
	}
	return p.SurelyCounts(g, n) && n.Domain(g.Key) != compile.Unsettled
}

// place places the pods on node i: it subtracts them from the free capacity, attaches their volumes, counts them, and applies
// their required anti-affinity (Counts.Reserve).
func (a *Placement) place(c *compile.Class, s *compile.Stage, i int, pods []*model.Pod) {
	node, state := a.problem.Nodes[i], &a.nodes[i]
	state.pods = append(state.pods, pods...)
	vector.Subtract(state.room, c.Demand.Amount, len(pods))
	a.problem.Attach(state.volumes, pods)
	for _, m := range c.Members {
		a.Counts.AddOn(m, node, len(pods))
	}
	for r := range s.Rules {
		for _, d := range a.problem.DomainsOf(node, a.problem.Groups[r.Group].Key) {
			a.Counts.Reserve(r, d)
		}
	}
}

// Placements returns the nodes on which pods are placed, with these pods, ordered by node name and pod key.
func (a *Placement) Placements() []model.Placement {
	var out []model.Placement
	for i, n := range a.problem.Nodes {
		if pods := a.nodes[i].pods; len(pods) > 0 {
			sorted := slices.SortedFunc(slices.Values(pods), func(a, b *model.Pod) int { return strings.Compare(a.Key, b.Key) })
			out = append(out, model.Placement{Node: n.Node, Pods: sorted})
		}
	}
	slices.SortStableFunc(out, func(a, b model.Placement) int { return strings.Compare(a.Node.Name, b.Node.Name) })
	return out
}
