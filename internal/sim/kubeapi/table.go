package kubeapi

import (
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// key names an object of a table.
type key struct{ namespace, name string }

// entry is one version of an object. It does not change. Its other forms are made when they are first needed.
type entry struct {
	object  client.Object
	version uint64
	text    []byte         // JSON
	raw     []byte         // protobuf
	loose   map[string]any // maps, slices and scalars
	// admitted is the object as admission returned it, which differs from object at most in its metadata. It is nil if the object was
	// not checked.
	admitted *unstructured.Unstructured
}

// table holds the objects of one kind.
type table struct {
	kind    Kind
	server  *Server
	etcd    *etcd
	objects map[key]*entry
	order   []*entry // by namespace and name; nil if it must be sorted again
	// changes are the most recent changes, oldest first. Older ones are dropped: dropped is the version of the newest of them.
	changes []change
	dropped uint64
	watches []*Watch
}

// change is one write. before is nil if the object is new, and after is nil if the object was removed.
type change struct {
	before, after *entry
	version       uint64
}

// sorted returns the entries by namespace and name.
func (t *table) sorted() []*entry {
	if t.order == nil && len(t.objects) > 0 {
		t.order = make([]*entry, 0, len(t.objects))
		for _, e := range t.objects {
			t.order = append(t.order, e)
		}
		slices.SortFunc(t.order, func(a, b *entry) int {
			return strings.Compare(a.object.GetNamespace()+"/"+a.object.GetName(), b.object.GetNamespace()+"/"+b.object.GetName())
		})
	}
	return t.order
}

// get returns the object with a key.
func (t *table) get(k key) (*entry, error) {
	e := t.objects[k]
	if e == nil {
		return nil, apierrors.NewNotFound(t.kind.Resource().GroupResource(), k.name)
	}
	return e, nil
}

// list returns the entries that the selectors of a query match.
func (t *table) list(namespace string, q url.Values) (matching []*entry, err error) {
	match, err := t.selector(namespace, q)
	if err != nil {
		return nil, err
	}
	for _, e := range t.sorted() {
		if match.matches(e) {
			matching = append(matching, e)
		}
	}
	return matching, nil
}

// store makes object the current version of its key, or removes the key if object is nil. It adds the event to the watches.
func (t *table) store(k key, object client.Object) *entry {
	before := t.objects[k]
	t.etcd.version++
	c := change{before: before, version: t.etcd.version}
	if object != nil {
		object.SetResourceVersion(strconv.FormatUint(c.version, 10))
		c.after = t.entry(object, c.version)
		t.objects[k] = c.after
	} else {
		// The event of a deletion has the version of the deletion.
		last := before.object.DeepCopyObject().(client.Object)
		last.SetResourceVersion(strconv.FormatUint(c.version, 10))
		c.before = t.entry(last, c.version)
		delete(t.objects, k)
	}
	if before == nil || object == nil {
		t.order = nil
	} else if t.order != nil {
		if i := slices.Index(t.order, before); i >= 0 {
			t.order[i] = c.after
		}
	}
	t.remember(c)
	for _, w := range t.watches {
		w.add(c)
	}
	t.server.tell(before, c.after)
	return c.after
}

// remember adds a change to the history, and drops the oldest one if there are more than Config.History, or Kind.History.
func (t *table) remember(c change) {
	most := t.server.cfg.History
	if t.kind.History > 0 {
		most = min(most, t.kind.History)
	}
	t.changes = append(t.changes, c)
	if over := len(t.changes) - most; over > 0 {
		t.dropped = t.changes[over-1].version
		t.changes[over-1] = change{} // so that its objects can be freed
		t.changes = t.changes[over:]
	}
}

// tell calls the functions that were added with OnWrite.
func (s *Server) tell(before, after *entry) {
	var b, a client.Object
	if before != nil {
		b = before.object
	}
	if after != nil {
		a = after.object
	}
	for _, f := range s.written {
		f(b, a)
	}
}

// entry returns an entry of object, which must not be changed afterwards.
func (t *table) entry(object client.Object, version uint64) *entry {
	object.GetObjectKind().SetGroupVersionKind(t.kind.GroupVersionKind)
	object.SetManagedFields(nil)
	return &entry{object: object, version: version}
}

// object returns the object of a request, of the table's kind.
func (t *table) object(r *Request) (client.Object, error) {
	if r.Object == nil {
		return t.decode(r.Body)
	}
	if t.server.types[reflect.TypeOf(r.Object)] != t {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the object is a %T, want a %s", r.Object, t.kind.Kind))
	}
	return r.Object, nil
}

// decode returns a typed object of the table's kind.
func (t *table) decode(data []byte) (client.Object, error) {
	o, err := t.server.cfg.Scheme.New(t.kind.GroupVersionKind)
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", t.kind.Kind, err)
	}
	if err := json.Unmarshal(data, o); err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("decode %s: %v", t.kind.Kind, err))
	}
	return o.(client.Object), nil
}

// selector is what a list or watch is limited to.
type selector struct {
	namespace string
	labels    labels.Selector
	fields    fields.Selector
}

// selector returns what a query is limited to. Fields that the kind does not have are an error.
func (t *table) selector(namespace string, q url.Values) (selector, error) {
	s := selector{namespace: namespace, labels: labels.Everything(), fields: fields.Everything()}
	var err error
	if text := q.Get("labelSelector"); text != "" {
		if s.labels, err = labels.Parse(text); err != nil {
			return s, apierrors.NewBadRequest(err.Error())
		}
	}
	if text := q.Get("fieldSelector"); text != "" {
		if s.fields, err = fields.ParseSelector(text); err != nil {
			return s, apierrors.NewBadRequest(err.Error())
		}
		sample, err := t.server.cfg.Scheme.New(t.kind.GroupVersionKind)
		if err != nil {
			return s, fmt.Errorf("make %s: %w", t.kind.Kind, err)
		}
		known := fieldsOf(sample.(client.Object))
		for _, r := range s.fields.Requirements() {
			if !known.Has(r.Field) {
				return s, apierrors.NewBadRequest("field label not supported: " + r.Field)
			}
		}
	}
	return s, nil
}

// matches reports whether the selector includes e; it is false for nil.
func (s selector) matches(e *entry) bool {
	if e == nil || s.namespace != "" && e.object.GetNamespace() != s.namespace {
		return false
	}
	if !s.labels.Empty() && !s.labels.Matches(labels.Set(e.object.GetLabels())) {
		return false
	}
	return s.fields.Empty() || s.fields.Matches(fieldsOf(e.object))
}

// fieldsOf returns the fields that field selectors may name.
func fieldsOf(o client.Object) fields.Set {
	set := fields.Set{"metadata.name": o.GetName(), "metadata.namespace": o.GetNamespace()}
	switch o := o.(type) {
	case *corev1.Pod:
		set["spec.nodeName"], set["status.phase"] = o.Spec.NodeName, string(o.Status.Phase)
		set["status.nominatedNodeName"] = o.Status.NominatedNodeName
		set["spec.restartPolicy"], set["spec.schedulerName"] = string(o.Spec.RestartPolicy), o.Spec.SchedulerName
	case *corev1.Node:
		set["spec.unschedulable"] = strconv.FormatBool(o.Spec.Unschedulable)
	case *corev1.Event:
		set["involvedObject.name"], set["involvedObject.kind"] = o.InvolvedObject.Name, o.InvolvedObject.Kind
		set["involvedObject.namespace"], set["involvedObject.uid"] = o.InvolvedObject.Namespace, string(o.InvolvedObject.UID)
		set["reason"], set["type"] = o.Reason, o.Type
	}
	return set
}
