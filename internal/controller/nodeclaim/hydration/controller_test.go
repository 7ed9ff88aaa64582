package hydration

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/karpenter-go/karpenter/internal/controller/nodeclaim/internal/world"
)

func TestHydration(t *testing.T) {
	ours, others, bare := world.Claim("ours"), world.Claim("others"), world.Claim("bare")
	others.Spec.NodeClassRef.Kind = "Other"
	bare.Labels = nil
	w := world.New(t, ours, others, bare)
	c := &Controller{Client: w.Client, Cloud: w.Cloud}
	for _, name := range []string{"ours", "others", "bare", "gone"} {
		for range 2 {
			if _, err := c.Reconcile(t.Context(), ctrl.Request{NamespacedName: types.NamespacedName{Name: name}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, want := range map[string]string{"ours": "default", "others": "", "bare": "default"} {
		if got := w.GetClaim(name).Labels["fake.example.com/fakenodeclass"]; got != want {
			t.Errorf("claim %s has class label %q, want %q", name, got, want)
		}
	}
	if got := len(w.GetClaim("ours").Labels); got != 2 {
		t.Errorf("claim ours has %d labels, want its own and the new one", got)
	}
}
