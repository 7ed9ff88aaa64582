package pack_test

import (
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
	"k8s.io/apimachinery/pkg/util/sets"
	"sigs.k8s.io/yaml"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/engine/verify"
)

// labels are the label rules of an invented cloud.
var labels = apiv1.CoreLabels().With(apiv1.LabelRules{
	WellKnown: sets.New("family", "generation"),
})

// TestScenarios plans the scenarios of testdata/scenario. A section options.yaml may set Options. verify accepts every
// plan.
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
		o.Labels, o.DefaultSpread = labels, defaultsOf(c)
		plan := pack.Solve(s, o)
		for _, v := range (verify.Rules{Labels: o.Labels, DefaultSpread: o.DefaultSpread}).Plan(s, plan) {
			t.Errorf("the plan is not accepted: %s", v)
		}
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
