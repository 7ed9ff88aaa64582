package kubeapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// create adds a new object. It never gets access reviews: discover answers them, and they are not stored.
func (s *Server) create(t target, r *Request) (int, []byte, error) {
	o, err := t.table.object(r)
	if err != nil {
		return 0, nil, err
	}
	if o.GetNamespace() == "" {
		o.SetNamespace(t.key.namespace)
	}
	e, err := s.insert(t.table, r, o)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusCreated, r.encode(e), nil
}

// insert adds a new object to a table.
func (s *Server) insert(t *table, r *Request, o client.Object) (*entry, error) {
	if o.GetResourceVersion() != "" {
		return nil, apierrors.NewBadRequest("resourceVersion should not be set on objects to be created")
	}
	if !t.kind.Namespaced {
		o.SetNamespace("")
	}
	if o.GetName() == "" && o.GetGenerateName() != "" {
		for o.GetName() == "" || t.objects[key{o.GetNamespace(), o.GetName()}] != nil { // as API servers do since Kubernetes 1.32
			o.SetName(o.GetGenerateName() + t.etcd.suffix())
		}
	}
	if o.GetName() == "" {
		return nil, apierrors.NewBadRequest("name or generateName is required")
	}
	k := key{o.GetNamespace(), o.GetName()}
	if t.objects[k] != nil {
		return nil, apierrors.NewAlreadyExists(t.kind.Resource().GroupResource(), k.name)
	}
	if t.kind.Custom {
		clearStatus(o)
	}
	o.SetUID(types.UID(t.etcd.uid()))
	o.SetCreationTimestamp(s.time())
	o.SetDeletionTimestamp(nil)
	if t.kind.Generation {
		o.SetGeneration(1)
	}
	s.defaults(o)
	o, admitted, err := s.admit(r.Context, t, o, nil)
	if err != nil {
		return nil, err
	}
	if dryRun(r) {
		return t.entry(o, t.etcd.version), nil
	}
	e := t.store(k, o)
	e.admitted = admitted
	return e, nil
}

// put replaces an object or its status.
func (s *Server) put(t target, r *Request) ([]byte, error) {
	old, err := t.table.get(t.key)
	if err != nil {
		return nil, err
	}
	o, err := t.table.object(r)
	if err != nil {
		return nil, err
	}
	if t.table.kind.Custom && o.GetResourceVersion() == "" {
		return nil, apierrors.NewInvalid(t.table.kind.GroupKind(), t.key.name, field.ErrorList{field.Invalid(
			field.NewPath("metadata", "resourceVersion"), 0, "must be specified for an update")})
	}
	e, err := s.update(t, r, old, o)
	if err != nil {
		return nil, err
	}
	return r.encode(e), nil
}

// patch changes an object or its status by a merge patch, a JSON patch or, unless the kind is custom, a strategic merge patch.
// Server-side apply is not supported.
func (s *Server) patch(t target, r *Request) ([]byte, error) {
	old, err := t.table.get(t.key)
	if err != nil {
		return nil, err
	}
	o, err := t.table.patched(old, r)
	if err != nil {
		return nil, err
	}
	e, err := s.update(t, r, old, o)
	if err != nil {
		return nil, err
	}
	return r.encode(e), nil
}

// patched returns the object of an entry with the patch of a request applied.
func (t *table) patched(old *entry, r *Request) (client.Object, error) {
	var data []byte
	var err error
	switch kind := types.PatchType(strings.Split(r.ContentType, ";")[0]); kind {
	case types.MergePatchType:
		return t.mergePatched(old, r.Body)
	case types.JSONPatchType:
		var p jsonpatch.Patch
		if p, err = jsonpatch.DecodePatch(r.Body); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
		if data, err = p.Apply(old.json()); err != nil {
			return nil, apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "", err.Error(), 0, false)
		}
	case types.StrategicMergePatchType:
		if t.kind.Custom {
			return nil, unsupported(kind)
		}
		if data, err = strategicpatch.StrategicMergePatch(old.json(), r.Body, old.object); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	default:
		return nil, unsupported(kind)
	}
	return t.decode(data)
}

// unsupported is the answer to a patch of a type that the kind does not have.
func unsupported(kind types.PatchType) error {
	return apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, "", schema.GroupResource{}, "", fmt.Sprintf("patches of type %s are not supported", kind), 0, false)
}

