package model

import (
	"iter"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"

	"github.com/karpenter-go/karpenter/engine/commitment"
)

// A Snapshot is the state of the cluster and of what the cloud offers, at one time. Decisions depend on nothing else.
// It is immutable; Apply and At return new ones. The zero Snapshot is an empty cluster.
type Snapshot struct {
	// Now is the time of all decisions.
	Now time.Time
	// Promises are the names of the nodes or claims onto which pods were planned before, by pod key. A promise is a
	// hint: it holds while the node exists and the pod fits. The map is read-only. Use PromiseOf to read it.
	Promises map[string]string

	raw     raw
	derived derived
}

// raw holds the API objects by key.
type raw struct {
	pods    table[*Pod]
	nodes   table[*corev1.Node]
	claims  table[*apiv1.NodeClaim]
	pools   table[*Pool]
	daemons table[*Daemon]
	types   table[[]*InstanceType]
	around  surroundings
}

// derived holds values computed from raw. Apply keeps them up to date.
type derived struct {
	// nodes are the merged nodes by identity (see nodeIdentity).
	nodes table[*Node]
	// pending are the provisionable pods.
	pending table[*Pod]
	// bound are the pods bound to each node name, in key order.
	bound table[[]*Pod]
	// nodeOf and claimOf map an identity to the sorted names of its nodes and claims. If several objects have one
	// identity, the first counts. claimOf also maps nameKey to the claims that are annotated with the node name.
	nodeOf, claimOf table[[]string]
	// owned are the identities of the nodes that a claim owns, by claim name.
	owned table[[]string]
	// committed are the types of the pools of which commitments cover some offering. coverage is nil if there are none.
	committed table[*typeIndex]
	coverage  func() *commitment.Coverage
}

// PromiseOf returns the name of the node or claim onto which p was planned, else of the node to which p is nominated,
// else empty. The node may be gone or full. The nomination of a bound pod is ignored, because API servers before
// Kubernetes 1.35 do not remove it.
func (s *Snapshot) PromiseOf(p *Pod) string {
	if node, ok := s.Promises[p.Key]; ok {
		return node
	}
	if p.Bound() {
		return ""
	}
	return p.Object.Status.NominatedNodeName
}

// At returns s with another Now.
func (s *Snapshot) At(now time.Time) *Snapshot {
	t := *s
	t.Now = now
	return &t
}

// WithPromises returns s with other promises.
func (s *Snapshot) WithPromises(promises map[string]string) *Snapshot {
	t := *s
	t.Promises = promises
	return &t
}

// Pending returns the provisionable pods, in key order.
func (s *Snapshot) Pending() []*Pod { return s.derived.pending.values() }

// Displaced returns the pods that need another place because their node is being deleted, in key order. Pods with
// do-not-disrupt are omitted.
func (s *Snapshot) Displaced() []*Pod {
	var pods []*Pod
	for _, n := range s.Nodes() {
		if !n.Deleting {
			continue
		}
		for _, p := range n.Reschedulable() {
			if p.Object.Annotations[apiv1.DoNotDisruptAnnotationKey] != "true" {
				pods = append(pods, p)
			}
		}
	}
	slices.SortFunc(pods, func(a, b *Pod) int { return strings.Compare(a.Key, b.Key) })
	return pods
}

// Nodes returns all nodes, existing and being launched, in the order of their identities.
func (s *Snapshot) Nodes() []*Node { return s.derived.nodes.values() }

// EachNode iterates over the nodes in random order. It does not copy or sort the list.
func (s *Snapshot) EachNode() iter.Seq[*Node] {
	return func(yield func(*Node) bool) {
		for _, n := range s.derived.nodes.each() {
			if !yield(n) {
				return
			}
		}
	}
}

// NodeChanges returns the nodes of s that old does not have in the same version, and the nodes of old that s does not have
// in the same version, both in random order. A node that was only changed is in both lists. The work is proportional to the
// parts of the snapshots that differ, which are few if s was made of old by a small Delta.
func (s *Snapshot) NodeChanges(old *Snapshot) (now, before []*Node) {
	s.derived.nodes.differing(old.derived.nodes, func(new, former map[string]*Node) {
		for k, n := range new {
			if former[k] != n {
				now = append(now, n)
			}
		}
		for k, n := range former {
			if new[k] != n {
				before = append(before, n)
			}
		}
	})
	return now, before
}

// NodeByName returns the node with the name, or else the claim that has the name or is annotated with it.
func (s *Snapshot) NodeByName(name string) (*Node, bool) {
	if o, ok := s.raw.nodes.get(name); ok {
		if n, ok := s.derived.nodes.get(nodeIdentity(o)); ok {
			return n, true
		} // else Nodes has only its claim, which may have the same name
	}
	if c, ok := s.raw.claims.get(name); ok {
		return s.derived.nodes.get(claimIdentity(c))
	}
	names, _ := s.derived.claimOf.get(nameKey(name))
	for _, claim := range names {
		c, _ := s.raw.claims.get(claim)
		if n, ok := s.derived.nodes.get(claimIdentity(c)); ok && n.Object == nil && !n.Deleting {
			return n, true
		}
	}
	return nil, false
}

// RawNode returns the Node object with the name, even while Nodes omits it in favour of its claim.
func (s *Snapshot) RawNode(name string) (*corev1.Node, bool) { return s.raw.nodes.get(name) }

// Pods returns all pods in key order.
func (s *Snapshot) Pods() []*Pod { return s.raw.pods.values() }

// EachPod iterates over the pods by key, in random order. It does not copy the list.
func (s *Snapshot) EachPod() iter.Seq2[string, *Pod] { return s.raw.pods.each() }

// Pod returns the pod with the key namespace/name.
func (s *Snapshot) Pod(key string) (*Pod, bool) { return s.raw.pods.get(key) }

// Claims returns all claims in name order.
func (s *Snapshot) Claims() []*apiv1.NodeClaim { return s.raw.claims.values() }

// Claim returns the claim with the name.
func (s *Snapshot) Claim(name string) (*apiv1.NodeClaim, bool) { return s.raw.claims.get(name) }

// Pools returns all pools, highest weight first, then by name.
func (s *Snapshot) Pools() []*Pool {
	pools := s.raw.pools.values()
	slices.SortStableFunc(pools, func(a, b *Pool) int { return int(b.Weight) - int(a.Weight) })
	return pools
}

// Pool returns the pool with the name.
func (s *Snapshot) Pool(name string) (*Pool, bool) { return s.raw.pools.get(name) }

// Types returns the instance types that the pool's node class allows, in name order.
func (s *Snapshot) Types(pool string) []*InstanceType {
	types, _ := s.raw.types.get(pool)
	return types
}

// Daemons returns all daemons in key order.
func (s *Snapshot) Daemons() []*Daemon { return s.raw.daemons.values() }

// Usage returns the sum of the capacity of the pool's nodes, in which each node counts as 1 of the resource "nodes".
// Nodes that are being removed count as well. A claim that is not launched adds only 1 of "nodes".
func (s *Snapshot) Usage(pool string) Resources {
	used := Resources{}
	for _, n := range s.Nodes() {
		if n.Pool == pool {
			used = used.Plus(n.Capacity)
		}
	}
	return used
}
