package nodepool

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/karpenter-go/karpenter/api"
	"github.com/karpenter-go/karpenter/api/condition"
	kwokv1alpha1 "github.com/karpenter-go/karpenter/api/kwok/v1alpha1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
)

// onlyFacts is a provider of which only Facts may be called.
type onlyFacts struct{ cloud.Provider }

func classKind() schema.GroupVersionKind {
	return kwokv1alpha1.GroupVersion.WithKind("KWOKNodeClass")
}

func (onlyFacts) Facts() cloud.Facts {
	return cloud.Facts{NodeClasses: []schema.GroupVersionKind{classKind()}}
}

// A world is a cluster and a clock.
type world struct {
	client.Client
	t     *testing.T
	clock *testclock.FakeClock
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	scheme := api.Scheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&apiv1.NodePool{}, &apiv1.NodeClaim{}, &kwokv1alpha1.KWOKNodeClass{}).Build()
	return &world{Client: c, t: t, clock: testclock.NewFakeClock(time.Unix(1_000_000, 0))}
}

// run reconciles the NodePool named default twice. The second time must change nothing.
func (w *world) run(r reconcile.Reconciler) (*apiv1.NodePool, ctrl.Result) {
	w.t.Helper()
	req := ctrl.Request{NamespacedName: types.NamespacedName{Name: "default"}}
	result, err := r.Reconcile(w.t.Context(), req)
	if err != nil {
		w.t.Fatal(err)
	}
	pool := w.pool()
	if _, err := r.Reconcile(w.t.Context(), req); err != nil {
		w.t.Fatal(err)
	}
	if again := w.pool(); pool != nil && again.ResourceVersion != pool.ResourceVersion {
		w.t.Errorf("a second reconcile changed the pool: %+v, then %+v", pool.Status, again.Status)
	}
	return pool, result
}

// pool returns the pool named default, or nil.
func (w *world) pool() *apiv1.NodePool {
	pool := &apiv1.NodePool{}
	err := w.Get(w.t.Context(), types.NamespacedName{Name: "default"}, pool)
	if client.IgnoreNotFound(err) != nil {
		w.t.Fatal(err)
	}
	if err != nil {
		return nil
	}
	return pool
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func aPool(change ...func(*apiv1.NodePool)) *apiv1.NodePool {
	p := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default", UID: "pool", Generation: 1}}
	p.Spec.Template.Spec.NodeClassRef = &apiv1.NodeClassReference{
		Group: classKind().Group, Kind: classKind().Kind, Name: "class",
	}
	for _, f := range change {
		f(p)
	}
	return p
}

func aClass(ready metav1.ConditionStatus) *kwokv1alpha1.KWOKNodeClass {
	c := &kwokv1alpha1.KWOKNodeClass{ObjectMeta: metav1.ObjectMeta{Name: "class", Generation: 7}}
	c.Status.Conditions = []metav1.Condition{{
		Type: "Ready", Status: ready, Reason: "ImagesMissing", Message: "no image fits", ObservedGeneration: 7,
	}}
	return c
}

func aClaim(name string, change ...func(*apiv1.NodeClaim)) *apiv1.NodeClaim {
	c := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{apiv1.NodePoolLabelKey: "default"},
	}}
	for _, f := range change {
		f(c)
	}
	return c
}

// other makes the NodePool refer to a node class of another provider.
func other(p *apiv1.NodePool) { p.Spec.Template.Spec.NodeClassRef.Group = "elsewhere.io" }

// deleting marks the NodePool as being deleted.
func deleting(p *apiv1.NodePool) {
	p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: time.Unix(1, 0)}, []string{"foreground"}
}

// The controllers do not change a NodePool that is being deleted or belongs to another provider. A NodePool that does not exist
// causes no error.
func TestPoolsLeftAlone(t *testing.T) {
	for name, objects := range map[string][]client.Object{
		"gone":               nil,
		"being deleted":      {aPool(deleting)},
		"another provider's": {aPool(other)},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, objects...)
			before := w.pool()
			for _, r := range []reconcile.Reconciler{
				&Hash{Client: w, Cloud: onlyFacts{}},
				&Readiness{Client: w, Clock: w.clock, Cloud: onlyFacts{}},
				&Counter{Client: w, Cloud: onlyFacts{}},
				&Validation{Client: w, Clock: w.clock, Cloud: onlyFacts{}},
				&RegistrationHealth{Client: w, Clock: w.clock, Cloud: onlyFacts{}, Health: NewHealth()},
			} {
				if _, result := w.run(r); !result.IsZero() {
					t.Errorf("%T comes back: %v", r, result)
				}
			}
			if after := w.pool(); before != nil && after.ResourceVersion != before.ResourceVersion {
				t.Errorf("pool was changed: %+v", after)
			}
		})
	}
}

