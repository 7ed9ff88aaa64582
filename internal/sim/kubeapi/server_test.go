package kubeapi

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"github.com/karpenter-go/karpenter/api/admission"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// fixture is a server with a client and a time that tests set.
type fixture struct {
	*testing.T
	now    time.Time
	server *Server
	client client.Client
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{T: t, now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{scheme.AddToScheme, apiv1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	checker, err := admission.New()
	if err != nil {
		t.Fatal(err)
	}
	f.server = New(Config{
		Scheme: s, Seed: 1, Now: func() time.Time { return f.now }, Admission: checker, History: 20,
		Kinds: append(BuiltIn(), Kind{
			GroupVersionKind: apiv1.GroupVersion.WithKind("NodeClaim"), Plural: "nodeclaims", Status: true, Generation: true, Custom: true,
		}),
	})
	if f.client, err = f.server.Client(); err != nil {
		t.Fatal(err)
	}
	return f
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// create creates objects by the client.
func (f *fixture) create(objects ...client.Object) {
	f.Helper()
	for _, o := range objects {
		f.must(f.client.Create(f.Context(), o))
	}
}

// reload reads an object again, and reports whether it exists.
func (f *fixture) reload(o client.Object) bool {
	f.Helper()
	err := f.client.Get(f.Context(), client.ObjectKeyFromObject(o), o)
	if err != nil && !apierrors.IsNotFound(err) {
		f.Fatal(err)
	}
	return err == nil
}

// pod returns a pod that is not created yet. With a node, it runs there.
func pod(name, node string, labels map[string]string) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Name: "main", Image: "main"}}},
	}
	if node != "" {
		p.Status.Phase = corev1.PodRunning
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	return p
}

// claim returns a NodeClaim that the schema allows.
func claim(name string) *apiv1.NodeClaim {
	return &apiv1.NodeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: apiv1.NodeClaimSpec{
			NodeClassRef: &apiv1.NodeClassReference{Group: "karpenter.k8s.aws", Kind: "EC2NodeClass", Name: "default"},
			Requirements: []apiv1.NodeSelectorRequirementWithMinValues{},
		},
	}
}

func names[T client.Object](all []T) []string {
	var out []string
	for _, o := range all {
		out = append(out, o.GetNamespace()+"/"+o.GetName())
	}
	return out
}

func TestCreateGetList(t *testing.T) {
	f := newFixture(t)
	for _, p := range []*corev1.Pod{pod("b", "", map[string]string{"app": "x"}), pod("a", "n1", map[string]string{"app": "y"})} {
		f.create(p)
		if p.UID == "" || p.ResourceVersion == "" || !p.CreationTimestamp.Time.Equal(f.now) || p.Generation != 1 {
			t.Errorf("metadata is %+v", p.ObjectMeta)
		}
	}
	other := pod("c", "", nil)
	other.Namespace = "other"
	f.create(other)
	for _, tt := range []struct {
		options []client.ListOption
		want    []string
	}{
		{nil, []string{"default/a", "default/b", "other/c"}},
		{[]client.ListOption{client.InNamespace("default")}, []string{"default/a", "default/b"}},
		{[]client.ListOption{client.MatchingLabels{"app": "x"}}, []string{"default/b"}},
		{[]client.ListOption{client.MatchingFields{"spec.nodeName": "n1"}}, []string{"default/a"}},
		{[]client.ListOption{client.MatchingFields{"spec.nodeName": ""}}, []string{"default/b", "other/c"}},
	} {
		var list corev1.PodList
		f.must(f.client.List(t.Context(), &list, tt.options...))
		var got []string
		for _, p := range list.Items {
			got = append(got, p.Namespace+"/"+p.Name)
		}
		if !slices.Equal(got, tt.want) || list.ResourceVersion == "" {
			t.Errorf("list with %v is %v, want %v", tt.options, got, tt.want)
		}
	}
	if err := f.client.List(t.Context(), &corev1.PodList{}, client.MatchingFields{"spec.color": "red"}); !apierrors.IsBadRequest(err) {
		t.Errorf("a list by a field that pods do not have: %v", err)
	}
	if got := names(List[*corev1.Pod](f.server)); !slices.Equal(got, []string{"default/a", "default/b", "other/c"}) {
		t.Errorf("List returns %v", got)
	}
	if _, ok := Find[*corev1.Pod](f.server, "default", "c"); ok || Len[*corev1.Pod](f.server) != 3 {
		t.Error("Find finds a pod of another namespace")
	}
}

