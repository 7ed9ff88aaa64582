package pack_test

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"sigs.k8s.io/yaml"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

// labels are the label facts of a made-up cloud.
var labels = apiv1.LabelRules{
	WellKnown: map[string]bool{
		"karpenter.sh/nodepool": true, "karpenter.sh/capacity-type": true,
		"topology.kubernetes.io/zone": true, "node.kubernetes.io/instance-type": true,
		"kubernetes.io/arch": true, "kubernetes.io/os": true, "family": true, "generation": true,
	},
	Aliases: map[string]string{"beta.kubernetes.io/arch": "kubernetes.io/arch"},
}

// TestScenarios runs pack over testdata/scenario. A section options.yaml may set Options.
func TestScenarios(t *testing.T) {
	scenario.Run(t, func(t *testing.T, c *scenario.Cluster, ar *txtar.Archive) string {
		s, err := c.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		o := pack.Options{}
		for _, f := range ar.Files {
			if f.Name == "options.yaml" {
				if err := yaml.UnmarshalStrict(f.Data, &o); err != nil {
					t.Fatal(err)
				}
			}
		}
		o.Labels = labels
		plan := pack.Solve(s, o)
		var b strings.Builder
		b.WriteString(plan.String())
		for i := range plan.Nodes {
			if len(plan.Nodes[i].Options) < 6 {
				b.WriteString("  options:")
				for _, t := range plan.Nodes[i].Options {
					b.WriteString(" " + t.Name)
				}
				b.WriteString("\n")
			}
		}
		return b.String()
	})
}
