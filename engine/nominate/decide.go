package nominate

import (
	"bytes"
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Options are the input of Decide besides the Snapshot.
type Options struct {
	// On enables nominations. If it is false, nominations by this program are cleared, and no node waits for
	// nominations.
	On bool
	// Launching is true while claims are being created whose pods are not in the Snapshot's targets yet.
	Launching bool
}

// A Nomination is a new value of a pod's status.nominatedNodeName. An empty Node clears it.
type Nomination struct {
	Pod  *model.Pod
	Node string

	// stage and share order nominations (see Decision.Nominations). share is the largest share of the node's resources that
	// the pod requests.
	stage int
	share float64
}

// A Decision is the result of Decide: the changes to write now.
type Decision struct {
	// Nominations are in the order in which they must be written. Nominations to clear come first, because they reserve
	// capacity. Then come nominations to nodes that have joined, then nominations to other nodes. Within each group, pods
	// that request the largest share of their node come first, because small pods fit more easily.
	Nominations []Nomination
	// Nominated are the claims, in name order, whose nodes need not wait for nominations once Nominations are written.
	Nominated []Nominated
	// InFlight is true if pods are nominated, or will be nominated, to nodes that are not registered.
	InFlight bool
	// Waiting is true if other nodes that have joined still wait for nominations. The wait may end without an event.
	Waiting bool
}

// A Nominated is a claim whose node is released: it need not wait for nominations any more. Node is the name to which
// its pods are nominated, empty if Options.On is false.
type Nominated struct {
	Claim *apiv1.NodeClaim
	Node  string
}

// Decide returns the nominations to write and the claims to release.
//
// A pod is nominated to the node onto which it was planned if it fits there, the node accepts pods, and its name is known.
// Before a node has joined, its name is known only if the cloud reported it at the launch. Pods that are nominated earlier
// in the same call reduce the free capacity. All other nominations by this program are cleared.
func Decide(s *model.Snapshot, o Options) Decision {
	var d Decision
	free := model.FreeCapacity{}
	outstanding := map[*model.Node]int{}
	for _, p := range s.Pending() {
		if p.Virtual() {
			continue
		}
		n, want := target(s, p, o.On, free)
		d.InFlight = d.InFlight || want != "" && !n.Registered
		if !mayChange(p, want) {
			continue
		}
		d.Nominations = append(d.Nominations, nomination(p, n, want))
		if want != "" && !n.Registered && n.Object != nil {
			outstanding[n]++
		}
	}
	slices.SortStableFunc(d.Nominations, func(a, b Nomination) int {
		return cmp.Or(cmp.Compare(a.stage, b.stage), cmp.Compare(b.share, a.share))
	})
	d.Nominated, d.Waiting = newRelease(s, o, outstanding).claims()
	return d
}

// target returns the node to which p is nominated, and the name to write. It subtracts p's requests from the free
// capacity. If p is not nominated, or on is false, the node is nil and the name empty.
func target(s *model.Snapshot, p *model.Pod, on bool, free model.FreeCapacity) (*model.Node, string) {
	if !on {
		return nil, ""
	}
	n, ok := s.NodeByName(s.TargetOf(p))
	if !ok || !takesPods(n) {
		return nil, ""
	}
	name := nodeName(s, n)
	if name == "" || !free.Take(n, p) {
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

// nodeName returns the name of the Kubernetes node. It is empty if the claim is not launched, or while the name is
// unknown or belongs to another node.
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

// nomination returns the nomination of p to node n with the name. n is nil if the nomination is cleared.
func nomination(p *model.Pod, n *model.Node, name string) Nomination {
	x := Nomination{Pod: p, Node: name}
	switch {
	case n == nil:
		return x
	case n.Object != nil:
		x.stage = 1
	default:
		x.stage = 2
	}
	for name, amount := range p.Requests {
		if all := n.Allocatable[name]; all > 0 {
			x.share = max(x.share, float64(amount)/float64(all))
		}
	}
	return x
}

// FieldManager is the field manager of nominations. metadata.managedFields keeps it, so a restarted program recognizes
// its own nominations.
const FieldManager = "karpenter-nomination"

// mayChange reports whether the pod's nomination differs from want and is empty or written by this program.
func mayChange(p *model.Pod, want string) bool {
	have := p.Object.Status.NominatedNodeName
	return have != want && (have == "" || isOwn(p.Object))
}

// nominatedField is the path of the nomination in a managedFields entry.
var nominatedField = []byte(`"f:nominatedNodeName"`)

// isOwn reports whether this program wrote the pod's nomination.
func isOwn(o *corev1.Pod) bool {
	for i := range o.ManagedFields {
		f := &o.ManagedFields[i]
		if f.Manager == FieldManager && f.FieldsV1 != nil && bytes.Contains(f.FieldsV1.GetRawBytes(), nominatedField) {
			return true
		}
	}
	return false
}
