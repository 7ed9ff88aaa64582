package pack_test

import (
	"testing"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

// A node is launched in a capacity reservation only if it was planned there. Otherwise the cloud would launch other nodes in the
// reservation, because it is cheapest, and refuse those that were planned for it.
func TestReservationsAreLeftToTheirNodes(t *testing.T) {
	c := scenario.Cluster{
		Pools: []scenario.Pool{{Name: "default"}},
		Pods:  []scenario.Pod{{Name: "web", Count: 3, CPU: "1500m"}},
		Types: []scenario.Type{{Name: "m.large", CPU: "2", Memory: "8Gi", Price: 0.1, Reserved: 2}},
	}
	s, err := c.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	plan := pack.Solve(s, pack.Options{})
	if len(plan.Nodes) != 3 {
		t.Fatalf("%d nodes are planned, want 3", len(plan.Nodes))
	}
	for i := range plan.Nodes {
		n := &plan.Nodes[i]
		r, _ := n.Requirements.Get(apiv1.CapacityTypeLabelKey)
		if reserved := n.Offering.ReservationID != ""; r.Has(apiv1.CapacityTypeReserved) != reserved || r.Has(apiv1.CapacityTypeSpot) && reserved {
			t.Errorf("a node that is planned as %s may be launched with %s", n.Offering.CapacityType, r)
		}
	}
}
