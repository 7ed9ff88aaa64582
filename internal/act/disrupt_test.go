package act

import (
	"context"
	"errors"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/karpenter-go/karpenter/api"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

func doomed(name, typeName string) *model.Node {
	return &model.Node{
		Name: name, Claim: &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name + "-claim"}},
		Labels: map[string]string{corev1.LabelInstanceTypeStable: typeName, apiv1.CapacityTypeLabelKey: "spot"},
	}
}

// Replacements say what they replace.
func TestReplace(t *testing.T) {
	c := fake.NewClientBuilder().WithScheme(api.Scheme()).Build()
	a := &Actor{Client: c, Labels: apiv1.CoreLabels()}
	launches, err := a.Replace(t.Context(), &model.Command{
		Nodes: []*model.Node{doomed("n1", "b.large"), doomed("n2", "a.large")}, Replacements: []model.PlannedNode{plannedNode()},
	})
	if err != nil || len(launches) != 1 {
		t.Fatalf("%d launches, %v", len(launches), err)
	}
	got := launches[0].Claim.Annotations
	if got[apiv1.ReplacesAnnotationKey] != "n1-claim,n2-claim" ||
		got[apiv1.ReplacedTypesAnnotationKey] != "a.large/spot,b.large/spot" || got["owner"] != "us" {
		t.Errorf("annotations are %v", got)
	}
}

// If one of several replacements cannot be created none is kept.
func TestReplaceAllOrNone(t *testing.T) {
	var mu sync.Mutex // guards created: claims are created side by side
	created := 0
	c := fake.NewClientBuilder().WithScheme(api.Scheme()).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			mu.Lock()
			created++
			fails := created == 2
			mu.Unlock()
			if fails {
				return errors.New("quota exceeded")
			}
			o.SetFinalizers(nil) // so that it is gone once it is deleted
			return c.Create(ctx, o, opts...)
		},
	}).Build()
	a := &Actor{Client: c, Labels: apiv1.CoreLabels()}
	replacements := []model.PlannedNode{plannedNode(), plannedNode(), plannedNode()}
	limited := &model.Command{Nodes: []*model.Node{doomed("n1", "a.large")}, Replacements: replacements}
	if launches, err := a.Replace(t.Context(), limited); err == nil || len(launches) != 0 {
		t.Fatalf("%d launches, %v", len(launches), err)
	}
	var left apiv1.NodeClaimList
	if err := c.List(t.Context(), &left); err != nil || len(left.Items) != 0 {
		t.Errorf("%d claims are left, %v", len(left.Items), err)
	}
}