func TestHashOfNewPool(t *testing.T) {
	w := newWorld(t, aPool())
	pool, _ := w.run(&Hash{Client: w, Cloud: onlyFacts{}})
	if pool.Annotations[apiv1.NodePoolHashAnnotationKey] != pool.Hash() ||
		pool.Annotations[apiv1.NodePoolHashVersionAnnotationKey] != "v3" {
		t.Errorf("annotations are %v", pool.Annotations)
	}
	pool.Spec.Template.Labels = map[string]string{"a": "b"}
	w.must(w.Update(t.Context(), pool))
	changed, _ := w.run(&Hash{Client: w, Cloud: onlyFacts{}})
	if got := changed.Annotations[apiv1.NodePoolHashAnnotationKey]; got != changed.Hash() || got == aPool().Hash() {
		t.Errorf("hash is %s after a change, want %s", got, changed.Hash())
	}
}

func TestHashVersionChange(t *testing.T) {
	annotated := func(version, hash string) func(*apiv1.NodeClaim) {
		return func(c *apiv1.NodeClaim) {
			c.Annotations = map[string]string{
				apiv1.NodePoolHashVersionAnnotationKey: version, apiv1.NodePoolHashAnnotationKey: hash,
			}
		}
	}
	drifted := func(c *apiv1.NodeClaim) {
		c.Status.Conditions = []metav1.Condition{{Type: apiv1.ConditionTypeDrifted, Status: metav1.ConditionTrue}}
	}
	stranger := func(c *apiv1.NodeClaim) { c.Labels[apiv1.NodePoolLabelKey] = "another" }
	hash := aPool().Hash()
	w := newWorld(t,
		aPool(func(p *apiv1.NodePool) {
			p.Annotations = map[string]string{
				apiv1.NodePoolHashVersionAnnotationKey: "v2", apiv1.NodePoolHashAnnotationKey: "old",
			}
		}),
		aClaim("plain", annotated("v2", "old")),
		aClaim("drifted", annotated("v2", "older"), drifted),
		aClaim("current", annotated("v3", "differs")),
		aClaim("stranger", annotated("v2", "old"), stranger),
		aClaim("bare"),
	)
	pool, _ := w.run(&Hash{Client: w, Cloud: onlyFacts{}})
	if got := pool.Annotations[apiv1.NodePoolHashVersionAnnotationKey]; got != "v3" {
		t.Errorf("version of the pool is %s", got)
	}
	for name, want := range map[string][2]string{
		"plain": {"v3", hash}, "drifted": {"v3", "older"}, "current": {"v3", "differs"}, "stranger": {"v2", "old"},
		"bare": {"v3", hash},
	} {
		claim := &apiv1.NodeClaim{}
		w.must(w.Get(t.Context(), types.NamespacedName{Name: name}, claim))
		got := [2]string{
			claim.Annotations[apiv1.NodePoolHashVersionAnnotationKey], claim.Annotations[apiv1.NodePoolHashAnnotationKey],
		}
		if got != want {
			t.Errorf("claim %s has version and hash %v, want %v", name, got, want)
		}
	}
}

