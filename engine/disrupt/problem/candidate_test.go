package problem

import (
	"math"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

func TestEvictionCost(t *testing.T) {
	const own, kubernetes, written = apiv1.DisruptionCostAnnotationKey, corev1.PodDeletionCost, apiv1.WrittenDeletionCostAnnotationKey
	for _, tt := range []struct {
		name        string
		annotations map[string]string
		priority    int32
		ignore      bool
		want        float64
	}{
		{"ordinary", nil, 0, false, 1},
		{"priority", nil, 1 << 25, false, 2},
		{"own annotation", map[string]string{own: "134217728"}, 0, false, 2},
		{"own annotation replaces the other", map[string]string{own: "134217728", kubernetes: "-134217728"}, 0, false, 2},
		{"own annotation that is no number does too", map[string]string{own: "1.5", kubernetes: "134217728"}, 0, false, 1},
		{"more than an int32", map[string]string{own: "2147483648"}, 0, false, 1},
		{"deletion cost", map[string]string{kubernetes: "134217728"}, 0, false, 2},
		{"deletion cost is ignored", map[string]string{kubernetes: "134217728"}, 0, true, 1},
		{"own annotation is not ignored", map[string]string{own: "134217728"}, 0, true, 2},
		{"deletion cost that Karpenter has written", map[string]string{kubernetes: "-134217728", written: "-134217728"}, 0, false, 1},
		{"deletion cost that the user has changed", map[string]string{kubernetes: "134217728", written: "-134217728"}, 0, false, 2},
		{"bounded above", map[string]string{own: "2147483647"}, math.MaxInt32, false, 10},
		{"bounded below", map[string]string{own: "-2147483648"}, 0, false, -10},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Annotations: tt.annotations}}
			o.Spec.Priority = &tt.priority
			if got := EvictionCost(model.NewPod(o), tt.ignore); got != tt.want {
				t.Errorf("EvictionCost is %v, want %v", got, tt.want)
			}
		})
	}
}
