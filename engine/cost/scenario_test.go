package cost_test

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/cost"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

// TestScenarios allocates the price of the nodes of each file of testdata/scenario, with the causes of a decision of disruption.
func TestScenarios(t *testing.T) {
	scenario.Run(t, func(t *testing.T, c *scenario.Cluster, _ *txtar.Archive) string {
		s, err := c.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		d := disrupt.Decide(s, disrupt.Options{Pack: pack.Options{Labels: apiv1.CoreLabels()}}, disrupt.Cursor{})
		a := cost.Allocate(cost.Input{Snapshot: s, Causes: cost.CausesOf(d.Blocked, d.Commands), Label: "team"})
		var b strings.Builder
		for _, p := range a.Parts {
			words := []string{string(p.Key.Kind), p.Key.Pool, p.Key.CapacityType, p.Key.Zone, p.Key.Namespace, p.Key.Owner, p.Key.Label, string(p.Key.Cause)}
			fmt.Fprintf(&b, "%9.6f %s\n", p.Rate.Dollars(), strings.Join(strings.Fields(strings.Join(words, " ")), " "))
		}
		fmt.Fprintf(&b, "%9.6f total of %d nodes", a.Total.Dollars(), a.Nodes)
		if a.Unpriced > 0 {
			fmt.Fprintf(&b, ", %d without a price", a.Unpriced)
		}
		return b.String() + "\n"
	})
}