// update writes a new version of an object.
func (s *Server) update(t target, r *Request, old *entry, o client.Object) (*entry, error) {
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
	keepIdentity(o, before)
	if k := firstNewFinalizer(o, before); k != "" {
		return nil, apierrors.NewInvalid(t.table.kind.GroupKind(), t.key.name, field.ErrorList{field.Forbidden(
			field.NewPath("metadata", "finalizers"), "no new finalizers can be added if the object is being deleted, found new finalizers "+k)})
	}
	changed := contentChanged(o, before)
	if !changed && equality.Semantic.DeepEqual(metadataOf(o), metadataOf(before)) {
		return old, nil
	}
	admitted := old.admitted // no rule of a CRD reads metadata that can change
	if changed || admitted == nil {
		given := o
		var err error
		if o, admitted, err = s.admit(r.Context, t.table, o, old); err != nil {
			return nil, err
		}
		if (o != given || !changed) && equality.Semantic.DeepEqual(o, before) { // what changed was set back by a default
			return old, nil
		}
	}
	if k.Generation && changed && t.subresource != "status" && specChanged(o, before) {
		o.SetGeneration(before.GetGeneration() + 1)
	}
	if dryRun(r) {
		return t.table.entry(o, old.version), nil
	}
	if o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0 && ended(o) {
		e := t.table.entry(o, old.version)
		t.table.store(t.key, nil)
		return e, nil
	}
	e := t.table.store(t.key, o)
	e.admitted = admitted
	return e, nil
}

// keepIdentity sets the metadata of o that clients cannot change to the values in before, the object before the write.
func keepIdentity(o, before client.Object) {
	o.SetUID(before.GetUID())
	o.SetCreationTimestamp(before.GetCreationTimestamp())
	o.SetDeletionTimestamp(before.GetDeletionTimestamp())
	o.SetDeletionGracePeriodSeconds(before.GetDeletionGracePeriodSeconds())
	o.SetGeneration(before.GetGeneration())
	o.SetNamespace(before.GetNamespace())
	o.SetName(before.GetName())
	o.SetResourceVersion(before.GetResourceVersion())
	o.SetManagedFields(nil)
	o.GetObjectKind().SetGroupVersionKind(before.GetObjectKind().GroupVersionKind())
}

// firstNewFinalizer returns a finalizer that an update adds to an object that is being deleted, empty if there is none.
func firstNewFinalizer(o, before client.Object) string {
	if before.GetDeletionTimestamp() == nil {
		return ""
	}
	for _, f := range o.GetFinalizers() {
		if !slices.Contains(before.GetFinalizers(), f) {
			return f
		}
	}
	return ""
}

// ended reports whether only finalizers delay the removal of an object that is being deleted. A pod is also delayed by its
// kubelet, as long as it has a grace period.
func ended(o client.Object) bool {
	grace := o.GetDeletionGracePeriodSeconds()
	return grace == nil || *grace == 0
}

// remove deletes an object. If it has finalizers, or is a pod with a grace period (see graceOf), it gets a deletion
// timestamp. Otherwise it is removed immediately.
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
		return r.encode(old), nil
	}
	e, err := s.delete(t.table, t.key, old, options)
	if err != nil {
		return nil, err
	}
	return r.encode(e), nil
}

// delete carries out a deletion. It returns the object that is being deleted, or as it last was.
func (s *Server) delete(t *table, k key, old *entry, options metav1.DeleteOptions) (*entry, error) {
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
		t.store(k, nil)
		return old, nil
	}
	at := metav1.NewTime(s.time().Add(seconds(grace)))
	if was := old.object.GetDeletionTimestamp(); was != nil {
		g := old.object.GetDeletionGracePeriodSeconds()
		if g == nil || grace >= *g {
			return old, nil
		}
		// A shorter grace period counts from the time of the first deletion.
		at = metav1.NewTime(was.Add(seconds(grace) - seconds(*g)))
	}
	o := old.object.DeepCopyObject().(client.Object)
	o.SetDeletionTimestamp(&at)
	o.SetDeletionGracePeriodSeconds(&grace)
	if t.kind.Generation {
		o.SetGeneration(o.GetGeneration() + 1)
	}
	e := t.store(k, o)
	e.admitted = old.admitted // only the metadata changed
	return e, nil
}

