package nominate

import (
	"cmp"
	"slices"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Options are what Decide has to know besides the snapshot.
type Options struct {
	// On nominates pods. Without it the nominations of this program are cleared, and no node waits.
	On bool
	// Launching means that claims are being created whose pods are not in the snapshot's promises yet.
	Launching bool
}

// A Nomination sets what a pod is nominated to. An empty Node clears it.
type Nomination struct {
	Pod  *model.Pod
	Node string
}

// A Decision is what has to be written now.
type Decision struct {
	// Nominations are in the order in which they are to be written: those to clear first, because they reserve room on nodes, then
	// those to nodes that exist, then those to nodes in flight. Among these, pods come by the share of their node that they take, the
	// largest first, because small pods find room more easily without.
	Nominations []Nomination
	// Nominated are the claims whose nodes have joined and need not wait for nominations any longer once Nominations are written, in
	// name order.
	Nominated []Nominated
	// InFlight means that pods are nominated, or to be nominated, to nodes that are not registered.
	InFlight bool
	// Waiting means that claims are left whose nodes have joined and wait for nominations. Time alone may change that.
	Waiting bool
}

// A Nominated is a claim and the name of its node, to which its pods are nominated. The name is empty if pods are not nominated.
type Nominated struct {
	Claim *apiv1.NodeClaim
	Node  string
}

// Decide returns what has to be written now.
//
// A pod is nominated to the node that it was planned onto if that node is open to pods, or in flight with a name that is known,
// and the pod fits there beside those that were nominated to it before. Every other nomination of this program is cleared.
func Decide(s *model.Snapshot, o Options) Decision {
	var d Decision
	free, ranks := freeCapacity{}, map[*model.Pod]rank{}
	outstanding, missing := map[*model.Node]bool{}, 0 // nodes that have joined with pods that lack their nomination, and these pods
	for _, p := range s.Pending() {
		if p.Virtual() {
			continue
		}
		n, want := target(s, p, o.On, free)
		d.InFlight = d.InFlight || want != "" && !n.Registered
		if !mayChange(p, want) {
			continue
		}
		d.Nominations, ranks[p] = append(d.Nominations, Nomination{Pod: p, Node: want}), rankOf(p, n)
		if want != "" && !n.Registered && n.Object != nil {
			outstanding[n] = true
			missing++
		}
	}
	slices.SortStableFunc(d.Nominations, func(a, b Nomination) int { return ranks[a.Pod].compare(ranks[b.Pod]) })
	r := newRelease(s, o, outstanding)
	r.missing = missing
	d.Nominated, d.Waiting = r.claims()
	return d
}

// target returns the node that p was planned onto and the name that p is to be nominated to. It takes the pod's requests from
// the free capacity of that node. The name is empty if the pod is to be nominated to none.
func target(s *model.Snapshot, p *model.Pod, on bool, free freeCapacity) (*model.Node, string) {
	if !on {
		return nil, ""
	}
	n, ok := s.NodeByName(s.PromiseOf(p))
	if !ok || !takesPods(n) {
		return nil, ""
	}
	name := nodeName(s, n)
	if name == "" || !free.take(n, p) {
		return nil, ""
	}
	return n, name
}

// takesPods reports whether pods may be bound to the node now, or once it has joined and is ready.
func takesPods(n *model.Node) bool {
	switch {
	case n.Deleting || n.Disrupted() || n.Reserved():
		return false
	case n.Object == nil:
		return n.Claim != nil
	}
	return !n.Object.Spec.Unschedulable && (n.Registered || n.Claim != nil)
}

// nodeName returns the name of the Kubernetes node, empty while it is not known, or while the claim does not tell yet how large the
// instance is. A name that another node has already is not known either.
func nodeName(s *model.Snapshot, n *model.Node) string {
	if !n.Launched() {
		return ""
	}
	name := n.NodeName()
	if of, ok := s.NodeByName(name); !ok || of != n {
		return ""
	}
	return name
}

// A rank says when a nomination is written: the lower stage first, then the larger share of the node.
type rank struct {
	stage int
	share float64
}

// rankOf returns the rank of a pod's nomination to n, nil for one that is cleared.
func rankOf(p *model.Pod, n *model.Node) rank {
	switch {
	case n == nil:
		return rank{}
	case n.Object != nil:
		return rank{1, shareOf(p, n)}
	}
	return rank{2, shareOf(p, n)}
}

func (r rank) compare(o rank) int {
	return cmp.Or(cmp.Compare(r.stage, o.stage), cmp.Compare(o.share, r.share))
}

// shareOf returns the largest share that p takes of any resource of n.
func shareOf(p *model.Pod, n *model.Node) float64 {
	most := 0.0
	for name, amount := range p.Requests {
		if all := n.Allocatable[name]; all > 0 {
			most = max(most, float64(amount)/float64(all))
		}
	}
	return most
}

// freeCapacity is what nodes have left beside the pods that are bound or nominated to them, by the node's name.
type freeCapacity map[string]model.Resources

// take takes the pod's requests from what n has left, and reports false if that is too little.
func (f freeCapacity) take(n *model.Node, p *model.Pod) bool {
	left, ok := f[n.Name]
	if !ok {
		left = n.Free()
	}
	if _, _, short := p.Requests.Short(left); short {
		return false
	}
	f[n.Name] = left.Minus(p.Requests)
	return true
}