func TestCreateRefuses(t *testing.T) {
	f := newFixture(t)
	f.create(pod("a", "", nil))
	versioned := pod("b", "", nil)
	versioned.ResourceVersion = "7"
	wrong := claim("c")
	wrong.Spec.NodeClassRef.Kind = ""
	for _, tt := range []struct {
		object client.Object
		is     func(error) bool
	}{
		{pod("a", "", nil), apierrors.IsAlreadyExists},
		{versioned, func(err error) bool { return err != nil }},
		{&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default"}}, apierrors.IsBadRequest},
		{wrong, apierrors.IsInvalid},
	} {
		if err := f.client.Create(t.Context(), tt.object); !tt.is(err) {
			t.Errorf("create %s/%s: %v", tt.object.GetNamespace(), tt.object.GetName(), err)
		}
	}
}

func TestDefaultsOfPods(t *testing.T) {
	f := newFixture(t)
	p := pod("a", "", nil)
	p.Spec.Containers[0].Resources.Limits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2")}
	f.create(p)
	if q := p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU]; q.String() != "2" {
		t.Errorf("the request is %s", q.String())
	}
	if p.Status.Phase != corev1.PodPending || *p.Spec.TerminationGracePeriodSeconds != 30 || *p.Spec.Priority != 0 || len(p.Spec.Tolerations) != 2 {
		t.Errorf("spec is %+v", p.Spec)
	}
}

func TestGeneratedNamesDependOnTheSeed(t *testing.T) {
	generate := func() []string {
		f := newFixture(t)
		var out []string
		for range 20 {
			p := pod("", "", nil)
			p.GenerateName = "web-"
			f.create(p)
			out = append(out, p.Name, string(p.UID))
		}
		return out
	}
	a, b := generate(), generate()
	if !slices.Equal(a, b) {
		t.Error("the same seed gives other names")
	}
	slices.Sort(a)
	if n := len(slices.Compact(a)); n != 40 {
		t.Errorf("%d different names and uids of 40", n)
	}
}

func TestUpdate(t *testing.T) {
	f := newFixture(t)
	c := claim("a")
	c.Status.ProviderID = "ignored"
	f.create(c)
	if c.Status.ProviderID != "" {
		t.Error("the status of a custom object was kept when it was created")
	}
	stale := c.DeepCopy()

	c.Labels = map[string]string{"a": "b"}
	c.Status.ProviderID = "ignored"
	f.must(f.client.Update(t.Context(), c))
	if c.Status.ProviderID != "" || c.Labels["a"] != "b" || c.Generation != 1 {
		t.Errorf("after an update of metadata: status %q, labels %v, generation %d", c.Status.ProviderID, c.Labels, c.Generation)
	}
	if err := f.client.Update(t.Context(), stale); !apierrors.IsConflict(err) {
		t.Errorf("an update of a stale version: %v", err)
	}
	if err := f.client.Status().Update(t.Context(), stale); !apierrors.IsConflict(err) {
		t.Errorf("an update of the status of a stale version: %v", err)
	}

	c.Status.ProviderID, c.Labels = "x", nil
	f.must(f.client.Status().Update(t.Context(), c))
	if c.Status.ProviderID != "x" || c.Labels["a"] != "b" || c.Generation != 1 {
		t.Errorf("after an update of the status: status %q, labels %v, generation %d", c.Status.ProviderID, c.Labels, c.Generation)
	}

	version := c.ResourceVersion
	f.must(f.client.Update(t.Context(), c))
	if c.ResourceVersion != version {
		t.Error("an update without changes makes a new version")
	}

	c.ResourceVersion = ""
	if err := f.client.Update(t.Context(), c); !apierrors.IsInvalid(err) {
		t.Errorf("an update of a custom object without a version: %v", err)
	}
	f.reload(c)
	c.UID = "other"
	if err := f.client.Update(t.Context(), c); !apierrors.IsConflict(err) {
		t.Errorf("an update of another uid: %v", err)
	}
	if err := f.client.Update(t.Context(), claim("missing")); err == nil {
		t.Error("an object that does not exist was updated")
	}
}

