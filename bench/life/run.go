package life

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/disrupt/move"
	"github.com/karpenter-go/karpenter/engine/drain"
	"github.com/karpenter-go/karpenter/engine/lifecycle"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/verify"
)

// settle is the time between marking a node for disruption and deleting it.
const settle = 2 * time.Second

// Tick advances the World by a second.
func (w *World) Tick() {
	w.now = w.now.Add(time.Second)
	w.join()
	w.schedule(w.waiting())
	w.provision()
	w.calm()
	w.handOver()
	w.drain()
	w.finish()
	w.disrupt()
}

// join lets those nodes join whose boot time has elapsed.
func (w *World) join() {
	for _, n := range w.sorted() {
		if n.joined || w.now.Before(n.up) {
			continue
		}
		n.joined = true
		for _, name := range []string{apiv1.ConditionTypeRegistered, apiv1.ConditionTypeInitialized} {
			condition.SetTrue(n.claim, name, w.now)
		}
		if n.claim.Annotations[apiv1.MoveStageAnnotationKey] != "" {
			n.object.Spec.Taints = []corev1.Taint{apiv1.StagedMoveNoScheduleTaint()}
		}
		w.wrote(n)
	}
}

// provision makes a plan for pending pods, and launches its nodes.
func (w *World) provision() {
	if len(w.waiting()) == 0 {
		return
	}
	s := w.look()
	plan := pack.Solve(s, w.Options.Pack)
	w.refuse(verify.Plan(s, plan, w.Options.Pack.Labels))
	for i := range plan.Nodes {
		n := w.launch(&plan.Nodes[i])
		w.tell("launched %s, a %s for %d pods", n.claim.Name, plan.Nodes[i].Options[0].Name, len(plan.Nodes[i].Pods))
		w.promise(n.claim.Name, plan.Nodes[i].Pods)
	}
	for _, p := range plan.Placements {
		w.promise(p.Node.Name, p.Pods)
	}
}

// refuse records the violations that a check of plans or commands found.
func (w *World) refuse(violations []verify.Violation) {
	for _, v := range violations {
		w.Refused = append(w.Refused, v.String())
	}
}

func (w *World) promise(to string, pods []*model.Pod) {
	for _, p := range pods {
		w.promises[p.Key] = to
	}
}

// calm sets the condition Consolidatable of claims whose consolidateAfter has passed.
func (w *World) calm() {
	pool := w.s.Pools()[0].Object
	for _, n := range w.sorted() {
		if quiet, _ := lifecycle.Consolidatable(n.claim, pool, w.now); quiet && !condition.IsTrue(n.claim, apiv1.ConditionTypeConsolidatable) {
			condition.SetTrue(n.claim, apiv1.ConditionTypeConsolidatable, w.now)
			w.wrote(n)
		}
	}
}

// finish deletes marked nodes whose replacements are initialized, and rolls back commands that no longer hold.
func (w *World) finish() {
	s := w.look()
	var due []*model.Node
	for _, n := range w.sorted() {
		if n.marked.IsZero() || n.going || w.now.Sub(n.marked) < settle ||
			slices.ContainsFunc(n.waits, func(name string) bool { return w.nodes[name] != nil && !w.nodes[name].joined }) {
			continue
		}
		if m, ok := s.NodeByName(n.claim.Name); ok {
			due = append(due, m)
		}
	}
	var drained []*node
	for name, v := range disrupt.Revalidate(s, due, w.Options.Pack) {
		n := w.nodes[name]
		if v.OK() {
			drained = append(drained, n)
			continue
		}
		w.tell("took %s back: %s", name, v)
		n.marked, n.waits, n.object.Spec.Taints = time.Time{}, nil, nil
		delete(n.claim.Annotations, apiv1.ReplacedByAnnotationKey)
		condition.Clear(n.claim, apiv1.ConditionTypeDisruptionReason)
		w.wrote(n)
	}
	if w.Turns {
		w.reserve(s, drained)
	}
	for _, n := range drained {
		n.going = true
		n.claim.DeletionTimestamp = &metav1.Time{Time: w.now}
		w.wrote(n)
	}
}

// reserve taints the destination nodes of the pods on the nodes that are about to be deleted.
func (w *World) reserve(s *model.Snapshot, leaving []*node) {
	var nodes []*model.Node
	for _, n := range leaving {
		if m, ok := s.NodeByName(n.claim.Name); ok {
			nodes = append(nodes, m)
		}
	}
	for _, d := range move.Destinations(s, nodes) {
		n := w.nodes[d.Node.Claim.Name]
		if n.claim.Annotations == nil {
			n.claim.Annotations = map[string]string{}
		}
		n.claim.Annotations[apiv1.ReceivesPodsFromAnnotationKey] = strings.Join(d.From, ",")
		n.object.Spec.Taints = []corev1.Taint{apiv1.StagedMoveNoScheduleTaint()}
		w.wrote(n)
	}
}

