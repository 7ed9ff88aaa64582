package kubeapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// create adds a new object. Access reviews are answered and not stored; see discover.
func (s *Server) create(t target, r *Request) (int, []byte, error) {
	o, err := t.table.decode(r.Body)
	if err != nil {
		return 0, nil, err
	}
	if o.GetNamespace() == "" {
		o.SetNamespace(t.key.namespace)
	}
	if !t.table.kind.Namespaced {
		o.SetNamespace("")
	}
	if o.GetName() == "" && o.GetGenerateName() != "" {
		o.SetName(o.GetGenerateName() + s.suffix())
	}
	if o.GetName() == "" {
		return 0, nil, apierrors.NewBadRequest("name or generateName is required")
	}
	k := key{o.GetNamespace(), o.GetName()}
	if t.table.objects[k] != nil {
		return 0, nil, apierrors.NewAlreadyExists(t.table.kind.Resource().GroupResource(), k.name)
	}
	if t.table.kind.Custom {
		clearStatus(o)
	}
	o.SetUID(types.UID(s.uid()))
	o.SetCreationTimestamp(s.time())
	o.SetDeletionTimestamp(nil)
	if t.table.kind.Generation {
		o.SetGeneration(1)
	}
	s.defaults(o)
	if o, err = s.admit(r.Context, t.table, o, nil); err != nil {
		return 0, nil, err
	}
	if dryRun(r) {
		e, err := t.table.encode(o, s.version)
		if err != nil {
			return 0, nil, err
		}
		return http.StatusCreated, e.json, nil
	}
	e, err := t.table.store(k, o)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, e.json, nil
}

// put replaces an object or its status.
func (s *Server) put(t target, r *Request) ([]byte, error) {
	old, err := t.table.get(t.key)
	if err != nil {
		return nil, err
	}
	o, err := t.table.decode(r.Body)
	if err != nil {
		return nil, err
	}
	return s.update(t, r, old, o)
}

// patch changes an object or its status by a patch of any of the three kinds.
func (s *Server) patch(t target, r *Request) ([]byte, error) {
	old, err := t.table.get(t.key)
	if err != nil {
		return nil, err
	}
	var data []byte
	switch kind := types.PatchType(strings.Split(r.ContentType, ";")[0]); kind {
	case types.MergePatchType:
		data, err = jsonpatch.MergePatch(old.json, r.Body)
	case types.JSONPatchType:
		var p jsonpatch.Patch
		if p, err = jsonpatch.DecodePatch(r.Body); err == nil {
			data, err = p.Apply(old.json)
		}
	case types.StrategicMergePatchType:
		data, err = strategicpatch.StrategicMergePatch(old.json, r.Body, old.object)
	default:
		return nil, apierrors.NewBadRequest(fmt.Sprintf("patches of type %s are not supported", kind))
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	o, err := t.table.decode(data)
	if err != nil {
		return nil, err
	}
	return s.update(t, r, old, o)
}

// update writes a new version of an object.
func (s *Server) update(t target, r *Request, old *entry, o client.Object) ([]byte, error) {
	k := t.table.kind
	if v := o.GetResourceVersion(); v != "" && v != strconv.FormatUint(old.version, 10) {
		return nil, apierrors.NewConflict(k.Resource().GroupResource(), t.key.name,
			fmt.Errorf("the object has been modified; please apply your changes to the latest version and try again"))
	}
	if o.GetUID() != "" && o.GetUID() != old.object.GetUID() {
		return nil, apierrors.NewConflict(k.Resource().GroupResource(), t.key.name,
			fmt.Errorf("precondition failed: UID in precondition: %s, UID in object meta: %s", o.GetUID(), old.object.GetUID()))
	}
	before := old.object
	if t.subresource == "status" {
		status := o
		o = before.DeepCopyObject().(client.Object)
		copyStatus(o, status)
	} else if k.Status {
		copyStatus(o, before)
	}
	// Clients cannot change these.
	o.SetUID(before.GetUID())
	o.SetCreationTimestamp(before.GetCreationTimestamp())
	o.SetDeletionTimestamp(before.GetDeletionTimestamp())
	o.SetDeletionGracePeriodSeconds(before.GetDeletionGracePeriodSeconds())
	o.SetGeneration(before.GetGeneration())
	o.SetNamespace(before.GetNamespace())
	o.SetName(before.GetName())
	o.SetResourceVersion(before.GetResourceVersion())
	o.SetManagedFields(nil)
	o.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind)
	var err error
	if o, err = s.admit(r.Context, t.table, o, before); err != nil {
		return nil, err
	}
	if equality.Semantic.DeepEqual(o, before) {
		return old.json, nil
	}
	if k.Generation && t.subresource != "status" && specChanged(o, before) {
		o.SetGeneration(before.GetGeneration() + 1)
	}
	if dryRun(r) {
		e, err := t.table.encode(o, old.version)
		if err != nil {
			return nil, err
		}
		return e.json, nil
	}
	if o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0 && ended(o) {
		e, err := t.table.encode(o, old.version)
		if err != nil {
			return nil, err
		}
		_, err = t.table.store(t.key, nil)
		return e.json, err
	}
	e, err := t.table.store(t.key, o)
	if err != nil {
		return nil, err
	}
	return e.json, nil
}