func TestGenerationFollowsTheSpec(t *testing.T) {
	f := newFixture(t)
	p := pod("a", "", nil)
	f.create(p)
	p.Spec.Containers[0].Image = "other"
	f.must(f.client.Update(t.Context(), p))
	if p.Generation != 2 {
		t.Errorf("the generation is %d", p.Generation)
	}
}

func TestPatches(t *testing.T) {
	f := newFixture(t)
	apply := func(o client.Object, kind types.PatchType, data string) error {
		return f.client.Patch(t.Context(), o, client.RawPatch(kind, []byte(data)))
	}
	p := pod("a", "n1", nil)
	f.create(p)
	f.must(apply(p, types.MergePatchType, `{"metadata":{"labels":{"a":"b"},"annotations":{"x":"y"}}}`))
	f.must(apply(p, types.MergePatchType, `{"metadata":{"annotations":null}}`))
	f.must(apply(p, types.JSONPatchType, `[{"op":"test","path":"/metadata/labels/a","value":"b"},{"op":"replace","path":"/metadata/labels/a","value":"c"}]`))
	f.must(f.client.Status().Patch(t.Context(), p, client.RawPatch(types.StrategicMergePatchType,
		[]byte(`{"status":{"conditions":[{"type":"PodScheduled","status":"True"}]}}`))))
	if p.Labels["a"] != "c" || len(p.Annotations) != 0 || len(p.Status.Conditions) != 2 {
		t.Errorf("labels %v, annotations %v, conditions %v", p.Labels, p.Annotations, p.Status.Conditions)
	}
	if err := apply(p, types.JSONPatchType, `[{"op":"test","path":"/metadata/labels/a","value":"b"}]`); !apierrors.IsInvalid(err) {
		t.Errorf("a test that fails: %v", err)
	}
	stale := p.DeepCopy()
	f.must(apply(p, types.MergePatchType, `{"metadata":{"labels":{"a":"d"}}}`))
	changed := stale.DeepCopy()
	changed.Labels["a"] = "e"
	if err := f.client.Patch(t.Context(), changed, client.MergeFromWithOptions(stale, client.MergeFromWithOptimisticLock{})); !apierrors.IsConflict(err) {
		t.Errorf("a patch of a stale version: %v", err)
	}
	c := claim("a")
	f.create(c)
	if err := apply(c, types.StrategicMergePatchType, `{"metadata":{"labels":{"a":"b"}}}`); !apierrors.IsUnsupportedMediaType(err) {
		t.Errorf("a strategic patch of a custom object: %v", err)
	}
	f.must(apply(c, types.MergePatchType, `{"metadata":{"labels":{"a":"b"}},"status":{"providerID":"x"}}`))
	if c.Labels["a"] != "b" || c.Status.ProviderID != "" {
		t.Errorf("labels %v, status %q", c.Labels, c.Status.ProviderID)
	}
}

func TestDryRunsChangeNothing(t *testing.T) {
	f := newFixture(t)
	p := pod("a", "", nil)
	f.must(f.client.Create(t.Context(), p.DeepCopy(), client.DryRunAll))
	if f.reload(p.DeepCopy()) {
		t.Fatal("a dry run created the pod")
	}
	f.create(p)
	changed := p.DeepCopy()
	changed.Labels = map[string]string{"a": "b"}
	f.must(f.client.Update(t.Context(), changed.DeepCopy(), client.DryRunAll))
	f.must(f.client.Delete(t.Context(), p, client.DryRunAll))
	if !f.reload(p) || len(p.Labels) > 0 {
		t.Error("a dry run changed the pod")
	}
}

