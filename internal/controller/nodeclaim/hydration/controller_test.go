package hydration

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/controller/internal/world"
)

func TestHydration(t *testing.T) {
	ours, others, bare, young := world.Claim("ours"), world.Claim("others"), world.Claim("bare"), world.Claim("young")
	for _, claim := range []*apiv1.NodeClaim{ours, others, bare} {
		claim.Finalizers = []string{apiv1.TerminationFinalizer}
	}
	others.Spec.NodeClassRef.Kind = "Other"
	bare.Labels = nil
	w := world.New(t, ours, others, bare, young)
	c := &Controller{Client: w.Client, Cloud: w.Cloud}
	for _, name := range []string{"ours", "others", "bare", "young", "gone"} {
		for range 2 {
			if _, err := c.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: name}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, want := range map[string]string{"ours": "default", "others": "", "bare": "default", "young": ""} {
		if got := w.GetClaim(name).Labels["fake.example.com/fakenodeclass"]; got != want {
			t.Errorf("claim %s has class label %q, want %q", name, got, want)
		}
	}
	if got := len(w.GetClaim("ours").Labels); got != 2 {
		t.Errorf("claim ours has %d labels, want its own and the new one", got)
	}
}
