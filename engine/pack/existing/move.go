package existing

import (
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
)

// A movable is a pod that KeepNominated placed, of a class for which isMovable is true. It can be moved to any node that
// has the capacity, meets its node requirements and has no taint that it does not tolerate.
type movable struct {
	class *compile.Class
	pod   *model.Pod
}

// isMovable reports whether only capacity, node labels and taints decide where pods of the class may run, and no topology
// group counts them.
func isMovable(c *compile.Class) bool {
	last := c.Last()
	return c.Free && len(c.Members) == 0 && len(c.Ports) == 0 && len(c.Drivers) == 0 &&
		len(last.OverDomains) == 0 && len(last.PerNode) == 0 && last.Daemons == nil && last.DaemonAffinity == nil
}

// fewWait reports whether KeepNominated left pods unplaced, at most maxWaiting and at most as many as it placed, and no pods
// are displaced. This happens if kube-scheduler binds pods to other nodes than planned. Such pods use the capacity that was
// planned for other pods, and leave capacity free on the nodes for which they were planned.
func (a *Placement) fewWait() bool {
	left, nominated := 0, 0
	for i := range a.Waiting {
		left += len(a.Waiting[i])
		nominated += len(a.Nominated[i])
	}
	return left > 0 && left <= min(maxWaiting, nominated) && len(a.problem.Snapshot.Displaced()) == 0
}

// MakeRoom places pods of the class on nodes from each of which it moves one nominated pod to another node. It does nothing if
// the pods of the class are not movable, or if fewWait was false.
func (a *Placement) MakeRoom(c *compile.Class, s *compile.Stage) {
	if !a.moves || !isMovable(c) {
		return
	}
	for a.Left(c) > 0 {
		at := slices.IndexFunc(a.targets(), func(i int) bool { return a.clearRoom(c, s, i) })
		if at < 0 {
			return
		}
	}
}

// targets returns the indices of the nodes with movable pods, in the order in which MakeRoom tries them. Nodes that are not
// registered are first, because kube-scheduler has not bound their pods yet. It returns at most maxTargets.
func (a *Placement) targets() []int {
	var out []int
	for _, registered := range []bool{false, true} {
		for i, n := range a.problem.Nodes {
			if n.Registered == registered && len(a.nodes[i].movable) > 0 {
				out = append(out, i)
			}
		}
	}
	return out[:min(len(out), maxTargets)]
}

// clearRoom places a pod of class c on node i and moves a smaller pod from there to the first other node on which it fits. It
// tries the movable pods of node i from the last placed one on, which is usually the smallest. It returns false if no move
// helps.
func (a *Placement) clearRoom(c *compile.Class, s *compile.Stage, i int) bool {
	if _, refused := s.Tolerations.Refuse(a.problem.Nodes[i].Taints); refused || !a.meetsTerms(s.Terms, i) {
		return false
	}
	tried := map[*compile.Class]bool{c: true} // moving a pod of class c does not help
	for _, m := range slices.Backward(slices.Clone(a.nodes[i].movable)) {
		if tried[m.class] {
			continue
		}
		tried[m.class] = true
		freed := slices.Clone(a.nodes[i].room)
		vector.Subtract(freed, m.class.Demand.Amount, -1)
		if !vector.Fits(c.Demand.Amount, freed) {
			continue
		}
		to := slices.IndexFunc(a.problem.Nodes, func(n *compile.Node) bool {
			return n.Index != i && a.Fits(m.class, m.class.Last(), n.Index, []*model.Pod{m.pod}) > 0
		})
		if to < 0 {
			continue
		}
		a.move(m, i, to)
		if a.Fits(c, s, i, a.Waiting[c.Index][:1]) > 0 {
			a.put(c, s, i, a.Take(c, 1))
			return true
		}
		a.move(m, to, i) // another constraint than capacity excludes the pod
	}
	return false
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
