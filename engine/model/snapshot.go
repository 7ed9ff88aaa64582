package model

import (
	"iter"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/commitment"
	"github.com/karpenter-go/karpenter/engine/table"
)

// A Snapshot is the state of the cluster and of what the cloud offers, at one time. Decisions depend on nothing else.
// It is immutable; methods such as Apply and At return new ones. The zero Snapshot is an empty cluster.
type Snapshot struct {
	// Now is the time of all decisions.
	Now time.Time
	// Targets are the names of the nodes or claims onto which pods were planned before, by pod key. A target is a
	// hint: it holds while the node exists and the pod fits. The map is read-only. Use TargetOf to read it.
	Targets map[string]string
	// Aliases map deprecated label keys to the keys that replace them. Requirements of NodePools and NodeClaims may have
	// deprecated keys. nil means the keys that Kubernetes has deprecated. It is read-only, and is set before the first Apply.
	Aliases map[string]string
	// DynamicResources says that DaemonSets whose pods have ResourceClaims count. If it is false, Apply leaves them out. It is
	// set before the first Apply.
	DynamicResources bool

	// closed has the names of the nodes that take no new pods (see Close). It is read-only.
	closed map[string]bool

	Objects
	derived derived
}

// derived holds values computed from the Objects. Apply keeps them up to date.
type derived struct {
	// nodes are the merged nodes by identity (see nodeIdentity). list returns them in this order, and is nil if there are none.
	nodes table.Table[*Node]
	list  func() []*Node
	// Each plan needs the nodes that are being deleted, those with pods in Node.WithAntiAffinity, and those with a PreferNoSchedule
	// taint. There are few of them.
	deleting, withAntiAffinity, softlyTainted table.Table[*Node]
	// pending are the provisionable pods.
	pending table.Table[*Pod]
	// bound are the pods bound to each node name, in key order.
	bound table.Table[[]*Pod]
	// nodeOf and claimOf map an identity to the sorted names of its nodes and claims. If several objects have one
	// identity, the first counts. claimOf also maps nameKey to the claims that are annotated with the node name.
	nodeOf, claimOf table.Table[[]string]
	// owned are the identities of the nodes that a claim owns, by claim name.
	owned table.Table[[]string]
	// coverage returns Coverage. It is nil for the zero Snapshot.
	coverage func() *commitment.Coverage
	// soleUsers returns SoleUser of each claim. It is nil for the zero Snapshot.
	soleUsers func() map[string]*Pod
}

// TargetOf returns the name of the node or claim onto which p was planned, else of the node to which p is nominated,
// else empty. The node may be gone or full. The nomination of a bound pod is ignored, because API servers before
// Kubernetes 1.35 do not remove it.
func (s *Snapshot) TargetOf(p *Pod) string {
	if node, ok := s.Targets[p.Key]; ok {
		return node
	}
	if p.Bound() {
		return ""
	}
	return p.Object.Status.NominatedNodeName
}

// WithoutObjects returns a Snapshot without objects, with Now, Aliases and DynamicResources of s.
func WithoutObjects(s *Snapshot) *Snapshot {
	return &Snapshot{Now: s.Now, Aliases: s.Aliases, DynamicResources: s.DynamicResources}
}

// At returns s with another Now.
func (s *Snapshot) At(now time.Time) *Snapshot {
	t := *s
	t.Now = now
	return &t
}

// WithTargets returns s with other targets.
func (s *Snapshot) WithTargets(targets map[string]string) *Snapshot {
	t := *s
	t.Targets = targets
	return &t
}

// Pending returns the provisionable pods, in key order.
func (s *Snapshot) Pending() []*Pod { return s.derived.pending.Values() }

// Nodes returns all nodes, existing and being launched, in the order of their identities.
func (s *Snapshot) Nodes() []*Node { return slices.Clone(nodesOf(s)) }

// NodesInOrder iterates over Nodes without copying the list.
func (s *Snapshot) NodesInOrder() iter.Seq[*Node] { return slices.Values(nodesOf(s)) }

// nodesOf returns the list of Nodes, which is read-only.
func nodesOf(s *Snapshot) []*Node {
	if s.derived.list == nil {
		return nil
	}
	return s.derived.list()
}

// NodesWithAntiAffinity returns the nodes of s with pods in Node.WithAntiAffinity, in the order of their identities.
func NodesWithAntiAffinity(s *Snapshot) []*Node { return s.derived.withAntiAffinity.Values() }

// SoftlyTainted reports whether some node of s has a PreferNoSchedule taint.
func SoftlyTainted(s *Snapshot) bool { return s.derived.softlyTainted.Len() > 0 }