func TestReadiness(t *testing.T) {
	terminating := aClass(metav1.ConditionTrue)
	terminating.DeletionTimestamp, terminating.Finalizers = &metav1.Time{Time: time.Unix(1, 0)}, []string{"x"}
	silent := aClass(metav1.ConditionTrue)
	silent.Status.Conditions = nil
	for _, tt := range []struct {
		name   string
		class  client.Object
		status metav1.ConditionStatus
		reason string
	}{
		{"no class", nil, "False", "NodeClassNotFound"},
		{"class being deleted", terminating, "False", "NodeClassTerminating"},
		{"class without conditions", silent, "False", "NodeClassReadinessUnknown"},
		{"class unknown", aClass(metav1.ConditionUnknown), "False", "NodeClassReadinessUnknown"},
		{"class not ready", aClass(metav1.ConditionFalse), "False", "ImagesMissing"},
		{"class ready", aClass(metav1.ConditionTrue), "True", "NodeClassReady"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, aPool())
			if tt.class != nil {
				w = newWorld(t, aPool(), tt.class)
			}
			pool, _ := w.run(&Readiness{Client: w, Clock: w.clock, Cloud: onlyFacts{}})
			got := condition.Get(pool, apiv1.ConditionTypeNodeClassReady)
			if got == nil || got.Status != tt.status || got.Reason != tt.reason {
				t.Fatalf("condition is %+v, want %s %s", got, tt.status, tt.reason)
			}
			if got.Status == "False" && got.Message == "" {
				t.Error("no message")
			}
			if condition.IsTrue(pool, "Ready") {
				t.Error("the pool is ready although it was not validated")
			}
		})
	}
}

func TestClassChangeConcernsItsPools(t *testing.T) {
	named := func(name, class string) *apiv1.NodePool {
		return aPool(func(p *apiv1.NodePool) { p.Name, p.Spec.Template.Spec.NodeClassRef.Name = name, class })
	}
	w := newWorld(t, named("a", "class"), named("b", "another"), aPool(other), named("c", "class"))
	var got []string
	for _, r := range poolsOfClass(w, classKind())(t.Context(), aClass(metav1.ConditionTrue)) {
		got = append(got, r.Name)
	}
	if len(got) != 2 || got[0] != "a" || got[1] != "c" {
		t.Errorf("pools are %v, want a and c", got)
	}
}

// A conflict is not an error. If the NodePool read again is the same, it is reconciled again, with the delay of the rate limiter.
func TestConflict(t *testing.T) {
	w := newWorld(t, aPool())
	stale := &stalePool{Client: w}
	w.must(w.Get(t.Context(), types.NamespacedName{Name: "default"}, &stale.pool))
	fresh := w.pool()
	fresh.Labels = map[string]string{"a": "b"}
	w.must(w.Update(t.Context(), fresh))
	result, err := (&Readiness{Client: stale, Clock: w.clock, Cloud: onlyFacts{}}).Reconcile(
		t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "default"}})
	//lint:ignore SA1019 see written
	if err != nil || !result.Requeue {
		t.Errorf("result %v, error %v", result, err)
	}
}

// A NodePool that is outdated in the cache is read from the API server after a conflict. What is written is computed from it.
func TestConflictReadsLive(t *testing.T) {
	w := newWorld(t, aPool(), aClass(metav1.ConditionTrue))
	stale := &stalePool{Client: w}
	w.must(w.Get(t.Context(), types.NamespacedName{Name: "default"}, &stale.pool))
	fresh := w.pool()
	fresh.Generation, fresh.Spec.Template.Spec.NodeClassRef.Name = 2, "missing"
	w.must(w.Update(t.Context(), fresh))
	result, err := (&Readiness{Client: stale, Live: w, Clock: w.clock, Cloud: onlyFacts{}}).Reconcile(
		t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "default"}})
	if err != nil || !result.IsZero() {
		t.Errorf("result %v, error %v", result, err)
	}
	c := condition.Get(w.pool(), apiv1.ConditionTypeNodeClassReady)
	if c == nil || c.Reason != apiv1.ReasonNodeClassNotFound || c.ObservedGeneration != 2 {
		t.Errorf("condition is %+v, want that of the missing class for generation 2", c)
	}
}

// stalePool is a client with an outdated cache.
type stalePool struct {
	client.Client
	pool apiv1.NodePool
}

func (s *stalePool) Get(
	ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption,
) error {
	if pool, ok := o.(*apiv1.NodePool); ok {
		s.pool.DeepCopyInto(pool)
		return nil
	}
	return s.Client.Get(ctx, key, o, opts...)
}

func aNode(name, id string, capacity corev1.ResourceList, labels map[string]string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{apiv1.NodePoolLabelKey: "default"},
	}}
	for k, v := range labels {
		n.Labels[k] = v
	}
	n.Spec.ProviderID = id
	n.Status.Capacity = capacity
	return n
}
