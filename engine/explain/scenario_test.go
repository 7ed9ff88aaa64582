package explain_test

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/explain"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

// TestScenarios explains the plan for each file of testdata/scenario: refusals first, then nodes.
func TestScenarios(t *testing.T) {
	scenario.Run(t, func(t *testing.T, c *scenario.Cluster, _ *txtar.Archive) string {
		s, err := c.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		labels := apiv1.CoreLabels()
		p := pack.Solve(s, pack.Options{Labels: labels})
		e := explain.New(s, labels)
		var b strings.Builder
		for _, r := range p.Refusals {
			fmt.Fprintf(&b, "%s\n", keys(r.Pods))
			for _, f := range e.Refusal(r) {
				where := ""
				if f.Pool != "" {
					where = f.Pool + ": "
				}
				for _, o := range f.Obstacles {
					fmt.Fprintf(&b, "  %s%s\n    %s\n", where, o.Why, o.Advice())
				}
			}
		}
		for i := range p.Nodes {
			fmt.Fprintf(&b, "node for %s\n", keys(p.Nodes[i].Pods))
			for _, line := range e.Node(&p.Nodes[i]) {
				fmt.Fprintf(&b, "  %s\n", line)
			}
		}
		return b.String()
	})
}

func keys(pods []*model.Pod) string {
	names := make([]string, len(pods))
	for i, p := range pods {
		names[i] = p.Key
	}
	return strings.Join(names, ", ")
}
