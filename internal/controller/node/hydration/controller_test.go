package hydration

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/karpenter-go/karpenter/api"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/controller/internal/fakecloud"
)

func TestHydration(t *testing.T) {
	node := func(name string, registered bool) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{}}}
		n.Spec.ProviderID = "fake:///" + name
		if registered {
			n.Labels[apiv1.NodeRegisteredLabelKey] = "true"
		}
		return n
	}
	claim := func(of, class string) *apiv1.NodeClaim {
		c := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: of + "-claim"}}
		c.Spec.NodeClassRef = fakecloud.Ref(class)
		c.Status.ProviderID = "fake:///" + of
		return c
	}
	foreign := claim("foreign", "x")
	foreign.Spec.NodeClassRef.Kind = "Other"
	scheme := api.Scheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	kube := fake.NewClientBuilder().WithScheme(scheme).
		WithObjects(node("old", true), node("young", false), node("foreign", true), node("alone", true),
			claim("old", "default"), claim("young", "default"), foreign).
		WithIndex(&apiv1.NodeClaim{}, "status.providerID", func(o client.Object) []string {
			return []string{o.(*apiv1.NodeClaim).Status.ProviderID}
		}).Build()
	c := &Controller{Client: kube, Cloud: &fakecloud.Cloud{}}
	for name, want := range map[string]string{"old": "default", "young": "", "foreign": "", "alone": "", "gone": ""} {
		for range 2 {
			if _, err := c.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: name}}); err != nil {
				t.Fatal(err)
			}
		}
		var got corev1.Node
		if err := kube.Get(t.Context(), client.ObjectKey{Name: name}, &got); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		if label := got.Labels["fake.example.com/fakenodeclass"]; label != want {
			t.Errorf("node %s has class label %q, want %q", name, label, want)
		}
	}
}
