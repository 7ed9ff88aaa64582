package v1alpha1_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	overlayv1alpha1 "github.com/karpenter-go/karpenter/api/v1alpha1"
)

func TestValidate(t *testing.T) {
	good := overlayv1alpha1.NodeOverlay{Spec: overlayv1alpha1.NodeOverlaySpec{
		Requirements: []overlayv1alpha1.NodeSelectorRequirement{
			{Key: apiv1.NodePoolLabelKey, Operator: "In", Values: []string{"a"}},
			{Key: "team", Operator: "Exists"},
		},
		Price:    ptr.To("0.25"),
		Capacity: corev1.ResourceList{"example.com/fpga": resource.MustParse("1")},
	}}
	if err := good.Validate(apiv1.CoreLabels()); err != nil {
		t.Errorf("good overlay refused: %v", err)
	}
	for _, test := range []struct {
		name   string
		change func(*overlayv1alpha1.NodeOverlaySpec)
		want   string
	}{
		{"requirement", func(s *overlayv1alpha1.NodeOverlaySpec) { s.Requirements[1].Operator = "In" },
			"spec.requirements[1]: operator In of key team needs at least one value"},
		{"NotIn nothing", func(s *overlayv1alpha1.NodeOverlaySpec) { s.Requirements[1].Operator = "NotIn" },
			"spec.requirements[1]: operator NotIn of key team needs at least one value"},
		{"restricted key", func(s *overlayv1alpha1.NodeOverlaySpec) { s.Requirements[1].Key = "karpenter.sh/x" },
			"karpenter.sh/x is restricted"},
		{"both prices", func(s *overlayv1alpha1.NodeOverlaySpec) { s.PriceAdjustment = ptr.To("+1") },
			"spec: set only one of price and priceAdjustment"},
		{"price", func(s *overlayv1alpha1.NodeOverlaySpec) { s.Price = ptr.To("-1") }, `spec.price: "-1" is no price`},
		{"huge price", func(s *overlayv1alpha1.NodeOverlaySpec) { s.Price = ptr.To("1000000000.01") },
			`spec.price: "1000000000.01" is no price: use a number from 0 to 1000000000`},
		{"price that is no number", func(s *overlayv1alpha1.NodeOverlaySpec) { s.Price = ptr.To("NaN") }, `spec.price: "NaN" is no price`},
		{"huge adjustment", func(s *overlayv1alpha1.NodeOverlaySpec) { s.Price, s.PriceAdjustment = nil, ptr.To("+1000000001") },
			`spec.priceAdjustment: "+1000000001" is no amount such as +0.05`},
		{"huge part", func(s *overlayv1alpha1.NodeOverlaySpec) {
			s.Price, s.PriceAdjustment = nil, ptr.To("+99999999999999999999%")
		},
			`spec.priceAdjustment: "+99999999999999999999%" is no amount`},
		{"cpu", func(s *overlayv1alpha1.NodeOverlaySpec) { s.Capacity["cpu"] = resource.MustParse("1") },
			"spec.capacity[cpu]: only extended resources may be added"},
	} {
		t.Run(test.name, func(t *testing.T) {
			overlay := good.DeepCopy()
			test.change(&overlay.Spec)
			if err := overlay.Validate(apiv1.CoreLabels()); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q in it", err, test.want)
			}
		})
	}
}
