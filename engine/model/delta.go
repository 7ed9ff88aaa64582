package model

import (
	"runtime"
	"slices"
	"strings"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/commitment"
	"github.com/karpenter-go/karpenter/engine/table"
)

// A Delta is a set of changes: new or updated objects, and the keys of removed objects. Within one Delta a key is
// either set or removed, not both.
type Delta struct {
	Pods []*corev1.Pod
	// Virtual are placeholder pods for the room that a capacity buffer reserves. They have no API object. Their
	// annotations name the buffer and its namespace. One with the key of a pod that has an API object is ignored.
	Virtual []*corev1.Pod
	Nodes   []*corev1.Node
	Claims  []*apiv1.NodeClaim
	Pools   []*apiv1.NodePool
	Daemons []*appsv1.DaemonSet
	// Types are the new instance types of pools, by pool name. They replace all earlier ones of the pool.
	Types map[string][]*InstanceType

	Namespaces     []*corev1.Namespace
	PDBs           []*policyv1.PodDisruptionBudget
	VolumeClaims   []*corev1.PersistentVolumeClaim
	Volumes        []*corev1.PersistentVolume
	StorageClasses []*storagev1.StorageClass
	CSINodes       []*storagev1.CSINode

	Gone []Ref
}

// A Ref identifies an object by kind and key. The key is namespace/name, or the name alone for cluster-scoped kinds.
type Ref struct {
	Kind Kind
	Key  string
}

// A Kind is one kind of object that a Snapshot holds.
type Kind uint8

// The kinds.
const (
	KindPod Kind = iota
	KindNode
	KindClaim
	KindPool
	KindDaemon
	KindNamespace
	KindPDB
	KindVolumeClaim
	KindVolume
	KindStorageClass
	KindCSINode
)

// Empty reports whether d changes nothing.
func (d *Delta) Empty() bool {
	return len(d.Pods)+len(d.Virtual)+len(d.Nodes)+len(d.Claims)+len(d.Pools)+len(d.Daemons)+len(d.Types)+len(d.Gone)+
		len(d.Namespaces)+len(d.PDBs)+len(d.VolumeClaims)+len(d.Volumes)+len(d.StorageClasses)+len(d.CSINodes) == 0
}

// Compile returns the Snapshot of exactly the objects in d.
func Compile(d Delta) *Snapshot { return (&Snapshot{}).Apply(d) }

// Apply returns s with the changes of d. It does not change s. Of s it copies only the parts of tables that d changes
// (see table.Table).
func (s *Snapshot) Apply(d Delta) *Snapshot {
	e := newEdit(s)
	e.setPods(newPods(d.Pods))
	for _, o := range d.Virtual {
		p := newVirtualPod(o)
		if old, ok := e.next.Pods.Get(p.Key); !ok || old.Virtual() {
			e.setPod(p, p.Provisionable())
		}
	}
	for _, o := range d.Nodes {
		e.setNode(o)
	}
	for _, o := range d.Claims {
		e.setClaim(o)
	}
	for _, o := range d.Pools {
		e.next.pools.Set(e.token, o.Name, NewPool(o, e.next.Aliases))
	}
	for _, o := range d.Daemons {
		daemon := NewDaemon(o)
		counts := e.next.DynamicResources || len(o.Spec.Template.Spec.ResourceClaims) == 0
		e.next.daemons.Put(e.token, daemon.Key, daemon, counts)
	}
	for pool, types := range d.Types {
		e.setTypes(pool, types)
	}
	change(e, &e.next.Namespaces, d.Namespaces, KindNamespace, d.Gone)
	change(e, &e.next.PDBs, d.PDBs, KindPDB, d.Gone)
	change(e, &e.next.VolumeClaims, d.VolumeClaims, KindVolumeClaim, d.Gone)
	change(e, &e.next.Volumes, d.Volumes, KindVolume, d.Gone)
	change(e, &e.next.StorageClasses, d.StorageClasses, KindStorageClass, d.Gone)
	change(e, &e.next.CSINodes, d.CSINodes, KindCSINode, d.Gone)
	for _, r := range d.Gone {
		e.remove(r)
	}
	return e.finish()
}

// change sets the objects by their keys, and removes those of gone that have the kind. Nothing is computed from these objects.
func change[O metav1.Object](e *edit, t *table.Table[O], objects []O, kind Kind, gone []Ref) {
	for _, o := range objects {
		t.Set(e.token, strings.TrimPrefix(o.GetNamespace()+"/"+o.GetName(), "/"), o)
	}
	for _, r := range gone {
		if r.Kind == kind {
			t.Remove(e.token, r.Key)
		}
	}
}

