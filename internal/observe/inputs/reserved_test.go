package inputs

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

// A NodeClaim that must be launched in a reservation takes one of its instances before the cloud counts it. Others do not: one that
// may be launched elsewhere, one that is launched, and one that is being deleted.
func TestLessReserved(t *testing.T) {
	c := scenario.Cluster{
		Pools: []scenario.Pool{{Name: "default"}},
		Types: []scenario.Type{{Name: "m.large", CPU: "2", Memory: "8Gi", Price: 0.1, Reserved: 3}},
	}
	s, err := c.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	if lessReserved(s) != s {
		t.Error("the snapshot changes without NodeClaims")
	}
	claim := func(name string, edit func(*apiv1.NodeClaim), capacityTypes ...string) *apiv1.NodeClaim {
		o := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{apiv1.NodePoolLabelKey: "default"}}}
		o.Spec.Requirements = []apiv1.NodeSelectorRequirementWithMinValues{
			{Key: apiv1.CapacityTypeLabelKey, Operator: corev1.NodeSelectorOpIn, Values: capacityTypes},
		}
		if edit != nil {
			edit(o)
		}
		return o
	}
	s = s.Apply(model.Delta{Claims: []*apiv1.NodeClaim{
		claim("waits", nil, apiv1.CapacityTypeReserved),
		claim("anywhere", nil, apiv1.CapacityTypeReserved, apiv1.CapacityTypeSpot),
		claim("runs", func(o *apiv1.NodeClaim) { o.Status.ProviderID = "sim:///1" }, apiv1.CapacityTypeReserved),
		claim("goes", func(o *apiv1.NodeClaim) { o.DeletionTimestamp = new(metav1.Now()) }, apiv1.CapacityTypeReserved),
	}})
	for _, o := range lessReserved(s).Types("default")[0].Offerings {
		if want := 2; o.ReservationID != "" && o.ReservationCapacity != want {
			t.Errorf("%d instances are left, want %d", o.ReservationCapacity, want)
		}
	}
	if o := s.Types("default")[0].Offerings; o[0].ReservationCapacity+o[len(o)-1].ReservationCapacity != 3 {
		t.Errorf("the original snapshot has changed: %+v", o)
	}
}