// graceOf returns the grace period of a deletion in seconds. Only pods that a kubelet runs have one.
func graceOf(o client.Object, options metav1.DeleteOptions) int64 {
	pod, ok := o.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return 0
	}
	if options.GracePeriodSeconds != nil {
		return atLeast(*options.GracePeriodSeconds)
	}
	if pod.Spec.TerminationGracePeriodSeconds != nil {
		return atLeast(*pod.Spec.TerminationGracePeriodSeconds)
	}
	return corev1.DefaultTerminationGracePeriodSeconds
}

// atLeast returns a grace period as kube-apiserver reads it: a negative one is a second.
func atLeast(grace int64) int64 {
	if grace < 0 {
		return 1
	}
	return grace
}

// removeAll deletes all objects that the selectors of a query match.
func (s *Server) removeAll(t target, r *Request) ([]byte, error) {
	match, err := t.table.selector(t.key.namespace, r.Query)
	if err != nil {
		return nil, err
	}
	var options metav1.DeleteOptions
	if len(r.Body) > 0 {
		if err := json.Unmarshal(r.Body, &options); err != nil {
			return nil, apierrors.NewBadRequest(err.Error())
		}
	}
	for _, e := range append([]*entry(nil), t.table.sorted()...) {
		if !match.matches(e) {
			continue
		}
		k := key{e.object.GetNamespace(), e.object.GetName()}
		if _, err := s.delete(t.table, k, e, options); err != nil {
			return nil, err
		}
	}
	return json.Marshal(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess})
}

// admit checks an object of a custom kind, and returns it with the defaults of its schema, typed and unstructured. The typed result
// may be o. Before is nil for a new object. An object that is not checked has no unstructured result.
func (s *Server) admit(ctx context.Context, t *table, o client.Object, before *entry) (client.Object, *unstructured.Unstructured, error) {
	if s.cfg.Admission == nil || !t.kind.Custom || !s.cfg.Admission.Knows(t.kind.GroupVersionKind) {
		return o, nil, nil
	}
	object, err := loose(t, o)
	if err != nil {
		return nil, nil, err
	}
	var admitted *unstructured.Unstructured
	var errs field.ErrorList
	switch {
	case before == nil:
		admitted, errs = s.cfg.Admission.Create(ctx, object)
	case before.admitted != nil:
		admitted, errs = s.cfg.Admission.UpdateStored(ctx, object, before.admitted)
	default:
		var old *unstructured.Unstructured
		if old, err = loose(t, before.object); err != nil {
			return nil, nil, err
		}
		admitted, errs = s.cfg.Admission.Update(ctx, object, old)
	}
	if len(errs) > 0 {
		return nil, nil, apierrors.NewInvalid(t.kind.GroupKind(), o.GetName(), errs)
	}
	if !reflect.DeepEqual(admitted.Object, object.Object) { // something was defaulted or pruned
		o, err = s.strict(t, admitted)
	}
	return o, admitted, err
}

// loose returns a typed object as an unstructured one.
func loose(t *table, o client.Object) (*unstructured.Unstructured, error) {
	o.GetObjectKind().SetGroupVersionKind(t.kind.GroupVersionKind)
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return nil, fmt.Errorf("convert %s: %w", o.GetName(), err)
	}
	if status, ok := m["status"].(map[string]any); ok && len(status) == 0 {
		delete(m, "status") // so that the schema can set its default
	}
	return &unstructured.Unstructured{Object: m}, nil
}

// strict returns an unstructured object as a typed one.
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

// copyStatus replaces the status of an object with a copy of the status of another object of the same type.
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

// contentChanged reports whether anything but metadata differs.
func contentChanged(a, b client.Object) bool {
	if f := statusOf(a); f.IsValid() && !equality.Semantic.DeepEqual(f.Interface(), statusOf(b).Interface()) {
		return true
	}
	return specChanged(a, b)
}

// metadataOf returns the field ObjectMeta of an object.
func metadataOf(o client.Object) any {
	return reflect.ValueOf(o).Elem().FieldByName("ObjectMeta").Interface()
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