// ended reports whether an object that is being deleted waits for nothing but its finalizers. A pod also waits for its kubelet.
func ended(o client.Object) bool {
	grace := o.GetDeletionGracePeriodSeconds()
	return grace == nil || *grace == 0
}

// remove deletes an object: at once, or, if it has finalizers or is a pod on a node, by a mark.
func (s *Server) remove(t target, r *Request) ([]byte, error) {
	old, err := t.table.get(t.key)
	if err != nil {
		return nil, err
	}
	var options metav1.DeleteOptions
	if len(r.Body) > 0 {
		if err := json.Unmarshal(r.Body, &options); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	if len(options.DryRun) > 0 {
		return old.json, nil
	}
	return s.delete(t.table, t.key, old, options)
}

// delete carries out a deletion.
func (s *Server) delete(t *table, k key, old *entry, options metav1.DeleteOptions) ([]byte, error) {
	if p := options.Preconditions; p != nil {
		if p.UID != nil && *p.UID != old.object.GetUID() {
			return nil, apierrors.NewConflict(t.kind.Resource().GroupResource(), k.name, fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s)", *p.UID, old.object.GetUID()))
		}
		if p.ResourceVersion != nil && *p.ResourceVersion != old.object.GetResourceVersion() {
			return nil, apierrors.NewConflict(t.kind.Resource().GroupResource(), k.name, fmt.Errorf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s)", *p.ResourceVersion, old.object.GetResourceVersion()))
		}
	}
	grace := graceOf(old.object, options)
	if grace == 0 && len(old.object.GetFinalizers()) == 0 {
		_, err := t.store(k, nil)
		return old.json, err
	}
	at := metav1.NewTime(s.time().Add(seconds(grace)))
	if was := old.object.GetDeletionTimestamp(); was != nil {
		if g := old.object.GetDeletionGracePeriodSeconds(); g == nil || grace >= *g {
			return old.json, nil
		}
	}
	o := old.object.DeepCopyObject().(client.Object)
	o.SetDeletionTimestamp(&at)
	o.SetDeletionGracePeriodSeconds(&grace)
	if t.kind.Generation {
		o.SetGeneration(o.GetGeneration() + 1)
	}
	e, err := t.store(k, o)
	if err != nil {
		return nil, err
	}
	return e.json, nil
}

// graceOf returns the grace period of a deletion in seconds. Only pods that a kubelet runs have one.
func graceOf(o client.Object, options metav1.DeleteOptions) int64 {
	pod, ok := o.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return 0
	}
	if options.GracePeriodSeconds != nil {
		return max(0, *options.GracePeriodSeconds)
	}
	if pod.Spec.TerminationGracePeriodSeconds != nil {
		return max(0, *pod.Spec.TerminationGracePeriodSeconds)
	}
	return corev1.DefaultTerminationGracePeriodSeconds
}

