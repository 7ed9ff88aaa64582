package disrupt_test

import (
	"testing"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

// A marked node that is not consolidatable any more, because its last pods ended just before the decision, is kept. A node whose
// replacements were launched is not: the end of its pods is no reason to give these up.
func TestRevalidateWaitsForConsolidateAfter(t *testing.T) {
	for name, tt := range map[string]struct {
		conditions  []string
		annotations map[string]string
		rule        model.Rule
	}{
		"consolidatable":    {conditions: []string{"DisruptionReason/Empty", "Consolidatable"}},
		"empty, not yet":    {conditions: []string{"DisruptionReason/Empty"}, rule: model.RuleRecent},
		"underutilized":     {conditions: []string{"DisruptionReason/Underutilized"}, rule: model.RuleRecent},
		"drifted":           {conditions: []string{"DisruptionReason/Drifted"}},
		"with replacements": {conditions: []string{"DisruptionReason/Underutilized"}, annotations: map[string]string{apiv1.ReplacedByAnnotationKey: "new"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := scenario.Cluster{
				Pools: []scenario.Pool{{Name: "default"}}, Types: []scenario.Type{{Name: "m.large", CPU: "2", Memory: "8Gi", Price: 0.1}},
				Nodes: []scenario.Node{{Name: "n1", Pool: "default", Type: "m.large", Conditions: tt.conditions}},
			}
			s, err := c.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			n, _ := s.NodeByName("n1")
			claim := n.Claim.DeepCopy()
			claim.Annotations = tt.annotations
			s = s.Apply(model.Delta{Claims: []*apiv1.NodeClaim{claim}})
			n, _ = s.NodeByName("n1")
			if got := disrupt.Revalidate(s, []*model.Node{n}, pack.Options{})["n1"]; got.Rule != tt.rule {
				t.Errorf("verdict %v, want rule %v", got, tt.rule)
			}
		})
	}
}
