package termination_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// An apiServer stores nodes, claims, pods and pools. It implements resource versions, optimistic locks, finalizers and the status
// subresource, and counts the calls.
type apiServer struct {
	client.Client // methods that are not implemented here panic

	// mu guards the fields below during requests: evictions are concurrent.
	mu sync.Mutex

	clock   clock.PassiveClock
	version int
	stored  map[string]client.Object
	// changed is called with each new state of an object. gone is true if the object was removed.
	changed func(o client.Object, gone bool)
	calls   map[string]int
}

// key returns a key of the object that is unique among all kinds.
func key(o client.Object, name string) string { return fmt.Sprintf("%T/%s", o, name) }

func (a *apiServer) count(verb string, o any) {
	a.calls[verb+" "+strings.ToLower(strings.TrimPrefix(strings.TrimPrefix(fmt.Sprintf("%T", o), "*v1."), "*"))]++
}

// put stores the next version of an object.
func (a *apiServer) put(o client.Object) {
	o = o.DeepCopyObject().(client.Object)
	a.version++
	o.SetResourceVersion(strconv.Itoa(a.version))
	if o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0 {
		delete(a.stored, key(o, o.GetName()))
		a.changed(o, true)
		return
	}
	a.stored[key(o, o.GetName())] = o
	a.changed(o, false)
}

// Get reads the stored object without a cache.
func (a *apiServer) Get(_ context.Context, name client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count("get", into)
	return read(a.stored, name.Name, into)
}

// List reads the stored objects without a cache.
func (a *apiServer) List(_ context.Context, into client.ObjectList, opts ...client.ListOption) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count("list", into)
	return list(a.stored, into, opts...)
}

// Delete marks an object as being deleted. A repeated call is accepted.
func (a *apiServer) Delete(_ context.Context, o client.Object, _ ...client.DeleteOption) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count("delete", o)
	return a.remove(o)
}

func (a *apiServer) remove(o client.Object) error {
	now, ok := a.stored[key(o, o.GetName())]
	if !ok {
		return notFound(o.GetName())
	}
	if now.GetDeletionTimestamp() == nil {
		next := now.DeepCopyObject().(client.Object)
		next.SetDeletionTimestamp(&metav1.Time{Time: a.clock.Now()})
		next.SetGeneration(next.GetGeneration() + 1)
		a.put(next)
	}
	return nil
}

// Patch changes all fields except the status.
func (a *apiServer) Patch(_ context.Context, o client.Object, p client.Patch, _ ...client.PatchOption) error {
	return a.patch(o, p, false)
}

// Status changes the status only.
func (a *apiServer) Status() client.SubResourceWriter { return status{api: a} }

type status struct {
	client.SubResourceWriter
	api *apiServer
}

func (s status) Patch(_ context.Context, o client.Object, p client.Patch, _ ...client.SubResourcePatchOption) error {
	return s.api.patch(o, p, true)
}

// SubResource evicts pods.
func (a *apiServer) SubResource(string) client.SubResourceClient { return eviction{api: a} }

type eviction struct {
	client.SubResourceClient
	api *apiServer
}

func (e eviction) Create(_ context.Context, o, _ client.Object, _ ...client.SubResourceCreateOption) error {
	e.api.mu.Lock()
	defer e.api.mu.Unlock()
	e.api.count("evict", o)
	return e.api.remove(o)
}

func (a *apiServer) patch(o client.Object, p client.Patch, ofStatus bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count("patch", o)
	now, ok := a.stored[key(o, o.GetName())]
	if !ok {
		return notFound(o.GetName())
	}
	data, err := p.Data(o)
	if err != nil {
		return err
	}
	var change, object map[string]any
	if err := json.Unmarshal(data, &change); err != nil {
		return err
	}
	metadata, _ := change["metadata"].(map[string]any)
	if rv, locked := metadata["resourceVersion"]; locked && rv != now.GetResourceVersion() {
		a.calls["conflict"]++
		return apierrors.NewConflict(schema.GroupResource{Resource: "objects"}, o.GetName(), fmt.Errorf("stored %s, patched %s", now.GetResourceVersion(), rv))
	}
	before, err := json.Marshal(now)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(before, &object); err != nil {
		return err
	}
	for part := range change {
		if (part == "status") != ofStatus {
			delete(change, part)
		}
	}
	merge(object, change)
	after, err := json.Marshal(object)
	if err != nil {
		return err
	}
	into(o, blank(o))
	if err := json.Unmarshal(after, o); err != nil {
		return err
	}
	if string(before) == string(after) {
		return nil
	}
	a.put(o)
	o.SetResourceVersion(strconv.Itoa(a.version))
	return nil
}

// merge applies a JSON merge patch.
func merge(object, change map[string]any) {
	for k, v := range change {
		inner, isMap := v.(map[string]any)
		old, wasMap := object[k].(map[string]any)
		switch {
		case v == nil:
			delete(object, k)
		case isMap && wasMap:
			merge(old, inner)
		default:
			object[k] = v
		}
	}
}

func notFound(name string) error {
	return apierrors.NewNotFound(schema.GroupResource{Resource: "objects"}, name)
}

// read copies the stored object of that name into the given one.
func read(stored map[string]client.Object, name string, o client.Object) error {
	found, ok := stored[key(o, name)]
	if !ok {
		return notFound(name)
	}
	into(o, found.DeepCopyObject().(client.Object))
	return nil
}

// into overwrites an object with another of its kind.
func into(o, by client.Object) {
	switch o := o.(type) {
	case *corev1.Node:
		*o = *by.(*corev1.Node)
	case *corev1.Pod:
		*o = *by.(*corev1.Pod)
	case *apiv1.NodeClaim:
		*o = *by.(*apiv1.NodeClaim)
	case *apiv1.NodePool:
		*o = *by.(*apiv1.NodePool)
	}
}

// blank returns an empty object of the kind.
func blank(o client.Object) client.Object {
	switch o.(type) {
	case *corev1.Node:
		return &corev1.Node{}
	case *corev1.Pod:
		return &corev1.Pod{}
	case *apiv1.NodeClaim:
		return &apiv1.NodeClaim{}
	}
	return &apiv1.NodePool{}
}

// list copies the stored objects that the options select into the list, in name order. The list of a kind that is not stored is
// empty.
func list(stored map[string]client.Object, l client.ObjectList, opts ...client.ListOption) error {
	options := (&client.ListOptions{}).ApplyOptions(opts)
	var names []string
	for name, o := range stored {
		if options.FieldSelector == nil || matches(o, options) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		o := stored[name]
		switch l := l.(type) {
		case *corev1.NodeList:
			if x, ok := o.(*corev1.Node); ok {
				l.Items = append(l.Items, *x.DeepCopy())
			}
		case *corev1.PodList:
			if x, ok := o.(*corev1.Pod); ok {
				l.Items = append(l.Items, *x.DeepCopy())
			}
		case *apiv1.NodeClaimList:
			if x, ok := o.(*apiv1.NodeClaim); ok {
				l.Items = append(l.Items, *x.DeepCopy())
			}
		}
	}
	return nil
}

func matches(o client.Object, options *client.ListOptions) bool {
	for _, r := range options.FieldSelector.Requirements() {
		value := ""
		switch o := o.(type) {
		case *corev1.Pod:
			value = o.Spec.NodeName
		case *corev1.Node:
			value = o.Spec.ProviderID
		case *apiv1.NodeClaim:
			value = o.Status.ProviderID
		}
		if value != r.Value {
			return false
		}
	}
	return true
}
