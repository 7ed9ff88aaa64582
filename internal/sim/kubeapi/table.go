package kubeapi

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// key names an object of a table.
type key struct{ namespace, name string }

// entry is one version of an object. It does not change.
type entry struct {
	object  client.Object
	json    []byte
	version uint64
}

// table holds the objects of one kind.
type table struct {
	kind    Kind
	server  *Server
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

// list returns a list of the objects that the selectors of a query match.
func (t *table) list(namespace string, q url.Values) ([]byte, error) {
	match, err := t.selector(namespace, q)
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, `{"kind":%q,"apiVersion":%q,"metadata":{"resourceVersion":"%d"},"items":[`,
		t.kind.Kind+"List", t.kind.GroupVersion().String(), t.server.version)
	first := true
	for _, e := range t.sorted() {
		if !match.matches(e) {
			continue
		}
		if !first {
			b.WriteByte(',')
		}
		first = false
		b.Write(e.json)
	}
	b.WriteString("]}")
	return []byte(b.String()), nil
}

// store makes object the current version of its key, or removes the key if object is nil. It adds the event to the watches.
func (t *table) store(k key, object client.Object) (*entry, error) {
	before := t.objects[k]
	t.server.version++
	c := change{before: before, version: t.server.version}
	if object != nil {
		object.SetResourceVersion(strconv.FormatUint(c.version, 10))
		e, err := t.encode(object, c.version)
		if err != nil {
			return nil, err
		}
		c.after = e
		t.objects[k] = e
	} else {
		// The event of a deletion has the version of the deletion.
		last := before.object.DeepCopyObject().(client.Object)
		last.SetResourceVersion(strconv.FormatUint(c.version, 10))
		e, err := t.encode(last, c.version)
		if err != nil {
			return nil, err
		}
		c.before = e
		delete(t.objects, k)
	}
	if before == nil || object == nil {
		t.order = nil
	} else if t.order != nil {
		if i := slices.Index(t.order, before); i >= 0 {
			t.order[i] = c.after
		}
	}
	t.changes = append(t.changes, c)
	if over := len(t.changes) - t.server.cfg.History; over > 0 {
		t.dropped = t.changes[over-1].version
		t.changes = slices.Clone(t.changes[over:])
	}
	for _, w := range t.watches {
		w.add(c)
	}
	t.server.tell(before, c.after)
	return c.after, nil
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

// encode returns an entry of object, which must not be changed afterwards.
func (t *table) encode(object client.Object, version uint64) (*entry, error) {
	object.GetObjectKind().SetGroupVersionKind(t.kind.GroupVersionKind)
	object.SetManagedFields(nil)
	data, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", object.GetName(), err)
	}
	return &entry{object: object, json: data, version: version}, nil
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
