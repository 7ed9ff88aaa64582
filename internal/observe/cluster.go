package observe

import (
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A Cluster has the latest known state of the Kubernetes cluster. It is safe for concurrent use.
type Cluster struct {
	// Live reads from the API server, for ReadClaims and Confirm. If it is nil, they do nothing. It is set before the first use.
	Live client.Reader

	clock clock.Clock
	// launching is the number of callers that are creating claims, see Launching.
	launching atomic.Int64
	// edits is the number of changes, see Version.
	edits atomic.Uint64
	// claimsRead is true after ReadClaims has read the claims.
	claimsRead atomic.Bool

	// mu guards the fields below.
	mu sync.Mutex
	// snapshot is the last Snapshot. changed has the objects that changed since then; nil stands for a deleted object.
	snapshot *model.Snapshot
	changed  map[model.Ref]client.Object
	// taken is true after the first call of Snapshot.
	taken bool
	// assumed has the versions of objects that Karpenter wrote and that the watch has not delivered yet.
	assumed map[model.Ref]version
	// removed are the UIDs of claims whose deletion the watch delivered recently.
	removed removals
	// waiting has the time since which each pending pod waits, by UID: when it was first observed.
	waiting  map[types.UID]time.Time
	promises map[string]promise
	backlog  backlog
	wake     []func()
	told     []func()
	joins    []func()
	capacity []func()
	synced   []func() bool
}

// A version is one version of one object. Resource versions of one object are increasing integers.
type version struct {
	uid types.UID
	rv  uint64
	// unseen is when Karpenter last wrote or confirmed (see Confirm) a claim of which the watch has delivered no version
	// yet. Otherwise it is zero.
	unseen time.Time
}

// New returns an empty Cluster.
func New(c clock.Clock) *Cluster {
	return &Cluster{
		clock: c, snapshot: &model.Snapshot{},
		changed: map[model.Ref]client.Object{}, assumed: map[model.Ref]version{},
		waiting: map[types.UID]time.Time{}, promises: map[string]promise{},
		backlog: newBacklog(),
	}
}

// From sets the empty Snapshot to which the objects are added. It has the settings by which they are read, such as Aliases.
// It must be called before the first object is set. It returns c.
func (c *Cluster) From(empty *model.Snapshot) *Cluster {
	c.snapshot = empty
	return c
}

// Version returns a number that grows when objects change and when promises are made. Heartbeats of nodes and the end of
// promises do not count.
func (c *Cluster) Version() uint64 { return c.edits.Load() }

// Snapshot returns the current Snapshot of the cluster.
func (c *Cluster) Snapshot() *model.Snapshot {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.clock.Now()
	c.taken = true
	if len(c.changed) > 0 {
		c.snapshot = c.snapshot.Apply(delta(c.changed))
		clear(c.changed)
	}
	return c.snapshot.At(now).WithTargets(c.kept(now))
}

// delta returns the changes as a Delta.
func delta(changed map[model.Ref]client.Object) model.Delta {
	var d model.Delta
	for ref, o := range changed {
		switch o := o.(type) {
		case nil:
			d.Gone = append(d.Gone, ref)
		case *corev1.Pod:
			d.Pods = append(d.Pods, o)
		case *corev1.Node:
			d.Nodes = append(d.Nodes, o)
		case *apiv1.NodeClaim:
			d.Claims = append(d.Claims, o)
		case *apiv1.NodePool:
			d.Pools = append(d.Pools, o)
		case *appsv1.DaemonSet:
			d.Daemons = append(d.Daemons, o)
		case *corev1.Namespace:
			d.Namespaces = append(d.Namespaces, o)
		case *policyv1.PodDisruptionBudget:
			d.PDBs = append(d.PDBs, o)
		case *corev1.PersistentVolumeClaim:
			d.VolumeClaims = append(d.VolumeClaims, o)
		case *corev1.PersistentVolume:
			d.Volumes = append(d.Volumes, o)
		case *storagev1.StorageClass:
			d.StorageClasses = append(d.StorageClasses, o)
		case *storagev1.CSINode:
			d.CSINodes = append(d.CSINodes, o)
		}
	}
	return d
}

// refOf returns the Ref of o. It returns false for a kind that is not part of Snapshots.
func refOf(o client.Object) (model.Ref, bool) {
	kind, ok := kindOf(o)
	if !ok {
		return model.Ref{}, false
	}
	key := o.GetName()
	if namespace := o.GetNamespace(); namespace != "" {
		key = namespace + "/" + key
	}
	return model.Ref{Kind: kind, Key: key}, true
}

func kindOf(o client.Object) (model.Kind, bool) {
	switch o.(type) {
	case *corev1.Pod:
		return model.KindPod, true
	case *corev1.Node:
		return model.KindNode, true
	case *apiv1.NodeClaim:
		return model.KindClaim, true
	case *apiv1.NodePool:
		return model.KindPool, true
	case *appsv1.DaemonSet:
		return model.KindDaemon, true
	case *corev1.Namespace:
		return model.KindNamespace, true
	case *policyv1.PodDisruptionBudget:
		return model.KindPDB, true
	case *corev1.PersistentVolumeClaim:
		return model.KindVolumeClaim, true
	case *corev1.PersistentVolume:
		return model.KindVolume, true
	case *storagev1.StorageClass:
		return model.KindStorageClass, true
	case *storagev1.CSINode:
		return model.KindCSINode, true
	}
	return 0, false
}

func versionOf(o client.Object) version {
	rv, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	if err != nil {
		rv = 0 // the version cannot be compared, so the watch takes precedence
	}
	return version{uid: o.GetUID(), rv: rv}
}

// Set applies an object that the watch delivered. The object is shared and must not be changed afterwards.
func (c *Cluster) Set(o client.Object) { c.set(o, false) }

// set is Set. If heartbeat is true, o differs from the known object only in its version.
func (c *Cluster) set(o client.Object, heartbeat bool) {
	ref, ok := refOf(o)
	if !ok {
		return
	}
	c.mu.Lock()
	ours, known := c.assumed[ref]
	if known && ours.uid == o.GetUID() && versionOf(o).rv < ours.rv {
		ours.unseen = time.Time{}
		c.assumed[ref] = ours
		c.mu.Unlock()
		return // an older version than the one that Karpenter wrote
	}
	delete(c.assumed, ref)
	changed := changesCapacity(c.known(ref), o)
	if !heartbeat || known {
		c.edits.Add(1)
	}
	wake := c.see(ref, o)
	c.mu.Unlock()
	c.call(wake, o)
	if changed {
		c.callCapacity()
	}
}

// drop records the deletion of the object. Before the first call of Snapshot it only removes the entry. Otherwise a replica
// that never calls Snapshot, such as a standby, would keep an entry for each deleted object. The caller holds mu.
func (c *Cluster) drop(ref model.Ref) {
	if !c.taken {
		delete(c.changed, ref)
		return
	}
	c.edits.Add(1)
	c.changed[ref] = nil
}

// see applies o and the changes of other pods that follow from it. It reports whether there is work for provisioning.
// The caller holds mu, and increments edits.
func (c *Cluster) see(ref model.Ref, o client.Object) bool {
	var siblings []*corev1.Pod
	if p, ok := o.(*corev1.Pod); ok {
		o, siblings = c.backlog.take(p, c.clock.Now())
	}
	c.changed[ref] = o
	wake := c.note(o)
	for _, p := range siblings {
		c.changed[model.Ref{Kind: model.KindPod, Key: keyOf(p)}] = p
		wake = c.note(p) || wake
	}
	return wake
}

// Remove applies a deletion that the watch delivered.
func (c *Cluster) Remove(o client.Object) {
	ref, ok := refOf(o)
	if !ok {
		return
	}
	if c.remove(ref, o) && changesCapacity(nil, o) {
		c.callCapacity()
	}
}

// remove removes the object, unless Karpenter has written an object with the same name and another UID that the watch has not
// delivered yet. It reports whether it removed the object.
func (c *Cluster) remove(ref model.Ref, o client.Object) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ours, known := c.assumed[ref]; known && ours.uid != o.GetUID() {
		return false
	}
	delete(c.assumed, ref)
	c.drop(ref)
	switch o := o.(type) {
	case *apiv1.NodeClaim:
		c.removed.add(o.UID, c.clock.Now())
	case *corev1.Pod:
		delete(c.promises, ref.Key)
		c.forget(o)
	}
	return true
}

