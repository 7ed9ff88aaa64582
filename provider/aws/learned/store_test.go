package learned

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/karpenter-go/karpenter/api"
	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

func newKube(t *testing.T, objects ...client.Object) client.Client {
	t.Helper()
	scheme := api.Scheme()
	if err := corev1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build()
}

func newStore(kube client.Client, clock *clocktesting.FakeClock) *Store {
	return New(Config{
		Client: kube, Reader: kube, Clock: clock, Namespace: "karpenter", Metrics: prometheus.NewRegistry(),
		Expected: func(instanceType string) (int64, bool) { return 900, instanceType == "m5.large" },
	})
}

func want(t *testing.T, s *Store, instanceType, image string, bytes int64) {
	t.Helper()
	if got, ok := s.Memory(instanceType, image); got != bytes || ok != (bytes > 0) {
		t.Errorf("%s with %s has %d, %v; want %d", instanceType, image, got, ok, bytes)
	}
}

// A report of less than half of the type's memory is ignored, also if it was stored.
func TestImplausibleMemory(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	stored := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "karpenter", Name: MapName}}
	stored.Data = map[string]string{mapKey: `{"m5.large":{"ami-1":{"bytes":1}},"x9.large":{"ami-1":{"bytes":2}}}`}
	s := newStore(newKube(t, stored), clock)
	if err := s.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, s, "m5.large", "ami-1", 0)
	want(t, s, "x9.large", "ami-1", 2) // a type that is not known
	for _, v := range []int64{0, 1, 449} {
		s.Learn("m5.large", "ami-1", v)
	}
	want(t, s, "m5.large", "ami-1", 0)
	if n := testutil.ToFloat64(s.ignored.WithLabelValues("m5.large")); n != 3 {
		t.Errorf("%v reports counted as ignored, want 3", n)
	}
	s.Learn("m5.large", "ami-1", 450)
	want(t, s, "m5.large", "ami-1", 450)
}

// The observations survive a restart: the least memory of each type and image.
func TestStore(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	kube := newKube(t)
	s := newStore(kube, clock)
	want(t, s, "m5.large", "ami-1", 0)
	for _, v := range []int64{800, 790, 795, 0} {
		s.Learn("m5.large", "ami-1", v)
	}
	s.Learn("m5.large", "ami-2", 810)
	want(t, s, "m5.large", "ami-1", 790)
	want(t, s, "m5.large", "ami-2", 810)
	want(t, s, "m5.large", "ami-new", 790)
	want(t, s, "m5.xlarge", "ami-1", 0)
	before := s.Revision()
	s.Learn("m5.large", "ami-1", 790)
	if s.Revision() != before {
		t.Error("nothing new, another revision")
	}
	if err := s.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}

	next := newStore(kube, clock)
	next.Learn("m5.large", "ami-1", 780) // before the ConfigMap was read
	next.Learn("c5.large", "ami-1", 300)
	if err := next.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, next, "m5.large", "ami-1", 780)
	want(t, next, "m5.large", "ami-2", 810)
	var stored corev1.ConfigMap
	if err := kube.Get(t.Context(), client.ObjectKey{Namespace: "karpenter", Name: MapName}, &stored); err != nil {
		t.Fatal(err)
	}
	version := stored.ResourceVersion
	if err := next.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := kube.Get(t.Context(), client.ObjectKeyFromObject(&stored), &stored); err != nil || stored.ResourceVersion != version {
		t.Errorf("written again although nothing is new: %v", err)
	}
	for n := range 2 * imagesKept {
		clock.Step(time.Hour)
		next.Learn("m5.large", fmt.Sprint("ami-later-", n), 805)
	}
	want(t, next, "m5.large", "ami-1", 805) // the image is no longer stored, so the least value of the others applies
}

// A ConfigMap with invalid content is replaced.
func TestSpoilt(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Unix(0, 0))
	spoilt := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "karpenter", Name: MapName}, Data: map[string]string{mapKey: "{"}}
	s := newStore(newKube(t, spoilt), clock)
	s.Learn("m5.large", "ami-1", 800)
	if err := s.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	again := newStore(s.Client, clock)
	if err := again.Sync(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, again, "m5.large", "ami-1", 800)
}

func TestLearner(t *testing.T) {
	claim := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: map[string]string{corev1.LabelInstanceTypeStable: "m5.large"}}}
	claim.Spec.NodeClassRef = &apiv1.NodeClassReference{Group: awsv1.Group, Kind: "EC2NodeClass", Name: "default"}
	claim.Status.ImageID, claim.Status.NodeName = "ami-1", "n"
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
	node.Status.Capacity = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("7800Mi")}
	kube := newKube(t, claim, node)
	l := &Learner{Client: kube, Store: newStore(kube, clocktesting.NewFakeClock(time.Unix(0, 0)))}
	reconcile := func() {
		t.Helper()
		if _, err := l.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: "a"}}); err != nil {
			t.Fatal(err)
		}
	}
	reconcile()
	want(t, l.Store, "m5.large", "ami-1", 0) // the node has not registered yet
	condition.SetTrue(claim, apiv1.ConditionTypeRegistered, time.Unix(0, 0))
	if err := kube.Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	reconcile()
	want(t, l.Store, "m5.large", "ami-1", 7800<<20)
}

// If the controller may not write ConfigMaps, observations are used nevertheless, and there is no error.
func TestForbidden(t *testing.T) {
	refuse := interceptor.Funcs{Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, key.Name, errors.New("no"))
	}}
	kube := fake.NewClientBuilder().WithInterceptorFuncs(refuse).Build()
	s := newStore(kube, clocktesting.NewFakeClock(time.Unix(0, 0)))
	s.Learn("m5.large", "ami-1", 800)
	for range 2 {
		if err := s.Sync(t.Context()); err != nil {
			t.Error(err)
		}
	}
	want(t, s, "m5.large", "ami-1", 800)
}