// removeAll deletes all objects that the selectors of a query match.
func (s *Server) removeAll(t target, r *Request) ([]byte, error) {
	match, err := selectorOf(t.key.namespace, r.Query)
	if err != nil {
		return nil, err
	}
	for _, e := range append([]*entry(nil), t.table.sorted()...) {
		if !match.matches(e) {
			continue
		}
		k := key{e.object.GetNamespace(), e.object.GetName()}
		if _, err := s.delete(t.table, k, e, metav1.DeleteOptions{}); err != nil {
			return nil, err
		}
	}
	return json.Marshal(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess})
}

// admit checks an object of a custom kind, and returns it with the defaults of its schema. Before is nil for a new object.
func (s *Server) admit(ctx context.Context, t *table, o, before client.Object) (client.Object, error) {
	if s.cfg.Admission == nil || !t.kind.Custom || !s.cfg.Admission.Knows(t.kind.GroupVersionKind) {
		return o, nil
	}
	object, err := loose(t, o)
	if err != nil {
		return nil, err
	}
	if before == nil {
		admitted, errs := s.cfg.Admission.Create(ctx, object)
		if len(errs) > 0 {
			return nil, apierrors.NewInvalid(t.kind.GroupKind(), o.GetName(), errs)
		}
		return s.strict(t, admitted)
	}
	old, err := loose(t, before)
	if err != nil {
		return nil, err
	}
	admitted, errs := s.cfg.Admission.Update(ctx, object, old)
	if len(errs) > 0 {
		return nil, apierrors.NewInvalid(t.kind.GroupKind(), o.GetName(), errs)
	}
	return s.strict(t, admitted)
}

// loose returns a typed object as a tree of values.
func loose(t *table, o client.Object) (*unstructured.Unstructured, error) {
	o.GetObjectKind().SetGroupVersionKind(t.kind.GroupVersionKind)
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, fmt.Errorf("convert %s: %w", o.GetName(), err)
	}
	return &unstructured.Unstructured{Object: m}, nil
}

// strict returns a tree of values as a typed object.
func (s *Server) strict(t *table, u *unstructured.Unstructured) (client.Object, error) {
	o, err := s.cfg.Scheme.New(t.kind.GroupVersionKind)
	if err != nil {
		return nil, fmt.Errorf("make %s: %w", t.kind.Kind, err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, o); err != nil {
		return nil, fmt.Errorf("convert %s: %w", u.GetName(), err)
	}
	return o.(client.Object), nil
}

// copyStatus makes the status of to that of from, which has the same type.
func copyStatus(to, from client.Object) {
	if f := statusOf(to); f.IsValid() {
		f.Set(statusOf(from.DeepCopyObject().(client.Object)))
	}
}

func clearStatus(o client.Object) {
	if f := statusOf(o); f.IsValid() {
		f.SetZero()
	}
}

// statusOf returns the field Status of an object.
func statusOf(o client.Object) reflect.Value {
	return reflect.ValueOf(o).Elem().FieldByName("Status")
}

// specChanged reports whether anything but metadata and status differs.
func specChanged(a, b client.Object) bool {
	va, vb := reflect.ValueOf(a).Elem(), reflect.ValueOf(b).Elem()
	for i := range va.NumField() {
		switch va.Type().Field(i).Name {
		case "TypeMeta", "ObjectMeta", "Status":
		default:
			if !equality.Semantic.DeepEqual(va.Field(i).Interface(), vb.Field(i).Interface()) {
				return true
			}
		}
	}
	return false
}

func dryRun(r *Request) bool { return r.Query.Get("dryRun") != "" }