func TestFinalizers(t *testing.T) {
	f := newFixture(t)
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", Finalizers: []string{"x/one", "x/two"}}}
	f.create(n)
	f.must(f.client.Delete(t.Context(), n))
	if !f.reload(n) || n.DeletionTimestamp == nil {
		t.Fatal("a node with finalizers was removed, or is not marked")
	}
	version := n.ResourceVersion
	f.must(f.client.Delete(t.Context(), n))
	if f.reload(n); n.ResourceVersion != version {
		t.Error("the second delete changes the node")
	}
	controllerutil.AddFinalizer(n, "x/three")
	if err := f.client.Update(t.Context(), n); !apierrors.IsInvalid(err) {
		t.Errorf("a finalizer was added to a node that is being deleted: %v", err)
	}
	f.reload(n)
	for i, finalizer := range []string{"x/one", "x/two"} {
		if !controllerutil.RemoveFinalizer(n, finalizer) {
			t.Fatalf("finalizers are %v", n.Finalizers)
		}
		f.must(f.client.Update(t.Context(), n))
		if exists := f.reload(n); exists != (i == 0) {
			t.Errorf("after finalizer %s was removed, exists is %v", finalizer, exists)
		}
	}
}

func TestPreconditionsOfDeletes(t *testing.T) {
	f := newFixture(t)
	p := pod("a", "", nil)
	f.create(p)
	other := types.UID("other")
	for _, wrong := range []client.Preconditions{{UID: &other}, {ResourceVersion: ptr("7")}} {
		if err := f.client.Delete(t.Context(), p, wrong); !apierrors.IsConflict(err) {
			t.Errorf("delete with a wrong precondition: %v", err)
		}
	}
	f.must(f.client.Delete(t.Context(), p, client.Preconditions{UID: &p.UID, ResourceVersion: &p.ResourceVersion}))
	if f.reload(p) {
		t.Error("the pod exists")
	}
}

func TestDeleteAllOf(t *testing.T) {
	f := newFixture(t)
	for i := range 4 {
		f.create(pod(fmt.Sprint("p", i), "", map[string]string{"odd": fmt.Sprint(i % 2)}))
	}
	f.must(f.client.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace("default"), client.MatchingLabels{"odd": "1"}))
	if got := names(List[*corev1.Pod](f.server)); !slices.Equal(got, []string{"default/p0", "default/p2"}) {
		t.Errorf("pods are %v", got)
	}
}

// Create, Update, UpdateStatus and Delete have the same effects as the requests of a client.
func TestTypedWrites(t *testing.T) {
	f := newFixture(t)
	var writes []string
	f.server.OnWrite(func(before, after client.Object) { writes = append(writes, fmt.Sprint(before != nil, after != nil)) })
	stored, err := Create(f.server, claim("a"))
	f.must(err)
	changed := stored.DeepCopy()
	changed.Labels, changed.Status.ProviderID = map[string]string{"a": "b"}, "x"
	updated, err := Update(f.server, changed)
	f.must(err)
	if updated.Labels["a"] != "b" || updated.Status.ProviderID != "" || stored.Labels != nil {
		t.Errorf("labels %v, status %q; before %v", updated.Labels, updated.Status.ProviderID, stored.Labels)
	}
	if _, err := UpdateStatus(f.server, stored.DeepCopy()); !apierrors.IsConflict(err) {
		t.Errorf("an update of a stale version: %v", err)
	}
	changed = updated.DeepCopy()
	changed.Status.ProviderID = "x"
	updated, err = UpdateStatus(f.server, changed)
	f.must(err)
	read := claim("a")
	if !f.reload(read) || read.Status.ProviderID != "x" || read.ResourceVersion != updated.ResourceVersion {
		t.Errorf("a client reads %+v", read)
	}
	if _, err := Create(f.server, claim("a")); !apierrors.IsAlreadyExists(err) {
		t.Errorf("a second object of the name: %v", err)
	}
	f.must(Delete(f.server, claim("a")))
	if err := Delete(f.server, claim("a")); !apierrors.IsNotFound(err) {
		t.Errorf("delete of an object that does not exist: %v", err)
	}
	if want := []string{"false true", "true true", "true true", "true false"}; !slices.Equal(writes, want) {
		t.Errorf("writes are %v, want %v", writes, want)
	}
}

func ptr[T any](v T) *T { return &v }