// Replace applies an update from old to o, which have the same name. If they have different UIDs, old was deleted, and
// the watch delivers no other event about that.
func (c *Cluster) Replace(old, o client.Object) {
	if old.GetUID() != o.GetUID() {
		c.mu.Lock()
		switch old := old.(type) {
		case *apiv1.NodeClaim:
			c.removed.add(old.UID, c.clock.Now())
		case *corev1.Pod:
			c.forget(old)
		}
		c.mu.Unlock()
	}
	c.set(o, heartbeat(old, o))
}

// forget removes the entries of a pod in waiting and in the backlog. The caller holds mu.
func (c *Cluster) forget(o *corev1.Pod) {
	delete(c.waiting, o.UID)
	c.backlog.gone(o)
}

// Assume applies objects that the API server returned for Karpenter's own writes, and claims that ReadClaims has read. An object is
// ignored if the watch has already delivered its deletion, this version or a later one.
func (c *Cluster) Assume(objects ...client.Object) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, o := range objects {
		ref, ok := refOf(o)
		if !ok {
			continue
		}
		v := versionOf(o)
		known := c.known(ref)
		if c.isGone(ref, known, v.uid) {
			continue
		}
		if known != nil {
			if k := versionOf(known); k.uid == v.uid && k.rv >= v.rv {
				continue // the watch has delivered this version or a later one already
			}
		}
		if known == nil || c.assumed[ref].unseen != (time.Time{}) {
			v.unseen = c.clock.Now()
		}
		c.edits.Add(1)
		c.see(ref, o)
		c.assumed[ref] = v
	}
}

// isGone reports whether the object with the UID was deleted. known is the object that has its name now. Of the assumed
// objects, Karpenter creates only claims, so an object of another kind that is not known was deleted.
func (c *Cluster) isGone(ref model.Ref, known client.Object, uid types.UID) bool {
	if ref.Kind == model.KindClaim {
		return c.removed.has(uid)
	}
	return known == nil || known.GetUID() != uid
}

// known returns the latest object with the ref, nil if there is none. Objects of kinds that current does not return are
// found only if they changed after the last Snapshot.
func (c *Cluster) known(ref model.Ref) client.Object {
	if o, ok := c.changed[ref]; ok {
		return o
	}
	return c.current(ref)
}

// current returns the object in the snapshot, for pools and the kinds that Karpenter writes.
func (c *Cluster) current(ref model.Ref) client.Object {
	switch ref.Kind {
	case model.KindPod:
		if p, ok := c.snapshot.Pods.Get(ref.Key); ok {
			return p.Object
		}
	case model.KindClaim:
		if o, ok := c.snapshot.Claims.Get(ref.Key); ok {
			return o
		}
	case model.KindNode:
		if o, ok := c.snapshot.NodeObjects.Get(ref.Key); ok {
			return o
		}
	case model.KindPool:
		if p, ok := c.snapshot.Pool(ref.Key); ok {
			return p.Object
		}
	}
	return nil
}
