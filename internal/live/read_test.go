package live

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	overlayv1alpha1 "github.com/karpenter-go/karpenter/api/v1alpha1"
	"github.com/karpenter-go/karpenter/engine/model"
)

var noon = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// reader returns a reader of a cluster with a pending pod. Listing overlays fails with err.
func reader(t *testing.T, err error) client.Reader {
	t.Helper()
	scheme, bad := Scheme()
	if bad != nil {
		t.Fatal(bad)
	}
	named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name, UID: "u"} }
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "web"}}
	pod.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
	}}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		pod, &corev1.Node{ObjectMeta: named("n1")}, &apiv1.NodePool{ObjectMeta: named("default")},
		&awsv1.EC2NodeClass{ObjectMeta: named("default")},
	).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, o ...client.ListOption) error {
			if _, ok := list.(*overlayv1alpha1.NodeOverlayList); ok && err != nil {
				return err
			}
			return c.List(ctx, list, o...)
		},
	}).Build()
}

func TestRead(t *testing.T) {
	for name, err := range map[string]error{"all kinds": nil, "a kind is not installed": &meta.NoKindMatchError{}} {
		c, err := Read(t.Context(), reader(t, err), clocktesting.NewFakeClock(noon))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		pending := c.Snapshot.Pending()
		if len(pending) != 1 || pending[0].Key != "shop/web" || !c.Snapshot.Now.Equal(noon) {
			t.Errorf("%s: pending %v at %s", name, pending, c.Snapshot.Now)
		}
		if len(c.Pools) != 1 || len(c.Classes) != 1 || len(c.Nodes) != 1 || len(c.Snapshot.Pools()) != 1 {
			t.Errorf("%s: %d pools, %d classes, %d nodes", name, len(c.Pools), len(c.Classes), len(c.Nodes))
		}
	}
}

// If a list fails, Read returns an error, because a plan for a part of the cluster would be wrong.
func TestReadRefused(t *testing.T) {
	refused := errors.New("forbidden")
	if _, err := Read(t.Context(), reader(t, refused), clocktesting.NewFakeClock(noon)); !errors.Is(err, refused) {
		t.Errorf("error is %v", err)
	}
}

// Events returns only the events of the given object.
func TestEvents(t *testing.T) {
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	event := func(namespace, name, about string) *corev1.Event {
		return &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, InvolvedObject: corev1.ObjectReference{UID: types.UID(about)},
		}
	}
	kube := fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		event("shop", "ours", "web"), event("shop", "other", "db"), event("elsewhere", "same", "web"),
	).WithIndex(&corev1.Event{}, eventsOf, func(o client.Object) []string {
		return []string{string(o.(*corev1.Event).InvolvedObject.UID)}
	}).Build()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "web"}}
	found, err := Events(t.Context(), kube, pod)
	if err != nil || len(found) != 1 || found[0].Name != "ours" {
		t.Errorf("found %v, error %v", found, err)
	}
	refused := errors.New("forbidden")
	forbids := interceptor.NewClient(kube, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return refused },
	})
	if _, err := Events(t.Context(), forbids, pod); !errors.Is(err, refused) {
		t.Errorf("error is %v", err)
	}
}

// Default constraints get the selectors of the services of the cluster. If services cannot be listed, an error is returned.
func TestSpread(t *testing.T) {
	scheme, err := Scheme()
	if err != nil {
		t.Fatal(err)
	}
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"}}
	service.Spec.Selector = map[string]string{"app": "web"}
	constraints := []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: corev1.LabelHostname}}
	cluster := fake.NewClientBuilder().WithScheme(scheme).WithObjects(service).Build()
	of, err := Spread(t.Context(), cluster, constraints)
	if err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web-1", Namespace: "shop", Labels: map[string]string{"app": "web"}}}
	got := of(model.NewPod(pod))
	if len(got) != 1 || got[0].MaxSkew != 1 || got[0].LabelSelector.MatchLabels["app"] != "web" {
		t.Errorf("the pod is spread by %v", got)
	}
	pod.Namespace = "elsewhere"
	if got := of(model.NewPod(pod)); got != nil {
		t.Errorf("a pod that nothing selects is spread by %v", got)
	}
	refused := errors.New("forbidden")
	forbids := interceptor.NewClient(cluster, interceptor.Funcs{
		List: func(context.Context, client.WithWatch, client.ObjectList, ...client.ListOption) error { return refused },
	})
	if _, err := Spread(t.Context(), forbids, constraints); !errors.Is(err, refused) {
		t.Errorf("error is %v", err)
	}
}
