package sim

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A notifier passes changes of objects to the controllers of a replica in an order that does not depend on the order of goroutines. One
// step of the driver passes on what all informers reported at a virtual time. Otherwise a controller that watches two kinds would
// sometimes learn first of one and sometimes first of the other, if both change at the same time.
type notifier struct {
	driver  *Driver
	replica string

	mu      sync.Mutex // guards what follows
	changes []change
	waiting bool // a step passes the changes on
}

// A change is a call of a handler. Object is the type, the namespace and the name of the object.
type change struct {
	object string
	tell   func()
}

// add passes a change on in a step of the driver, at the same virtual time. Changes of one object keep their order.
func (n *notifier) add(c change) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.changes = append(n.changes, c)
	if !n.waiting {
		n.waiting = true
		n.driver.Arrive(n.replica+" notify", func() { n.driver.After(0, n.pass) })
	}
}

// pass passes the collected changes on. It is called on the driver's goroutine.
func (n *notifier) pass() {
	n.mu.Lock()
	changes := n.changes
	n.changes, n.waiting = nil, false
	n.mu.Unlock()
	slices.SortStableFunc(changes, func(a, b change) int { return cmp.Compare(a.object, b.object) })
	for _, c := range changes {
		c.tell()
	}
}

// informer is the constructor of the informers of the replica.
func (n *notifier) informer(lw cache.ListerWatcher, o runtime.Object, resync time.Duration, by cache.Indexers) cache.SharedIndexInformer {
	return orderly{cache.NewSharedIndexInformer(lw, o, resync, by), n, fmt.Sprintf("%T", o)}
}

// An orderly informer passes changes to handlers by its notifier. A new handler gets the objects of the store in the order of namespaces
// and names; client-go passes them in random order. Only AddEventHandlerWithOptions, which the sources of controllers use, does so.
type orderly struct {
	cache.SharedIndexInformer
	notifier *notifier
	kind     string
}

// AddEventHandlerWithOptions implements cache.SharedInformer. The handler gets the objects of the store when HasSynced of the
// registration is called after all of them are known.
func (i orderly) AddEventHandlerWithOptions(
	h cache.ResourceEventHandler, options cache.HandlerOptions,
) (cache.ResourceEventHandlerRegistration, error) {
	q := &handling{handler: h, informer: i}
	registration, err := i.SharedIndexInformer.AddEventHandlerWithOptions(q, options)
	return registered{registration, q}, err
}

// RemoveEventHandler implements cache.SharedInformer.
func (i orderly) RemoveEventHandler(r cache.ResourceEventHandlerRegistration) error {
	if own, ok := r.(registered); ok {
		r = own.ResourceEventHandlerRegistration
	}
	return i.SharedIndexInformer.RemoveEventHandler(r)
}

// registered is the registration of a handler.
type registered struct {
	cache.ResourceEventHandlerRegistration
	handling *handling
}

// HasSynced implements cache.ResourceEventHandlerRegistration.
func (r registered) HasSynced() bool {
	if !r.ResourceEventHandlerRegistration.HasSynced() {
		return false
	}
	r.handling.begin()
	return true
}

// A handling is a handler that passes its calls to another one later.
type handling struct {
	handler  cache.ResourceEventHandler
	informer orderly

	mu      sync.Mutex      // guards initial
	initial []client.Object // what the store had when the handler was added
}

// OnAdd implements cache.ResourceEventHandler.
func (h *handling) OnAdd(o any, initial bool) {
	if object, ok := o.(client.Object); ok && initial {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.initial = append(h.initial, object)
		return
	}
	h.later(o, func() { h.handler.OnAdd(o, initial) })
}

// OnUpdate implements cache.ResourceEventHandler.
func (h *handling) OnUpdate(before, after any) {
	h.later(after, func() { h.handler.OnUpdate(before, after) })
}

// OnDelete implements cache.ResourceEventHandler.
func (h *handling) OnDelete(o any) { h.later(o, func() { h.handler.OnDelete(o) }) }

// later passes a change of the object on later. o is the object, or a tombstone with its key.
func (h *handling) later(o any, tell func()) {
	key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(o)
	if err != nil {
		panic(err) // not an object: a mistake in the program
	}
	h.informer.notifier.add(change{h.informer.kind + " " + key, func() {
		h.begin()
		tell()
	}})
}

// begin passes the objects of the store on.
func (h *handling) begin() {
	h.mu.Lock()
	initial := h.initial
	h.initial = nil
	h.mu.Unlock()
	slices.SortStableFunc(initial, compareNames)
	for _, o := range initial {
		h.handler.OnAdd(o, true)
	}
}

// compareNames orders objects of one kind by namespace and name.
func compareNames(a, b client.Object) int {
	return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
}
