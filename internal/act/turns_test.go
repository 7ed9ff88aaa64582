package act

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/karpenter-go/karpenter/api"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/move"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Reserve and Open add and remove a taint. Afterwards the node is as before.
func TestReserveAndOpen(t *testing.T) {
	own := corev1.Taint{Key: "example.com/team", Effect: corev1.TaintEffectNoSchedule}
	n := &model.Node{
		Claim:  &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "c"}},
		Object: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Spec: corev1.NodeSpec{Taints: []corev1.Taint{own}}},
	}
	scheme := api.Scheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(n.Claim, n.Object).Build()
	a := &Actor{Client: c, Turns: true}
	look := func() (taints []corev1.Taint, from string) {
		t.Helper()
		if err := errors.Join(
			c.Get(t.Context(), client.ObjectKeyFromObject(n.Claim), n.Claim), c.Get(t.Context(), client.ObjectKeyFromObject(n.Object), n.Object),
		); err != nil {
			t.Fatal(err)
		}
		return n.Object.Spec.Taints, n.Claim.Annotations[apiv1.ReceivesPodsFromAnnotationKey]
	}
	look()
	destinations := []move.Destination{{Node: n, From: []string{"a", "b"}}}
	for range 2 { // a second call does no harm
		if written, err := a.Reserve(t.Context(), destinations); err != nil || len(written) != 2 {
			t.Fatalf("wrote %d objects: %v", len(written), err)
		}
		if taints, from := look(); len(taints) != 2 || taints[1] != apiv1.StagedMoveNoScheduleTaint() || from != "a,b" {
			t.Errorf("reserved: taints %v, takes from %q", taints, from)
		}
	}
	if written, err := a.Open(t.Context(), n); err != nil || len(written) != 2 {
		t.Fatalf("wrote %d objects: %v", len(written), err)
	}
	if taints, from := look(); len(taints) != 1 || taints[0] != own || from != "" {
		t.Errorf("opened: taints %v, takes from %q", taints, from)
	}
	a.Turns = false
	if written, err := a.Reserve(t.Context(), destinations); err != nil || len(written) > 0 {
		t.Errorf("switched off: wrote %v, %v", written, err)
	}
}
