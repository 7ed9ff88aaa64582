package backtest

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/budget"
	"github.com/karpenter-go/karpenter/engine/drain"
	"github.com/karpenter-go/karpenter/engine/lifecycle"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A command is a decision of disruption that is being carried out. Its nodes are deleted once all its replacements have
// joined.
type command struct {
	nodes        []*node
	replacements []*node
}

// settle sets the condition Consolidatable of the claims whose consolidateAfter has elapsed.
func (w *world) settle() {
	for _, n := range w.nodes {
		pool, ok := w.state.snapshot.Pool(n.claim.Labels[apiv1.NodePoolLabelKey])
		if !ok || condition.IsTrue(n.claim, apiv1.ConditionTypeConsolidatable) {
			continue
		}
		if quiet, _ := lifecycle.Consolidatable(n.claim, pool.Object, w.time()); quiet {
			condition.SetTrue(n.claim, apiv1.ConditionTypeConsolidatable, w.time())
			w.wrote(n)
		}
	}
}

// disrupt makes a decision of disruption and begins its commands.
func (w *world) disrupt() {
	w.state.changed = false
	for more := true; more; {
		var commands []model.Command
		if commands, more, w.err = w.planner.Disrupt(w.look()); w.err != nil {
			return
		}
		w.start(commands)
		more = more && len(commands) > 0
	}
}

// start begins commands. Their replacements are launched, and their nodes are marked.
func (w *world) start(commands []model.Command) {
	for i := range commands {
		c := &commands[i]
		begun := &command{}
		var names, replacements []string
		for _, n := range c.Nodes {
			names = append(names, n.Claim.Name)
		}
		for k := range c.Replacements {
			n := w.launch(&c.Replacements[k], w.settings.Boot)
			n.claim.Annotations = map[string]string{apiv1.ReplacesAnnotationKey: strings.Join(names, ",")}
			w.promise(n.name, c.Replacements[k].Pods)
			begun.replacements, replacements = append(begun.replacements, n), append(replacements, n.name)
		}
		for _, p := range c.Placements {
			w.promise(p.Node.Claim.Name, p.Pods)
		}
		for _, name := range names {
			n := w.byName[name]
			w.mark(n, c, replacements)
			begun.nodes = append(begun.nodes, n)
		}
		w.commands = append(w.commands, begun)
		w.tally.disrupted += len(names)
	}
}

// mark marks a node for disruption, so that no more pods are bound to it.
func (w *world) mark(n *node, c *model.Command, replacements []string) {
	n.status = marked
	n.object.Spec.Taints = append(slices.Clone(n.object.Spec.Taints), apiv1.DisruptedNoScheduleTaint())
	n.claim.Annotations = map[string]string{apiv1.ReplacedByAnnotationKey: strings.Join(replacements, ",")}
	if c.TerminateFirst != "" {
		n.claim.Annotations[apiv1.TerminateFirstAnnotationKey] = c.TerminateFirst
	}
	condition.SetTrueWithReason(n.claim, apiv1.ConditionTypeDisruptionReason, string(c.Reason), string(c.Reason), w.time())
	w.wrote(n)
}

// unmark cancels the disruption of a node: it removes the mark, and the node no longer counts as disrupted.
func (w *world) unmark(n *node) {
	n.status = stays
	n.object.Spec.Taints = slices.DeleteFunc(slices.Clone(n.object.Spec.Taints), func(t corev1.Taint) bool { return t.Key == apiv1.DisruptedTaintKey })
	delete(n.claim.Annotations, apiv1.ReplacedByAnnotationKey)
	delete(n.claim.Annotations, apiv1.TerminateFirstAnnotationKey)
	condition.Clear(n.claim, apiv1.ConditionTypeDisruptionReason)
	w.tally.disrupted--
	w.wrote(n)
}

