// Package steer says which pods should carry the name of a node in status.nominatedNodeName, so that the scheduler puts them
// where they were planned: it tries that node first, and keeps its room from pods of no higher priority.
//
// A nomination is a hint. The scheduler erases it after an attempt that failed and writes its own when it preempts; those
// are never touched. Ours are told by the name of the writer, which the API server keeps, so that a restart forgets none.
package steer

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Writer is the field manager that nominations are written as.
const Writer = "karpenter-steering"

// A Nomination sets what a pod is nominated to; an empty Node takes that away.
type Nomination struct {
	Pod  *model.Pod
	Node string
}

// Next returns what has to change now: pods that were planned onto a node that is open to pods are nominated to it, as long as
// they fit; ours that hold no longer are taken away. With on false all of ours are. Those to take away come first, for they
// keep room from others, then the largest, for any of the others find room more easily without.
//
// Joining are the nodes, by their claims, that Join was asked for: what it has written stands until they are open, also
// where s does not show the node yet.
func Next(s *model.Snapshot, on bool, joining map[string]string) []Nomination {
	var changes []Nomination
	share := map[*model.Pod]float64{} // of its node
	rooms := rooms{}
	for _, p := range s.Pending() {
		if p.Virtual() {
			continue
		}
		have, want := p.Object.Status.NominatedNodeName, ""
		n, ok := s.NodeByName(s.PromiseOf(p))
		switch {
		case !on || !ok:
		case open(n) && rooms.take(n, p):
			want = n.Object.Name
		case joins(n) && have == joining[n.Claim.Name]:
			want = joining[n.Claim.Name]
		}
		if changed(p, want) {
			changes = append(changes, Nomination{Pod: p, Node: want})
			share[p] = shareOf(p, n)
		}
	}
	order(changes, share)
	return changes
}

// order puts what is taken away first, then the largest shares of a node.
func order(changes []Nomination, share map[*model.Pod]float64) {
	slices.SortStableFunc(changes, func(a, b Nomination) int {
		return cmp.Or(cmp.Compare(min(len(a.Node), 1), min(len(b.Node), 1)), cmp.Compare(share[b.Pod], share[a.Pod]))
	})
}

// shareOf returns the most that p takes of any resource of n, nothing without a node.
func shareOf(p *model.Pod, n *model.Node) float64 {
	if n == nil {
		return 0
	}
	most := 0.0
	for name, amount := range p.Requests {
		if all := n.Allocatable[name]; all > 0 {
			most = max(most, float64(amount)/float64(all))
		}
	}
	return most
}

// A Joiner is a node that is about to be opened to pods, and its claim.
type Joiner struct {
	Claim *apiv1.NodeClaim
	Node  *corev1.Node
}

// Join returns the nominations of the pods that were planned onto the claims, to their nodes, in the order of Next. The
// joiners are taken as they are given: s may not show them yet.
func Join(s *model.Snapshot, joiners ...Joiner) []Nomination {
	var d model.Delta
	for _, j := range joiners {
		d.Claims, d.Nodes = append(d.Claims, j.Claim), append(d.Nodes, j.Node)
	}
	s = s.Apply(d)
	names := map[*model.Node]string{}
	nodes := map[string]*model.Node{} // by both names
	for _, j := range joiners {
		if n, ok := s.NodeByName(j.Claim.Name); ok && !n.Deleting {
			nodes[j.Claim.Name], nodes[j.Node.Name], names[n] = n, n, j.Node.Name
		}
	}
	var changes []Nomination
	share, rooms := map[*model.Pod]float64{}, rooms{}
	for _, p := range s.Pending() {
		n := nodes[s.PromiseOf(p)]
		if n == nil || p.Virtual() || !rooms.take(n, p) || !changed(p, names[n]) {
			continue
		}
		changes = append(changes, Nomination{Pod: p, Node: names[n]})
		share[p] = shareOf(p, n)
	}
	order(changes, share)
	return changes
}

// soon is how long ago a node has come that is expected to join at any moment. One that has not by then may never.
const soon = 10 * time.Second

// Expects reports whether others are about to join whom pods were planned onto: near are nodes that have come lately and are closed,
// far are those that were asked for no later than the given time and have no node yet. API servers write times in whole seconds.
func Expects(s *model.Snapshot, asked time.Time, joined map[string]string) (near, far bool) {
	asked = asked.Add(time.Second)
	for _, p := range s.Pending() {
		n, ok := s.NodeByName(s.PromiseOf(p))
		if !ok || !joins(n) {
			continue
		}
		if _, ok := joined[n.Claim.Name]; ok {
			continue
		}
		near = near || n.Object != nil && s.Now.Sub(n.Object.CreationTimestamp.Time) < soon
		far = far || n.Object == nil && !n.Claim.CreationTimestamp.After(asked)
	}
	return near, far
}

// open reports whether pods may be bound to the node, now or when it is ready.
func open(n *model.Node) bool {
	return n.Object != nil && n.Registered && !n.Reserved() && !n.Deleting && !n.Disrupted() && !n.Object.Spec.Unschedulable
}

// joins reports whether the node is not open yet, and on its way.
func joins(n *model.Node) bool { return n.Claim != nil && !n.Registered && !n.Deleting }

// changed reports whether the pod has to be written to carry want. What others nominated it to stands.
func changed(p *model.Pod, want string) bool {
	have := p.Object.Status.NominatedNodeName
	return have != want && (have == "" || ours(p.Object))
}

// nominated is how a field manager's record names the field.
var nominated = []byte(`"f:nominatedNodeName"`)

// ours reports whether the pod's nomination was written by us.
func ours(o *corev1.Pod) bool {
	for i := range o.ManagedFields {
		f := &o.ManagedFields[i]
		if f.Manager == Writer && f.FieldsV1 != nil && bytes.Contains(f.FieldsV1.GetRawBytes(), nominated) {
			return true
		}
	}
	return false
}

// rooms are what nodes have left after the pods that are on them or on their way.
type rooms map[string]model.Resources

// take takes the pod's room on n, and reports false if there is too little.
func (r rooms) take(n *model.Node, p *model.Pod) bool {
	free, ok := r[n.Name]
	if !ok {
		free = n.Free()
	}
	if _, _, short := p.Requests.Short(free); short {
		return false
	}
	r[n.Name] = free.Minus(p.Requests)
	return true
}
