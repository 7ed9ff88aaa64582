package act

import (
	"context"
	"math"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// OwnWrites returns a client whose reads include its own patches of Nodes and NodeClaims. After a patch, reads of the
// object return the response until the cache has that version or a later one, for at most keepAnswer. So a controller does
// not decide on a version that this client has replaced. A patch with an optimistic lock conflicts only with writes of
// other clients. A deletion of a Node or NodeClaim that the API server has accepted is not sent again for keepAnswer.
//
// Get and List find only objects of the cache, which may lack objects that were just created. The responses are in memory
// only. Their loss only causes conflicts.
func OwnWrites(c client.Client, clock clock.PassiveClock) client.Client {
	return &ownWrites{Client: c, clock: clock, patched: map[objectKey]answer{}, deleted: map[types.UID]time.Time{}}
}

// keepAnswer is the time for which a response is used. It is longer than a working watch is delayed. The response for an
// object that is deleted is removed only after this time, because no later read of the object removes it.
const keepAnswer = 2 * time.Minute

type ownWrites struct {
	client.Client
	clock clock.PassiveClock

	mu      sync.Mutex // guards the fields below
	patched map[objectKey]answer
	// deleted has the UIDs of objects whose deletion was accepted, with the time.
	deleted map[types.UID]time.Time
	swept   time.Time // when old responses were last removed
}

// objectKey identifies a Node or a NodeClaim.
type objectKey struct {
	claim bool
	name  string
}

// answer is the response of the API server to a patch. The object is never changed.
type answer struct {
	object  client.Object
	version uint64
	at      time.Time
}

// keyOf returns the key of the object. It returns false for other kinds.
func keyOf(o client.Object) (objectKey, bool) {
	switch o.(type) {
	case *corev1.Node:
		return objectKey{name: o.GetName()}, true
	case *apiv1.NodeClaim:
		return objectKey{claim: true, name: o.GetName()}, true
	}
	return objectKey{}, false
}

// versionOf returns the resource version of the object as a number, 0 if it is not a number.
func versionOf(o client.Object) uint64 {
	v, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	if err != nil {
		return 0
	}
	return v
}

// Get implements client.Client.
func (w *ownWrites) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if err := w.Client.Get(ctx, key, o, opts...); err != nil {
		return err
	}
	w.update(o)
	return nil
}

// List implements client.Client.
func (w *ownWrites) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := w.Client.List(ctx, list, opts...); err != nil {
		return err
	}
	switch list := list.(type) {
	case *corev1.NodeList:
		for i := range list.Items {
			w.update(&list.Items[i])
		}
	case *apiv1.NodeClaimList:
		for i := range list.Items {
			w.update(&list.Items[i])
		}
	}
	return nil
}

// update replaces an object that was read from the cache with the response to a later patch, if there is one.
func (w *ownWrites) update(read client.Object) {
	key, ok := keyOf(read)
	if !ok {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	known, ok := w.patched[key]
	if !ok {
		return
	}
	if known.object.GetUID() != read.GetUID() || known.version <= versionOf(read) || w.old(known.at) {
		delete(w.patched, key)
		return
	}
	switch read := read.(type) {
	case *corev1.Node:
		if own, ok := known.object.(*corev1.Node); ok {
			own.DeepCopyInto(read)
		}
	case *apiv1.NodeClaim:
		if own, ok := known.object.(*apiv1.NodeClaim); ok {
			own.DeepCopyInto(read)
		}
	}
}

// Patch implements client.Client.
func (w *ownWrites) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	if err := w.Client.Patch(ctx, o, p, opts...); err != nil {
		return err
	}
	w.keep(o)
	return nil
}

// keep stores the response to a patch, unless a later version is stored. Responses may arrive in another order than the patches.
func (w *ownWrites) keep(o client.Object) {
	key, ok := keyOf(o)
	version := versionOf(o)
	if !ok || version == 0 {
		return
	}
	if o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0 {
		// The patch removed the last finalizer, so the object is deleted. The response has the version before the deletion, so no
		// version of the cache may replace it.
		version = math.MaxUint64
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sweep()
	if known, ok := w.patched[key]; ok && known.object.GetUID() == o.GetUID() && known.version >= version {
		return
	}
	if own, ok := o.DeepCopyObject().(client.Object); ok {
		w.patched[key] = answer{object: own, version: version, at: w.clock.Now()}
	}
}

// Delete implements client.Client.
func (w *ownWrites) Delete(ctx context.Context, o client.Object, opts ...client.DeleteOption) error {
	if _, ok := keyOf(o); !ok || o.GetUID() == "" {
		return w.Client.Delete(ctx, o, opts...)
	}
	if w.accepted(o.GetUID()) {
		return nil
	}
	if err := w.Client.Delete(ctx, o, opts...); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sweep()
	w.deleted[o.GetUID()] = w.clock.Now()
	return nil
}

// accepted reports whether the API server accepted the deletion of the object within the last keepAnswer.
func (w *ownWrites) accepted(uid types.UID) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	at, ok := w.deleted[uid]
	return ok && !w.old(at)
}

// Status implements client.Client.
func (w *ownWrites) Status() client.SubResourceWriter {
	return statusWriter{SubResourceWriter: w.Client.Status(), keep: w.keep}
}

// statusWriter stores the responses to patches of the status.
type statusWriter struct {
	client.SubResourceWriter
	keep func(client.Object)
}

// Patch implements client.SubResourceWriter.
func (s statusWriter) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
	if err := s.SubResourceWriter.Patch(ctx, o, p, opts...); err != nil {
		return err
	}
	s.keep(o)
	return nil
}

// sweep removes old responses, at most once per keepAnswer. The caller holds mu.
func (w *ownWrites) sweep() {
	if !w.old(w.swept) {
		return
	}
	w.swept = w.clock.Now()
	for key, known := range w.patched {
		if w.old(known.at) {
			delete(w.patched, key)
		}
	}
	for uid, at := range w.deleted {
		if w.old(at) {
			delete(w.deleted, uid)
		}
	}
}

func (w *ownWrites) old(at time.Time) bool { return w.clock.Since(at) > keepAnswer }
