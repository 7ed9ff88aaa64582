package disrupt_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

// A launch of a static NodePool has the mark that minValues is relaxed if the available types have too few values and the policy
// is BestEffort. It lists more types than MaxTypes only if minValues needs them.
func TestStaticMinValues(t *testing.T) {
	for _, tt := range []struct {
		name             string
		minValues        int
		relax            bool
		launches, listed int
		relaxed          bool
	}{
		{"met by MaxTypes", 1, false, 1, 1, false},
		{"met by all types", 2, false, 1, 2, false},
		{"not met", 3, false, 0, 0, false},
		{"met, BestEffort", 2, true, 1, 2, false},
		{"not met, BestEffort", 3, true, 1, 1, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &scenario.Cluster{
				Pools: []scenario.Pool{{Name: "fixed", Replicas: new(int64(1)), Requirements: []apiv1.NodeSelectorRequirementWithMinValues{{
					Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpExists, MinValues: &tt.minValues,
				}}}},
				Types: []scenario.Type{
					{Name: "m.large", CPU: "2", Memory: "8Gi", Price: 0.1}, {Name: "m.xlarge", CPU: "4", Memory: "16Gi", Price: 0.2},
				},
			}
			s, err := c.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			o := disrupt.Options{Static: true}
			o.Pack.MaxTypes, o.Pack.RelaxMinValues = 1, tt.relax
			d := disrupt.Decide(s, o, disrupt.Cursor{})
			if len(d.Launches) != tt.launches {
				t.Fatalf("%d launches, want %d", len(d.Launches), tt.launches)
			}
			for _, n := range d.Launches {
				if len(n.Options) != tt.listed || n.MinValuesRelaxed != tt.relaxed {
					t.Errorf("%d types, relaxed %v, want %d and %v", len(n.Options), n.MinValuesRelaxed, tt.listed, tt.relaxed)
				}
			}
		})
	}
}
