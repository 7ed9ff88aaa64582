package disrupt_test

import (
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

// TestScenarios runs Decide over testdata/scenario.
func TestScenarios(t *testing.T) {
	scenario.Run(t, func(t *testing.T, c *scenario.Cluster, _ *txtar.Archive) string {
		s, err := c.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		return disrupt.Decide(s).String()
	})
}