// EachNode iterates over the identities and nodes in random order. It does not copy or sort them.
func (s *Snapshot) EachNode() iter.Seq2[string, *Node] { return s.derived.nodes.Each() }

// NodeChanges returns the nodes of s that old does not have in the same version, and the nodes of old that s does not
// have in the same version. Both lists are in random order. A node that was only changed is in both lists. The work is
// proportional to the parts of the snapshots that differ, which are few if s was made of old by a small Delta.
func (s *Snapshot) NodeChanges(old *Snapshot) (now, before []*Node) {
	changed := func(to, from table.Table[*Node]) (nodes []*Node) {
		for k, n := range to.Unshared(from) {
			if same, _ := from.Get(k); same != n {
				nodes = append(nodes, n)
			}
		}
		return nodes
	}
	return changed(s.derived.nodes, old.derived.nodes), changed(old.derived.nodes, s.derived.nodes)
}

// EachBound iterates in random order over the names in Node.BindingName to which pods are bound, with these pods in key order. It
// includes names of nodes that the snapshot does not have, and pods that have ended.
func (s *Snapshot) EachBound() iter.Seq2[string, []*Pod] { return s.derived.bound.Each() }

// NodeByName returns the node whose Node object, or else whose claim, has the name. If there is none, it returns a node that
// has only a claim, is not being deleted, and has the name in the annotation NodeNameAnnotationKey of its claim.
func (s *Snapshot) NodeByName(name string) (*Node, bool) {
	if o, ok := s.NodeObjects.Get(name); ok {
		if n, ok := s.derived.nodes.Get(nodeIdentity(o)); ok {
			return n, true
		} // else Nodes has only its claim, which may have the same name
	}
	if c, ok := s.Claims.Get(name); ok {
		return s.derived.nodes.Get(claimIdentity(c))
	}
	names, _ := s.derived.claimOf.Get(nameKey(name))
	for _, claim := range names {
		c, _ := s.Claims.Get(claim)
		if n, ok := s.derived.nodes.Get(claimIdentity(c)); ok && n.Object == nil && !n.Deleting {
			return n, true
		}
	}
	return nil, false
}

// BoundTo returns all pods that are bound to the node, also those that use no resources any more, in key order. The result must not
// be changed.
func (s *Snapshot) BoundTo(n *Node) []*Pod {
	pods, _ := s.derived.bound.Get(n.BindingName())
	return pods
}

// Pools returns all pools, highest weight first, then by name.
func (s *Snapshot) Pools() []*Pool {
	pools := s.pools.Values()
	slices.SortStableFunc(pools, func(a, b *Pool) int { return int(b.Weight) - int(a.Weight) })
	return pools
}

// Pool returns the pool with the name.
func (s *Snapshot) Pool(name string) (*Pool, bool) { return s.pools.Get(name) }

// Types returns the instance types that the pool's node class allows, in name order.
func (s *Snapshot) Types(pool string) []*InstanceType {
	types, _ := s.types.Get(pool)
	return types.all
}

// Daemons returns all daemons in key order.
func (s *Snapshot) Daemons() []*Daemon { return s.daemons.Values() }

// Usage returns the sum of the capacity of the pool's nodes, in which each node counts as 1 of the resource "nodes". Nodes
// that are being removed count as well. A claim that is not launched adds only 1 of "nodes", and its requests if a
// NodeOverlay has changed the capacity of its options.
func (s *Snapshot) Usage(pool string) Resources {
	used := Resources{}
	for _, n := range s.Nodes() {
		if n.Pool == pool {
			used = used.Plus(n.Capacity)
		}
	}
	return used
}

// Objects are the objects of a Snapshot by key: namespace/name, or the name alone for cluster-scoped kinds.
type Objects struct {
	Pods   table.Table[*Pod]
	Claims table.Table[*apiv1.NodeClaim]
	// NodeObjects are all Node objects, also those that Snapshot.Nodes omits because their claims count instead.
	NodeObjects table.Table[*corev1.Node]

	// The objects to which pods refer by name or selector. Nothing is computed from them in advance, because few pods
	// refer to them.
	Namespaces     table.Table[*corev1.Namespace]
	PDBs           table.Table[*policyv1.PodDisruptionBudget]
	VolumeClaims   table.Table[*corev1.PersistentVolumeClaim]
	Volumes        table.Table[*corev1.PersistentVolume]
	StorageClasses table.Table[*storagev1.StorageClass]
	CSINodes       table.Table[*storagev1.CSINode]

	pools   table.Table[*Pool]
	daemons table.Table[*Daemon]
	types   table.Table[poolTypes] // by pool name
}

// poolTypes are the instance types of a pool in name order, and the commitments that cover some of their offerings.
type poolTypes struct {
	all         []*InstanceType
	commitments []*commitment.Commitment
}
