package existing

import (
	"cmp"
	"slices"

	"github.com/karpenter-go/karpenter/engine/binpack/vector"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/compile"
)

// Limits of the work of MakeRoom.
const (
	// maxWaiting is the largest number of pods that KeepNominated may leave unplaced for MakeRoom to move pods.
	maxWaiting = 64
	// maxTargets is the largest number of nodes that MakeRoom tries for one pod, in the order of targets.
	maxTargets = 64
	// maxMoves is the largest number of nominated pods that are moved to place one pod.
	maxMoves = 3
)

// A movable is a pod that KeepNominated placed, of a class for which isMovable is true. It can be moved to any node that
// has the capacity, meets its node requirements and has no taint that it does not tolerate.
type movable struct {
	class *compile.Class
	pod   *model.Pod
}

// isMovable reports whether only capacity, node labels and taints decide where pods of the class may run, and no topology
// group counts them.
func (a *Placement) isMovable(c *compile.Class) bool {
	last := c.Last()
	return c.Free && len(c.Members) == 0 && len(c.Ports) == 0 && !a.problem.UsesAttachments(c) &&
		len(last.OverDomains) == 0 && len(last.PerNode) == 0 && last.Daemons == nil && last.DaemonAffinity == nil
}

// mayMove reports whether MakeRoom may move nominated pods: whether KeepNominated left pods unplaced, at most maxWaiting and at
// most as many as it placed, and no pods are displaced. This happens if kube-scheduler binds pods to other nodes than planned.
// Such pods use the capacity that was planned for other pods, and leave capacity free on the nodes for which they were planned.
func (a *Placement) mayMove() bool {
	left := 0
	for _, pods := range a.Waiting {
		left += len(pods)
	}
	return left > 0 && left <= min(maxWaiting, a.keptPods) && len(a.problem.Snapshot.Displaced()) == 0
}

// MakeRoom places pods of the class on nodes from which it moves nominated pods to other nodes. It does nothing if the pods of
// the class are not movable, or if mayMove was false after KeepNominated. It prefers nodes that are not registered, because
// kube-scheduler has not bound their pods yet. See bestMove for the order in which it moves pods.
func (a *Placement) MakeRoom(c *compile.Class, s *compile.Stage) {
	if !a.mayMoveNominated || !a.isMovable(c) {
		return
	}
	for a.Left(c) > 0 {
		targets := a.targets(c)
		at := slices.IndexFunc(targets, func(i int) bool { return a.clearRoom(c, s, i) })
		if at < 0 {
			return
		}
		a.place(c, s, targets[at], a.Take(c, 1))
	}
}

// targets returns the indices of the nodes with movable pods, in the order in which MakeRoom tries them: nodes that are not
// registered first, then by rising shortfall. It returns at most maxTargets.
func (a *Placement) targets(c *compile.Class) []int {
	var out []int
	for i := range a.nodes {
		if len(a.nodes[i].movable) > 0 {
			out = append(out, i)
		}
	}
	rank := func(i int) int { return map[bool]int{true: 1}[a.problem.Nodes[i].Registered] }
	slices.SortStableFunc(out, func(x, y int) int {
		return cmp.Or(rank(x)-rank(y), cmp.Compare(a.shortfall(c, x), a.shortfall(c, y)))
	})
	return out[:min(len(out), maxTargets)]
}

// shortfall returns the share of the request of a pod of class c that node i lacks: the maximum over all dimensions, 0 if
// the pod fits.
func (a *Placement) shortfall(c *compile.Class, i int) float64 {
	short := slices.Clone(c.Demand.Amount)
	vector.Subtract(short, a.nodes[i].room, 1)
	return share(short, c.Demand.Amount)
}

// share returns the largest quotient of amounts and the demand, over all dimensions of which the demand is above 0. It is at
// least 0.
func share(amounts, demand []int64) float64 {
	most := 0.0
	for r, amount := range demand {
		if amount > 0 {
			most = max(most, float64(amounts[r])/float64(amount))
		}
	}
	return most
}

// clearRoom moves at most maxMoves pods from node i to other nodes, until a pod of class c fits on node i. If that fails,
// it undoes the moves and returns false.
func (a *Placement) clearRoom(c *compile.Class, s *compile.Stage, i int) bool {
	if _, refused := s.Tolerations.Refuse(a.problem.Nodes[i].Taints); refused || !a.meetsTerms(s.Terms, i) {
		return false
	}
	var undo []func()
	for a.shortfall(c, i) > 0 && len(undo) < maxMoves {
		m, to := a.bestMove(c, i)
		if to < 0 {
			break
		}
		a.move(m, i, to)
		undo = append(undo, func() { a.move(m, to, i) })
	}
	if a.Fits(c, s, i, a.Waiting[c.Index][:1]) > 0 {
		return true
	}
	for _, moveBack := range slices.Backward(undo) {
		moveBack()
	}
	return false
}

// bestMove returns a movable pod of node i and the index of another node that can take it. It chooses the pod whose
// move leaves the least shortfall for class c, and of pods with equal shortfall the smallest. The size of a pod is its
// request as a share of that of class c, the maximum over all dimensions that class c requests. to is -1 if no possible
// move lowers the shortfall.
func (a *Placement) bestMove(c *compile.Class, i int) (m movable, to int) {
	to = -1
	after, size := a.shortfall(c, i), 0.0
	tried := map[*compile.Class]bool{c: true} // moving a pod of class c does not help
	for _, candidate := range a.nodes[i].movable {
		if tried[candidate.class] {
			continue
		}
		tried[candidate.class] = true
		freed := candidate.class.Demand.Amount
		short := slices.Clone(c.Demand.Amount)
		vector.Subtract(short, a.nodes[i].room, 1)
		vector.Subtract(short, freed, 1)
		shortfall, weight := share(short, c.Demand.Amount), share(freed, c.Demand.Amount)
		if shortfall > after || shortfall == after && (to < 0 || weight >= size) {
			continue
		}
		if j := a.tightest(candidate, i); j >= 0 {
			m, to, after, size = candidate, j, shortfall, weight
		}
	}
	return m, to
}

// tightest returns the index of the node with the least free capacity, except from, that can take the pod. It compares the
// free amount divided by the pod's request, the maximum over all dimensions that the pod requests. tightest returns -1 if
// there is no such node.
func (a *Placement) tightest(m movable, from int) int {
	best, least := -1, 0.0
	for i := range a.nodes {
		if i == from || a.Fits(m.class, m.class.Last(), i, []*model.Pod{m.pod}) == 0 {
			continue
		}
		if over := share(a.nodes[i].room, m.class.Demand.Amount); best < 0 || over < least {
			best, least = i, over
		}
	}
	return best
}

// move moves a pod from node from to node to, given by their indices.
func (a *Placement) move(m movable, from, to int) {
	f, t := &a.nodes[from], &a.nodes[to]
	vector.Subtract(f.room, m.class.Demand.Amount, -1)
	vector.Subtract(t.room, m.class.Demand.Amount, 1)
	f.movable = slices.DeleteFunc(f.movable, func(o movable) bool { return o.pod == m.pod })
	t.movable = append(t.movable, m)
	f.pods = slices.DeleteFunc(f.pods, func(o *model.Pod) bool { return o == m.pod })
	t.pods = append(t.pods, m.pod)
}
