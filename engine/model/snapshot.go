package model

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// A Snapshot is everything a decision may look at, at one moment. It is immutable; Apply and At return new ones. The zero
// Snapshot is an empty cluster.
type Snapshot struct {
	// Now is the moment, for everything that depends on age or schedule.
	Now time.Time
	// Promises tells pods, by key, which node or claim they were planned onto before. It is a hint: a promise holds while
	// the node is there and the pod still fits. It is shared and never changed. Readers ask PromiseOf.
	Promises map[string]string

	raw     raw
	derived derived
}

// raw holds the objects as they came, by key.
type raw struct {
	pods    table[*Pod]
	nodes   table[*corev1.Node]
	claims  table[*apiv1.NodeClaim]
	pools   table[*Pool]
	daemons table[*Daemon]
	types   table[[]*InstanceType]
	around  surroundings
}

// derived holds what follows from raw alone, kept up to date by Apply.
type derived struct {
	// nodes are the merged ones, by identity (see identity).
	nodes table[*Node]
	// pending are the provisionable pods.
	pending table[*Pod]
	// bound are the pods of each node name, in key order.
	bound table[[]*Pod]
	// nodeOf and claimOf find the halves of an identity; values are names in ascending order, so that a doubled
	// identity always resolves to the same object. claimOf also has the claims whose node is to have a name (nameKey).
	nodeOf, claimOf table[[]string]
	// owned are the identities of the nodes that a claim owns, by its name.
	owned table[[]string]
}

// PromiseOf returns the node or claim that p is on its way to, empty if none is known: where it was planned, else where the
// scheduler nominated it. It is a hint like Promises, never the truth: the node may be gone or full. What a pod that has its
// node was nominated to says nothing of where it goes next; API servers before Kubernetes 1.35 leave it there.
func (s *Snapshot) PromiseOf(p *Pod) string {
	if node, ok := s.Promises[p.Key]; ok {
		return node
	}
	if p.Bound() {
		return ""
	}
	return p.Object.Status.NominatedNodeName
}

// At returns s at another moment.
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

// Pending returns the pods that wait for a node, in key order.
func (s *Snapshot) Pending() []*Pod { return s.derived.pending.values() }

// Displaced returns the pods on nodes that are going and that need another place, in key order. Pods that must not be
// disturbed stay where they are for now, and need none yet.
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

// Nodes returns all capacity, existing and in flight, in the order of its identity.
func (s *Snapshot) Nodes() []*Node { return s.derived.nodes.values() }

// NodeByName returns the node of that name, or the claim in flight that has that name or whose node is to have it.
func (s *Snapshot) NodeByName(name string) (*Node, bool) {
	if o, ok := s.raw.nodes.get(name); ok {
		if n, ok := s.derived.nodes.get(nodeIdentity(o)); ok {
			return n, true
		} // else its claim, which may be of that name too, stands for it
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

// Pods returns all pods in key order.
func (s *Snapshot) Pods() []*Pod { return s.raw.pods.values() }

// Pod returns the pod of that namespace/name.
func (s *Snapshot) Pod(key string) (*Pod, bool) { return s.raw.pods.get(key) }

// Claims returns all claims in name order.
func (s *Snapshot) Claims() []*apiv1.NodeClaim { return s.raw.claims.values() }

// Claim returns the claim of that name.
func (s *Snapshot) Claim(name string) (*apiv1.NodeClaim, bool) { return s.raw.claims.get(name) }

// Pools returns all pools, highest weight first, then by name.
func (s *Snapshot) Pools() []*Pool {
	pools := s.raw.pools.values()
	slices.SortStableFunc(pools, func(a, b *Pool) int { return int(b.Weight) - int(a.Weight) })
	return pools
}

// Pool returns the pool of that name.
func (s *Snapshot) Pool(name string) (*Pool, bool) { return s.raw.pools.get(name) }

// Types returns the instance types that the pool's node class allows, in name order as they were given.
func (s *Snapshot) Types(pool string) []*InstanceType {
	types, _ := s.raw.types.get(pool)
	return types
}

// Daemons returns all daemons in key order.
func (s *Snapshot) Daemons() []*Daemon { return s.raw.daemons.values() }

// Usage returns the capacity that the pool's nodes hold, itself counted in "nodes". Nodes on their way out count until
// they are gone, claims that are not launched count as one node of unknown size.
func (s *Snapshot) Usage(pool string) Resources {
	used := Resources{}
	for _, n := range s.Nodes() {
		if n.Pool == pool {
			used = used.Plus(n.Capacity)
		}
	}
	return used
}
