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
)

// A Delta is a set of changes: new or updated objects, and the keys of removed objects. Within one Delta a key is
// either set or removed, not both.
type Delta struct {
	Pods []*corev1.Pod
	// Virtual are placeholder pods for the room that a capacity buffer reserves. They have no API object. Their
	// annotations name the buffer and its namespace.
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

// Apply returns s with the changes of d. It does not change s. Its cost depends on the size of d, not of s.
func (s *Snapshot) Apply(d Delta) *Snapshot {
	e := newEdit(s)
	e.setPods(newPods(d.Pods))
	for _, o := range d.Virtual {
		p := newVirtualPod(o)
		e.setPod(p, p.Provisionable())
	}
	for _, o := range d.Nodes {
		e.setNode(o)
	}
	for _, o := range d.Claims {
		e.setClaim(o)
	}
	for _, o := range d.Pools {
		e.pools.set(o.Name, NewPool(o))
	}
	for _, o := range d.Daemons {
		daemon := NewDaemon(o)
		e.daemons.set(daemon.Key, daemon)
	}
	for pool, types := range d.Types {
		e.types.set(pool, types)
	}
	e.around.set(&d)
	for _, r := range d.Gone {
		e.remove(r)
	}
	return e.finish(s)
}

// An edit is the intermediate state of one call of Apply. It has a draft of each table of the Snapshot, and the
// identities (see nodeIdentity) of the Nodes that must be merged again.
type edit struct {
	pods    *draft[*Pod]
	nodes   *draft[*corev1.Node]
	claims  *draft[*apiv1.NodeClaim]
	pools   *draft[*Pool]
	daemons *draft[*Daemon]
	types   *draft[[]*InstanceType]
	around  *surroundingsEdit

	merged          *draft[*Node]
	pending         *draft[*Pod]
	bound           *draft[[]*Pod]
	nodeOf, claimOf *draft[[]string]
	owned           *draft[[]string]

	// stale are the identities to merge again. moved are the names of nodes whose pods changed.
	stale, moved map[string]bool
}

func newEdit(s *Snapshot) *edit {
	return &edit{
		pods: s.raw.pods.edit(), nodes: s.raw.nodes.edit(), claims: s.raw.claims.edit(),
		pools: s.raw.pools.edit(), daemons: s.raw.daemons.edit(), types: s.raw.types.edit(),
		around: s.raw.around.edit(),
		merged: s.derived.nodes.edit(), pending: s.derived.pending.edit(), bound: s.derived.bound.edit(),
		nodeOf: s.derived.nodeOf.edit(), claimOf: s.derived.claimOf.edit(),
		owned: s.derived.owned.edit(),
		stale: map[string]bool{}, moved: map[string]bool{},
	}
}

func (e *edit) remove(r Ref) {
	switch r.Kind {
	case KindPod:
		e.removePod(r.Key)
	case KindNode:
		e.removeNode(r.Key)
	case KindClaim:
		e.removeClaim(r.Key)
	case KindPool:
		e.pools.remove(r.Key)
		e.types.remove(r.Key)
	case KindDaemon:
		e.daemons.remove(r.Key)
	default:
		e.around.remove(r)
	}
}

// setPods adds or replaces pods. waiting[i] reports whether pods[i] is provisionable. If there are many pods, it fills
// the tables pods and pending concurrently.
func (e *edit) setPods(pods []*Pod, waiting []bool) {
	n := 0
	for _, waits := range waiting {
		if waits {
			n++
		}
	}
	e.pods.expect(len(pods))
	e.pending.expect(n)
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
func (e *edit) setPending(p *Pod, waits bool) {
	if waits {
		e.pending.set(p.Key, p)
	} else {
		e.pending.remove(p.Key)
	}
}

// putPod adds a pod, or replaces the pod with its key, even if that one ran on another node.
func (e *edit) putPod(p *Pod) {
	if old, ok := e.pods.swap(p.Key, p); ok {
		e.unbind(old)
	}
	if name := p.Object.Spec.NodeName; name != "" {
		pods, _ := e.bound.get(name)
		at, _ := slices.BinarySearchFunc(pods, p.Key, byKey)
		e.bound.set(name, slices.Insert(slices.Clone(pods), at, p))
		e.moved[name] = true
	}
}

func (e *edit) removePod(key string) {
	if old, ok := e.pods.get(key); ok {
		e.pods.remove(key)
		e.pending.remove(key)
		e.unbind(old)
	}
}

// unbind removes a pod from the list of pods of its node.
func (e *edit) unbind(old *Pod) {
	name := old.Object.Spec.NodeName
	if name == "" {
		return
	}
	pods, _ := e.bound.get(name)
	if at, found := slices.BinarySearchFunc(pods, old.Key, byKey); found {
		pods = slices.Delete(slices.Clone(pods), at, at+1)
	}
	if len(pods) == 0 {
		e.bound.remove(name)
	} else {
		e.bound.set(name, pods)
	}
	e.moved[name] = true
}

func byKey(p *Pod, key string) int { return strings.Compare(p.Key, key) }

// nodeIdentity and claimIdentity return the key under which a node and its claim are merged: the provider ID, or the
// object's own name while it has no provider ID.
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

// nameKey returns the key under which claimOf lists the claims whose annotation NodeNameAnnotationKey is the node's
// name.
func nameKey(node string) string { return "name/" + node }

func (e *edit) setNode(o *corev1.Node) {
	e.removeNode(o.Name)
	e.nodes.set(o.Name, o)
	e.link(e.nodeOf, nodeIdentity(o), o.Name)
	if owner := ownerOf(o); owner != nil {
		e.link(e.owned, owner.Name, nodeIdentity(o))
	}
}

func (e *edit) removeNode(name string) {
	if old, ok := e.nodes.get(name); ok {
		e.nodes.remove(name)
		e.unlink(e.nodeOf, nodeIdentity(old), name)
		if owner := ownerOf(old); owner != nil {
			e.unlink(e.owned, owner.Name, nodeIdentity(old))
		}
	}
}

func (e *edit) setClaim(o *apiv1.NodeClaim) {
	e.removeClaim(o.Name)
	e.claims.set(o.Name, o)
	e.link(e.claimOf, claimIdentity(o), o.Name)
	if node := o.Annotations[apiv1.NodeNameAnnotationKey]; node != "" {
		addName(e.claimOf, nameKey(node), o.Name)
	}
	e.markOwned(o.Name)
}

func (e *edit) removeClaim(name string) {
	if old, ok := e.claims.get(name); ok {
		e.claims.remove(name)
		e.unlink(e.claimOf, claimIdentity(old), name)
		if node := old.Annotations[apiv1.NodeNameAnnotationKey]; node != "" {
			removeName(e.claimOf, nameKey(node), name)
		}
		e.markOwned(name)
	}
}

// markOwned adds the nodes that the claim owns to stale, because their merged form depends on the claim (see early).
func (e *edit) markOwned(claim string) {
	identities, _ := e.owned.get(claim)
	for _, identity := range identities {
		e.stale[identity] = true
	}
}

// ownerOf returns the owner reference of a node to its NodeClaim, nil if there is none.
func ownerOf(o *corev1.Node) *metav1.OwnerReference {
	for i := range o.OwnerReferences {
		if r := &o.OwnerReferences[i]; r.Kind == "NodeClaim" && groupOf(r.APIVersion) == apiv1.Group {
			return r
		}
	}
	return nil
}

// early reports whether the claim that owns the node has no provider ID yet. Such a node is omitted and only its claim
// is kept, because otherwise the capacity would count twice.
func (e *edit) early(o *corev1.Node) bool {
	owner := ownerOf(o)
	if owner == nil {
		return false
	}
	claim, ok := e.claims.get(owner.Name)
	return ok && claim.UID == owner.UID && claim.Status.ProviderID == ""
}

func (e *edit) link(t *draft[[]string], identity, name string) {
	addName(t, identity, name)
	e.stale[identity] = true
}

func (e *edit) unlink(t *draft[[]string], identity, name string) {
	removeName(t, identity, name)
	e.stale[identity] = true
}

// addName inserts a name into the sorted list of the key.
func addName(t *draft[[]string], key, name string) {
	names, _ := t.get(key)
	if at, found := slices.BinarySearch(names, name); !found {
		t.set(key, slices.Insert(slices.Clone(names), at, name))
	}
}

// removeName removes a name from the sorted list of the key.
func removeName(t *draft[[]string], key, name string) {
	names, _ := t.get(key)
	if at, found := slices.BinarySearch(names, name); found {
		names = slices.Delete(slices.Clone(names), at, at+1)
	}
	if len(names) == 0 {
		t.remove(key)
	} else {
		t.set(key, names)
	}
}

// finish merges the stale identities and returns the new Snapshot.
func (e *edit) finish(s *Snapshot) *Snapshot {
	for name := range e.moved {
		if o, ok := e.nodes.get(name); ok {
			e.stale[nodeIdentity(o)] = true
		}
	}
	for identity := range e.stale {
		if n := e.merge(identity); n != nil {
			e.merged.set(identity, n)
		} else {
			e.merged.remove(identity)
		}
	}
	return &Snapshot{
		Now: s.Now, Promises: s.Promises,
		raw: raw{
			pods: e.pods.freeze(), nodes: e.nodes.freeze(), claims: e.claims.freeze(),
			pools: e.pools.freeze(), daemons: e.daemons.freeze(), types: e.types.freeze(),
			around: e.around.freeze(),
		},
		derived: derived{
			nodes: e.merged.freeze(), pending: e.pending.freeze(), bound: e.bound.freeze(),
			nodeOf: e.nodeOf.freeze(), claimOf: e.claimOf.freeze(),
			owned: e.owned.freeze(),
		},
	}
}

// merge returns the Node with the identity, nil if there is none.
func (e *edit) merge(identity string) *Node {
	var object *corev1.Node
	var claim *apiv1.NodeClaim
	var pods []*Pod
	if names, _ := e.nodeOf.get(identity); len(names) > 0 {
		object, _ = e.nodes.get(names[0])
		pods, _ = e.bound.get(object.Name)
	}
	if names, _ := e.claimOf.get(identity); len(names) > 0 {
		claim, _ = e.claims.get(names[0])
	}
	if claim == nil && object != nil && e.early(object) {
		return nil
	}
	return newNode(object, claim, pods)
}
