package view_test

import (
	"testing"
	"time"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/internal/dashboard/view"
	"github.com/karpenter-go/karpenter/internal/decisions"
)

// A node whose commitment covers another node as soon as it is gone changes the price of that one, although nothing else about it
// has changed.
func TestPricesFollowCommitments(t *testing.T) {
	c := scenario.Cluster{
		Pools: []scenario.Pool{{Name: "default"}}, Types: []scenario.Type{{Name: "small", CPU: "2", Memory: "8Gi", Price: 0.1}},
		Commitments: []scenario.Commitment{{Name: "plan", Units: 1, Use: map[string]int64{"small": 1}}},
		Nodes:       []scenario.Node{{Name: "a", Pool: "default", Type: "small"}, {Name: "b", Pool: "default", Type: "small"}},
	}
	both, err := c.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	a, _ := both.NodeByName("a")
	one := both.Apply(model.Delta{Gone: []model.Ref{{Kind: model.KindNode, Key: a.Object.Name}, {Kind: model.KindClaim, Key: a.Claim.Name}}})
	var f view.Fleeter
	for _, step := range []struct {
		s    *model.Snapshot
		want float64
	}{{both, 0.1}, {one, 0}, {both, 0.1}} {
		f.Update(step.s, view.PricesOf(step.s, time.Time{}), decisions.Outcome{})
		if got := f.Strip(); got.DollarsPerHour == nil || *got.DollarsPerHour != step.want || *got.ListPerHour != 0.1*float64(got.Nodes) {
			t.Errorf("%d nodes: %v of the list price %v, want %v", got.Nodes, *got.DollarsPerHour, *got.ListPerHour, step.want)
		}
	}
}
