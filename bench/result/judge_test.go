package result

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/karpenter-go/karpenter/bench/workload"
	"github.com/karpenter-go/karpenter/internal/catalogue"
)

func TestJudge(t *testing.T) {
	c := &workload.Cluster{
		Pods:    workload.Pods(workload.Large, 3, 1),
		Daemons: workload.Daemons(),
		Catalogue: []catalogue.Type{
			{Name: "small", Allocatable: amounts(8, 8), Offerings: []catalogue.Offering{{Zone: "a", CapacityType: "on-demand", Price: 1}}},
			{Name: "big", Allocatable: amounts(400, 4000), Offerings: []catalogue.Offering{
				{Zone: "a", CapacityType: "on-demand", Price: 10}, {Zone: "b", CapacityType: "on-demand", Price: 9},
				{Zone: "b", CapacityType: "spot", Price: 3},
			}},
		},
	}
	judge, err := NewJudge(c)
	if err != nil {
		t.Fatal(err)
	}
	node := func(pods ...string) Node {
		return Node{Options: []string{"small", "big"}, Zones: []string{"a"}, CapacityTypes: []string{"on-demand"}, Pods: pods}
	}
	inB, onSpot := node("default/p0", "default/p1", "default/p2"), node("default/p0", "default/p1", "default/p2")
	inB.Zones = []string{"a", "b"}
	onSpot.Zones, onSpot.CapacityTypes = inB.Zones, []string{"on-demand", "spot"}
	crowded := node("default/p0", "default/p1", "default/p2")
	crowded.Options = []string{"small"}
	for _, tt := range []struct {
		name  string
		run   Run
		price float64
		fault string
	}{
		{"all on one", Run{Nodes: []Node{node("default/p0", "default/p1", "default/p2")}}, 10, ""},
		{"the cheaper zone", Run{Nodes: []Node{inB}}, 9, ""},
		{"the cheaper way to buy", Run{Nodes: []Node{onSpot}}, 3, ""},
		{"refused", Run{Nodes: []Node{node("default/p0")}, Unplaced: []string{"default/p1", "default/p2"}}, 10, ""},
		{"one is missing", Run{Nodes: []Node{node("default/p0", "default/p1")}}, 10, "1 of 3 pods are neither"},
		{"twice", Run{Nodes: []Node{inB}, Unplaced: []string{"default/p1"}}, 9, "default/p1 is planned twice"},
		{"a stranger", Run{Nodes: []Node{inB}, Unplaced: []string{"default/x"}}, 9, "default/x was not pending"},
		{"too much", Run{Nodes: []Node{crowded}}, math.Inf(1), "none of its 1 options holds its 3 pods"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := judge.Score(&tt.run)
			if s.Price != tt.price {
				t.Errorf("price %v, want %v", s.Price, tt.price)
			}
			if got := fmt.Sprint(err); tt.fault == "" && err != nil || !strings.Contains(got, tt.fault) && tt.fault != "" {
				t.Errorf("fault %q, want %q", got, tt.fault)
			}
		})
	}
}

func amounts(cores, gib int) map[string]string {
	return map[string]string{"cpu": fmt.Sprint(cores), "memory": fmt.Sprintf("%dGi", gib), "pods": "100"}
}
