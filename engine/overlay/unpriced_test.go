package overlay_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	overlayv1alpha1 "github.com/karpenter-go/karpenter/api/v1alpha1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/overlay"
	"github.com/karpenter-go/karpenter/engine/require"
)

// An overlay with a price makes an offering available that is unavailable only because its price is not known. A price
// adjustment does not. An offering for which the cloud has no capacity stays unavailable.
func TestPriceMakesUnpricedAvailable(t *testing.T) {
	price, adjustment := "0.5", "+10%"
	for _, tt := range []struct {
		name string
		spec overlayv1alpha1.NodeOverlaySpec
		was  model.Offering
		want bool
	}{
		{"price", overlayv1alpha1.NodeOverlaySpec{Price: &price}, model.Offering{Unpriced: true}, true},
		{"adjustment", overlayv1alpha1.NodeOverlaySpec{PriceAdjustment: &adjustment}, model.Offering{Unpriced: true}, false},
		{"out of capacity", overlayv1alpha1.NodeOverlaySpec{Price: &price}, model.Offering{}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.was.Zone, tt.was.CapacityType = "a", apiv1.CapacityTypeOnDemand
			kind := &model.InstanceType{Name: "m.large", Offerings: []model.Offering{tt.was},
				Requirements: require.FromLabels(map[string]string{corev1.LabelInstanceTypeStable: "m.large"})}
			o := &overlayv1alpha1.NodeOverlay{ObjectMeta: metav1.ObjectMeta{Name: "o"}, Spec: tt.spec}
			o.Spec.Requirements = []overlayv1alpha1.NodeSelectorRequirement{
				{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpIn, Values: []string{"m.large"}},
			}
			pool := model.NewPool(&apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "p"}}, nil)
			r := overlay.Apply([]*overlayv1alpha1.NodeOverlay{o}, []overlay.Supply{{Pool: pool, Types: []*model.InstanceType{kind}}}, apiv1.CoreLabels())
			if f := r.Findings["o"]; f != nil {
				t.Fatal(f.Message)
			}
			after := r.Types["p"][0].Offerings[0]
			if after.Available != tt.want || after.Available && (after.Price != 0.5 || after.Unpriced) {
				t.Errorf("offering %+v, want available %v", after, tt.want)
			}
			if kind.Offerings[0].Available || kind.Offerings[0].Price != 0 {
				t.Error("the type before overlays changed")
			}
		})
	}
}