// advance deletes the nodes of the commands whose replacements have all joined. A node whose disruption is no longer valid
// is unmarked instead. Then advance drains the deleted nodes. It reports whether pods remain on one of them.
func (w *world) advance() bool {
	var due []*node
	w.commands = slices.DeleteFunc(w.commands, func(c *command) bool {
		if slices.ContainsFunc(c.replacements, func(n *node) bool { return !n.joined }) {
			return false
		}
		due = append(due, c.nodes...)
		return true
	})
	if len(due) > 0 {
		s := w.look()
		nodes := make([]*model.Node, 0, len(due))
		for _, n := range due {
			if m, ok := s.NodeByName(n.name); ok {
				nodes = append(nodes, m)
			}
		}
		verdicts := w.planner.Revalidate(s, nodes)
		for _, n := range due {
			if !verdicts[n.name].OK() {
				w.unmark(n)
				continue
			}
			n.status = draining
			n.claim.DeletionTimestamp = &metav1.Time{Time: w.time()}
			w.wrote(n)
		}
	}
	return w.drain()
}

// drain evicts pods from the deleted nodes, as far as PodDisruptionBudgets allow, and terminates those nodes that
// have no pods left. It reports whether pods remain on one of them.
func (w *world) drain() bool {
	var leaving []*node
	for _, n := range w.nodes {
		if n.status == draining {
			leaving = append(leaving, n)
		}
	}
	if len(leaving) == 0 {
		return false
	}
	e := evictor{world: w}
	if len(w.policy.Objects.PDBs) > 0 {
		e.begin()
	}
	for _, n := range leaving {
		e.drain(n)
	}
	w.schedule()
	for _, n := range leaving {
		if len(n.pods) == 0 {
			w.end(n)
		}
	}
	return slices.ContainsFunc(leaving, func(n *node) bool { return len(n.pods) > 0 })
}

// An evictor evicts pods in one step of the replay.
type evictor struct {
	*world
	pdbs  *budget.PDBs // nil if there are no PodDisruptionBudgets
	taken budget.Taken
}

// begin reads the PodDisruptionBudgets. Pods that wait for a node are not healthy, so they count as disrupted.
func (e *evictor) begin() {
	s := e.look()
	e.pdbs = budget.PDBsOf(s)
	for _, p := range e.waiting {
		e.allowed(s, p, false)
	}
}

// allowed reports whether PodDisruptionBudgets allow the eviction of the pod. If they do, the pod counts as disrupted.
// If ask is false, it counts as disrupted in any case.
func (e *evictor) allowed(s *model.Snapshot, p *pod, ask bool) bool {
	m, ok := s.Pods.Get(p.key)
	if e.pdbs == nil || !ok {
		return true
	}
	evictions, v := e.pdbs.Evictions([]*model.Pod{m})
	if ask && (!v.OK() || !e.pdbs.AllowAtOnce(e.taken, evictions).OK()) {
		return false
	}
	e.taken = e.pdbs.Take(e.taken, evictions)
	return true
}

// drain evicts the pods of a node that may be evicted now.
func (e *evictor) drain(n *node) {
	s := e.look()
	state := drain.State{Now: e.time()}
	state.Deadline, _ = drain.Deadline(n.claim) // the replay does not write the annotation with the deadline
	for _, p := range n.pods {
		state.Pods = append(state.Pods, p.object)
	}
	d := drain.Decide(state)
	for _, o := range d.Evict {
		if p := n.pods[o.Namespace+"/"+o.Name]; e.allowed(s, p, true) {
			e.evict(p)
		}
	}
	for _, x := range d.Delete {
		e.evict(n.pods[x.Pod.Namespace+"/"+x.Pod.Name])
	}
	if d.Drained() { // the remaining pods end together with the node
		for _, x := range d.Spared {
			if p := n.pods[x.Pod.Namespace+"/"+x.Pod.Name]; p != nil {
				e.evict(p)
			}
		}
	}
}

// evict removes a pod from its node. The owner of the pod creates a new pod.
func (w *world) evict(p *pod) {
	to := w.promises[p.key]
	w.remove(p)
	w.tally.evictions++
	again := w.create(p.number, p.shape, p.made+1)
	w.tally.alive[p.number] = again
	if to != "" {
		w.promises[again.key] = to
	}
}
