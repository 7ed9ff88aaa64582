package deletioncost_test

import (
	"fmt"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/karpenter-go/karpenter/engine/deletioncost"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

// TestScenarios runs Decide over testdata/scenario.
func TestScenarios(t *testing.T) {
	scenario.Run(t, func(t *testing.T, c *scenario.Cluster, _ *txtar.Archive) string {
		s, err := c.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		for _, x := range deletioncost.Decide(s) {
			fmt.Fprintf(&b, "%s on %s: %s\n", x.Pod.Key, x.Node.Name, strings.TrimSpace(x.Value+" "))
		}
		for _, x := range deletioncost.Withdraw(s) {
			fmt.Fprintf(&b, "gate off: %s\n", x.Pod.Key)
		}
		return b.String()
	})
}
