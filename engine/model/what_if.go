package model

import (
	"maps"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/table"
)

// Without returns s with the nodes, which are nodes of s, and their claims removed. Their reschedulable pods become pending, and
// their other pods are removed. All other pending pods are omitted, so a plan for the result shows which capacity the pods of the
// nodes alone need.
func (s *Snapshot) Without(nodes ...*Node) *Snapshot {
	e := newEdit(s)
	e.next.derived.pending = table.Table[*Pod]{}
	for _, n := range nodes {
		e.release(n.Pods)
		if n.Object != nil {
			e.removeNode(n.Object.Name)
		}
		if n.Claim != nil {
			e.removeClaim(n.Claim.Name)
		}
	}
	next := e.finish()
	if len(e.stale) > 0 {
		next.derived.list = sync.OnceValue(func() []*Node { return changedNodes(next, nodesOf(s), e.stale) })
	}
	return next
}

// changedNodes returns the list of the nodes of s. Only nodes with the given identities differ from those in the list old. Sorting all
// nodes would take longer.
func changedNodes(s *Snapshot, old []*Node, identities map[string]bool) []*Node {
	all := make([]*Node, 0, s.derived.nodes.Len())
	for _, id := range slices.Sorted(maps.Keys(identities)) {
		i, found := slices.BinarySearchFunc(old, id, func(n *Node, id string) int { return strings.Compare(n.identity(), id) })
		all, old = append(all, old[:i]...), old[i:]
		if found {
			old = old[1:]
		}
		if n, ok := s.derived.nodes.Get(id); ok {
			all = append(all, n)
		}
	}
	return append(all, old...)
}

// release makes the reschedulable pods pending, and removes the others. pods are all pods of one node or claim.
func (e *edit) release(pods []*Pod) {
	for _, p := range pods {
		if !p.Reschedulable() {
			e.next.Pods.Remove(e.token, p.Key)
			continue
		}
		back := p.Unbound()
		e.next.Pods.Set(e.token, back.Key, back)
		// A pod that opts out of NodePools may run on a node that joined its NodePool later. It becomes pending as
		// well, so the node is not removed while the pod has no other place.
		e.setPending(back, back.Provisionable() || back.OptsOut())
	}
	if len(pods) > 0 {
		name := pods[0].Object.Spec.NodeName
		e.next.derived.bound.Remove(e.token, name)
		e.moved[name] = true
	}
}

// WithOfferings returns the instance types of all NodePools of s with changed offerings, as Delta.Types takes them. change
// changes a copy of an offering and reports whether it did. Types without a change are shared.
func WithOfferings(s *Snapshot, change func(*InstanceType, *Offering) bool) map[string][]*InstanceType {
	out := map[string][]*InstanceType{}
	var o Offering
	for _, p := range s.Pools() {
		types := slices.Clone(s.Types(p.Name))
		for i, t := range types {
			for k := range t.Offerings {
				if o = t.Offerings[k]; !change(t, &o) {
					continue
				}
				if types[i] == t {
					own := *t
					own.Offerings = slices.Clone(t.Offerings)
					types[i] = &own
				}
				types[i].Offerings[k] = o
			}
		}
		out[p.Name] = types
	}
	return out
}

// WithoutPending returns s without pending pods.
func (s *Snapshot) WithoutPending() *Snapshot {
	t := *s
	t.derived.pending = table.Table[*Pod]{}
	return &t
}

// Bound returns s with the placed pods bound to their nodes, also to claims whose nodes have not joined.
func (s *Snapshot) Bound(placements []Placement) *Snapshot {
	e := newEdit(s)
	for _, pl := range placements {
		for _, p := range pl.Pods {
			e.setPod(p.boundTo(pl.Node.BindingName()), false)
		}
	}
	return e.finish()
}

// Close returns s in which the matching nodes, and those that are closed in s already, take no new pods. Nodes that are
// being deleted are not closed: they take no pods in any case. In contrast to a cordon, Close adds no taint. So tolerations
// have no effect on it, and spread constraints with nodeTaintsPolicy Honor count the nodes.
func (s *Snapshot) Close(match func(*Node) bool) *Snapshot {
	t := *s
	t.closed = map[string]bool{}
	maps.Copy(t.closed, s.closed)
	for _, n := range s.derived.nodes.Each() {
		if !n.Deleting && match(n) {
			t.closed[n.Name] = true
		}
	}
	return &t
}

// Closed reports whether the node takes no new pods because of Close, or because it is Silent.
func (s *Snapshot) Closed(n *Node) bool { return s.closed[n.Name] || n.Silent(s.Now) }

// Unbound returns p as a pending pod that is marked unschedulable, as its successor will be after its node is removed.
func (p *Pod) Unbound() *Pod {
	o := *p.Object
	o.Spec.NodeName = ""
	o.DeletionTimestamp = nil
	o.Status.Phase = corev1.PodPending
	o.Status.NominatedNodeName = ""
	o.Status.Conditions = neverScheduled
	return &Pod{Key: p.Key, UID: p.UID, Object: &o, Requests: p.Requests, Buffer: p.Buffer}
}

// neverScheduled are the conditions of the pods that Unbound returns. They are read-only.
var neverScheduled = []corev1.PodCondition{{
	Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
}}

// boundTo returns p bound to the node.
func (p *Pod) boundTo(node string) *Pod {
	o := *p.Object
	o.Spec.NodeName = node
	o.Status.Phase = corev1.PodRunning
	o.Status.Conditions = []corev1.PodCondition{
		{Type: corev1.PodReady, Status: corev1.ConditionTrue},
		{Type: corev1.PodScheduled, Status: corev1.ConditionTrue},
	}
	return &Pod{Key: p.Key, UID: p.UID, Object: &o, Requests: p.Requests, Buffer: p.Buffer}
}