// An edit is one change of a Snapshot.
type edit struct {
	// next is the new Snapshot. No other code has it before the edit is finished.
	next  *Snapshot
	token *table.Token
	// stale are the identities (see nodeIdentity) of the Nodes that must be merged again. moved are the names of nodes
	// whose pods changed.
	stale, moved map[string]bool
}

func newEdit(s *Snapshot) *edit {
	next := *s
	return &edit{next: &next, token: new(table.Token), stale: map[string]bool{}, moved: map[string]bool{}}
}

// remove removes an object of a kind from which something is computed. It ignores other kinds.
func (e *edit) remove(r Ref) {
	switch r.Kind {
	case KindPod:
		e.removePod(r.Key)
	case KindNode:
		e.removeNode(r.Key)
	case KindClaim:
		e.removeClaim(r.Key)
	case KindPool:
		e.next.pools.Remove(e.token, r.Key)
		e.next.types.Remove(e.token, r.Key)
	case KindDaemon:
		e.next.daemons.Remove(e.token, r.Key)
	}
}

// setTypes replaces the instance types of a pool. It sorts them by name if the caller has not.
func (e *edit) setTypes(pool string, types []*InstanceType) {
	byName := func(a, b *InstanceType) int { return strings.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(types, byName) {
		types = slices.SortedStableFunc(slices.Values(types), byName)
	}
	e.next.types.Set(e.token, pool, poolTypes{types, covering(types)})
}

// setPods adds or replaces pods. waiting[i] reports whether pods[i] is provisionable. From 2*podsPerPart
// pods on, if several CPUs are available, it fills the tables of pods and of pending pods concurrently.
func (e *edit) setPods(pods []*Pod, waiting []bool) {
	if len(pods) < 2*podsPerPart || runtime.GOMAXPROCS(0) < 2 {
		for i, p := range pods {
			e.setPod(p, waiting[i])
		}
		return
	}
	var all sync.WaitGroup
	all.Go(func() {
		for i, p := range pods {
			e.setPending(p, waiting[i])
		}
	})
	for _, p := range pods {
		e.putPod(p)
	}
	all.Wait()
}

// setPod adds or replaces a pod. waits reports whether it is provisionable.
func (e *edit) setPod(p *Pod, waits bool) {
	e.setPending(p, waits)
	e.putPod(p)
}

// setPending adds the pod to the pending pods or removes it from them.
func (e *edit) setPending(p *Pod, waits bool) { e.next.derived.pending.Put(e.token, p.Key, p, waits) }

// putPod adds the pod, and adds it to the pods of its node if it is bound. If a pod with its key exists, p replaces it,
// and the old pod is removed from the pods of its node.
func (e *edit) putPod(p *Pod) {
	if old, ok := e.next.Pods.Set(e.token, p.Key, p); ok {
		e.bind(old, false)
	}
	e.bind(p, true)
}

func (e *edit) removePod(key string) {
	if old, ok := e.next.Pods.Remove(e.token, key); ok {
		e.next.derived.pending.Remove(e.token, key)
		e.bind(old, false)
	}
}

// bind adds a pod to the list of pods of its node if bound is true, else removes it. It ignores a pod without a node.
func (e *edit) bind(p *Pod, bound bool) {
	if p.Bound() {
		e.moved[p.Object.Spec.NodeName] = true
		byKey := func(a, b *Pod) int { return strings.Compare(a.Key, b.Key) }
		list(e, &e.next.derived.bound, p.Object.Spec.NodeName, p, byKey, bound)
	}
}

// list inserts v into the list of the key, which order sorts, if present is true, else removes it. It changes no list in place. An
// empty list has no key.
func list[V any](e *edit, t *table.Table[[]V], key string, v V, order func(a, b V) int, present bool) {
	old, _ := t.Get(key)
	at, found := slices.BinarySearchFunc(old, v, order)
	switch {
	case found == present:
		return
	case present:
		t.Set(e.token, key, slices.Insert(slices.Clone(old), at, v))
	default:
		t.Put(e.token, key, slices.Delete(slices.Clone(old), at, at+1), len(old) > 1)
	}
}

// nodeIdentity and claimIdentity return the key under which a node and its claim are merged: the provider ID.
// While the object has none, the key is its name after "node/" or "claim/".
func nodeIdentity(o *corev1.Node) string {
	if o.Spec.ProviderID != "" {
		return o.Spec.ProviderID
	}
	return "node/" + o.Name
}

func claimIdentity(o *apiv1.NodeClaim) string {
	if o.Status.ProviderID != "" {
		return o.Status.ProviderID
	}
	return "claim/" + o.Name
}

// identity returns the identity of the node.
func (n *Node) identity() string {
	if n.Object != nil {
		return nodeIdentity(n.Object)
	}
	return claimIdentity(n.Claim)
}

// nameKey returns the key under which claimOf lists the claims whose annotation NodeNameAnnotationKey is the node's
// name.
func nameKey(node string) string { return "name/" + node }

func (e *edit) setNode(o *corev1.Node) {
	e.removeNode(o.Name)
	e.next.NodeObjects.Set(e.token, o.Name, o)
	e.indexNode(o, true)
}

func (e *edit) removeNode(name string) {
	if old, ok := e.next.NodeObjects.Remove(e.token, name); ok {
		e.indexNode(old, false)
	}
}

// indexNode adds the node to nodeOf and owned if present is true, else removes it.
func (e *edit) indexNode(o *corev1.Node, present bool) {
	e.stale[nodeIdentity(o)] = true
	list(e, &e.next.derived.nodeOf, nodeIdentity(o), o.Name, strings.Compare, present)
	if owner := claimRef(o); owner != nil {
		list(e, &e.next.derived.owned, owner.Name, nodeIdentity(o), strings.Compare, present)
	}
}

func (e *edit) setClaim(o *apiv1.NodeClaim) {
	e.removeClaim(o.Name)
	e.next.Claims.Set(e.token, o.Name, o)
	e.indexClaim(o, true)
}

func (e *edit) removeClaim(name string) {
	if old, ok := e.next.Claims.Remove(e.token, name); ok {
		e.indexClaim(old, false)
	}
}

// indexClaim adds the claim to claimOf if present is true, else removes it. The merged form of the nodes that the claim owns
// depends on it (see the method early).
func (e *edit) indexClaim(o *apiv1.NodeClaim, present bool) {
	e.stale[claimIdentity(o)] = true
	list(e, &e.next.derived.claimOf, claimIdentity(o), o.Name, strings.Compare, present)
	if node := o.Annotations[apiv1.NodeNameAnnotationKey]; node != "" {
		list(e, &e.next.derived.claimOf, nameKey(node), o.Name, strings.Compare, present)
	}
	identities, _ := e.next.derived.owned.Get(o.Name)
	for _, identity := range identities {
		e.stale[identity] = true
	}
}

// claimRef returns the owner reference of a node to its NodeClaim, nil if there is none.
func claimRef(o *corev1.Node) *metav1.OwnerReference { return ownerOf(o, "NodeClaim", apiv1.Group) }

// early reports whether the claim that owns the node has no provider ID yet. Such a node is omitted and only its claim
// is kept, because otherwise the capacity would count twice.
func (e *edit) early(o *corev1.Node) bool {
	owner := claimRef(o)
	if owner == nil {
		return false
	}
	claim, ok := e.next.Claims.Get(owner.Name)
	return ok && claim.UID == owner.UID && claim.Status.ProviderID == ""
}

// finish merges the Nodes with stale identities again and returns the new Snapshot.
func (e *edit) finish() *Snapshot {
	for name := range e.moved {
		if o, ok := e.next.NodeObjects.Get(name); ok {
			e.stale[nodeIdentity(o)] = true
		}
		if claim, ok := strings.CutPrefix(name, bindingPrefix); ok {
			if c, ok := e.next.Claims.Get(claim); ok {
				e.stale[claimIdentity(c)] = true
			}
		}
	}
	next, d := e.next, &e.next.derived
	soft := func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectPreferNoSchedule }
	for identity := range e.stale {
		n := e.merge(identity)
		d.nodes.Put(e.token, identity, n, n != nil)
		d.deleting.Put(e.token, identity, n, n != nil && n.Deleting)
		d.withAntiAffinity.Put(e.token, identity, n, n != nil && len(n.WithAntiAffinity) > 0)
		d.softlyTainted.Put(e.token, identity, n, n != nil && slices.ContainsFunc(n.Taints, soft))
	}
	if len(e.stale) > 0 {
		d.list = sync.OnceValue(d.nodes.Values)
	}
	d.coverage = sync.OnceValue(func() *commitment.Coverage { return newCoverage(next) })
	d.soleUsers = sync.OnceValue(func() map[string]*Pod { return newSoleUsers(next) })
	return next
}

// merge returns the Node with the identity. It returns nil if there is none, or if early or newNode omits it.
func (e *edit) merge(identity string) *Node {
	var object *corev1.Node
	var claim *apiv1.NodeClaim
	var pods []*Pod
	if names, _ := e.next.derived.nodeOf.Get(identity); len(names) > 0 {
		object, _ = e.next.NodeObjects.Get(names[0])
		pods, _ = e.next.derived.bound.Get(object.Name)
	}
	if names, _ := e.next.derived.claimOf.Get(identity); len(names) > 0 {
		claim, _ = e.next.Claims.Get(names[0])
	}
	if claim == nil && object != nil && e.early(object) {
		return nil
	}
	if claim != nil && object == nil {
		pods, _ = e.next.derived.bound.Get(BindingNameOf(claim.Name))
	}
	return newNode(object, claim, pods)
}