// handOver removes the taints of the reserved nodes of the next stage, see move.StageOf.
func (w *World) handOver() {
	h := move.StageOf(w.look())
	opens := h.Due
	if len(h.Moving) == 0 {
		opens = append(opens, h.Next...)
	}
	for _, m := range opens {
		n := w.nodes[m.Claim.Name]
		n.object.Spec.Taints = nil
		delete(n.claim.Annotations, apiv1.ReceivesPodsFromAnnotationKey)
		w.wrote(n)
	}
}

// drain evicts the pods of all nodes that are being deleted, and removes nodes without pods. The owners create new pods
// immediately, which the scheduler may place on any node.
func (w *World) drain() {
	s := w.look()
	var queues [][]*corev1.Pod
	for _, n := range w.sorted() {
		if !n.going {
			continue
		}
		if len(n.pods) == 0 {
			w.end(n)
			continue
		}
		state := drain.State{Now: w.now, Awaiting: map[types.UID]bool{}}
		for k := range n.pods {
			p := w.pods[k]
			m, ok := s.Pod(k)
			state.Pods, state.Awaiting[p.UID] = append(state.Pods, p), ok && move.AwaitsOpening(s, m)
		}
		queues = append(queues, drain.Decide(state).Evict)
	}
	for i, more := 0, true; more; i++ {
		more = false
		for _, q := range queues {
			if i < len(q) {
				more = true
				w.Moved++
				w.remove(q[i])
				w.schedule([]*corev1.Pod{w.Add(q[i])})
			}
		}
	}
}

// end removes a node.
func (w *World) end(n *node) {
	delete(w.nodes, n.claim.Name)
	w.d.Claims = slices.DeleteFunc(w.d.Claims, func(o *apiv1.NodeClaim) bool { return o.Name == n.claim.Name })
	w.d.Nodes = slices.DeleteFunc(w.d.Nodes, func(o *corev1.Node) bool { return o.Name == n.object.Name })
	w.d.Gone = append(w.d.Gone,
		model.Ref{Kind: model.KindClaim, Key: n.claim.Name}, model.Ref{Kind: model.KindNode, Key: n.object.Name})
}

// disrupt makes a decision, and begins its commands.
func (w *World) disrupt() {
	s := w.look()
	d := disrupt.Decide(s, w.Options, w.cursor)
	w.cursor = d.Cursor
	w.refuse(verify.Commands(s, d.Expected, d.Commands, w.Options.Pack.Labels))
	for i := range d.Commands {
		c := &d.Commands[i]
		w.Commands++
		w.tell("%s", c)
		var names, waits []string
		for _, n := range c.Nodes {
			names = append(names, n.Claim.Name)
		}
		for k := range c.Replacements {
			n := w.launch(&c.Replacements[k])
			n.claim.Annotations = map[string]string{apiv1.ReplacesAnnotationKey: strings.Join(names, ",")}
			if w.Turns && c.Scatters() {
				n.claim.Annotations[apiv1.MoveStageAnnotationKey] = strconv.Itoa(k + 1)
			}
			w.wrote(n)
			w.promise(n.claim.Name, c.Replacements[k].Pods)
			waits = append(waits, n.claim.Name)
		}
		for _, p := range c.Placements {
			w.promise(p.Node.Name, p.Pods)
		}
		for _, name := range names {
			w.mark(w.nodes[name], c.Reason, waits)
		}
	}
}

func (w *World) mark(n *node, why apiv1.DisruptionReason, waits []string) {
	n.marked, n.waits = w.now, waits
	n.object.Spec.Taints = []corev1.Taint{apiv1.DisruptedNoScheduleTaint()}
	n.claim.Annotations = map[string]string{apiv1.ReplacedByAnnotationKey: strings.Join(waits, ",")}
	condition.SetTrueWithReason(n.claim, apiv1.ConditionTypeDisruptionReason, string(why), string(why), w.now)
	w.wrote(n)
}

// Shrink deletes pods until each app has to(app, replicas) pods, where app is its number and replicas its pods so far.
// Pods are deleted in the order of a ReplicaSet: first those on nodes with several pods of the app, then the youngest.
func (w *World) Shrink(to func(app, replicas int) int) {
	apps := map[string][]*corev1.Pod{}
	for _, p := range w.pods {
		apps[p.Labels["app"]] = append(apps[p.Labels["app"]], p)
	}
	for i, app := range slices.Sorted(maps.Keys(apps)) {
		pods := apps[app]
		for range len(pods) - to(i, len(pods)) {
			shared := map[string]int{}
			for _, p := range pods {
				shared[p.Spec.NodeName]++
			}
			slices.SortFunc(pods, func(a, b *corev1.Pod) int {
				return cmp.Or(
					cmp.Compare(shared[b.Spec.NodeName], shared[a.Spec.NodeName]),
					b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(key(a), key(b)),
				)
			})
			w.remove(pods[0])
			pods = pods[1:]
		}
	}
}
