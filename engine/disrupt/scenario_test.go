package disrupt_test

import (
	"testing"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/engine/verify"
)

// TestScenarios runs Decide over testdata/scenario. A section options.yaml holds what differs from the zero Options. All
// commands are checked against the objects.
func TestScenarios(t *testing.T) {
	scenario.Run(t, func(t *testing.T, c *scenario.Cluster, ar *txtar.Archive) string {
		s, err := c.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		var o disrupt.Options
		for _, f := range ar.Files {
			if f.Name == "options.yaml" {
				if err := yaml.UnmarshalStrict(f.Data, &o); err != nil {
					t.Fatal(err)
				}
			}
		}
		o.Pack.Labels = apiv1.CoreLabels()
		d := disrupt.Decide(s, o, disrupt.Cursor{})
		for _, v := range verify.Commands(s, d.Commands, o.Pack.Labels) {
			t.Errorf("refused: %s", v)
		}
		return d.String()
	})
}
