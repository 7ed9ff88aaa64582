package report

import (
	"fmt"
	"strings"
	"time"

	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/internal/backtest"
)

// Backtest renders a comparison of policies, one line for each policy.
func (s Style) Backtest(c backtest.Comparison) string {
	var b strings.Builder
	pods := 0
	if len(c.Policies) > 0 {
		pods = c.Policies[0].Pods
	}
	fmt.Fprintf(&b, "%s from %s: %s\n\n", units.Period(c.End.Sub(c.Begin).Round(time.Second)),
		c.Begin.UTC().Format("2006-01-02 15:04 UTC"), units.Counted(pods, "pod"))
	t := &table{right: map[int]bool{1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true, 8: true, 9: true}}
	t.add("POLICY", "DOLLARS", "CHANGE", "FLOOR", "EVICTED", "NODES", "P50", "P95", "MAX", "NO NODE")
	for i, r := range c.Policies {
		change := ""
		if first := c.Policies[0].Dollars; i > 0 && first > 0 {
			change = fmt.Sprintf("%+.1f%%", 100*(r.Dollars/first-1))
		}
		t.add(cut(r.Policy, false), fmt.Sprintf("%.2f", r.Dollars), change, fmt.Sprintf("%.2f", r.Floor), units.Grouped(r.Evictions),
			units.Grouped(r.Launched), waited(r.Pending.P50), waited(r.Pending.P95), waited(r.Pending.Max), units.Grouped(r.Unbound))
	}
	t.write(&b, "", s.dim)
	b.WriteString("\n" + s.dim("NODES are launched ones; P50, P95 and MAX are how long pods waited for a node") + "\n")
	return b.String()
}

// waited formats a waiting time, which is in seconds.
func waited(seconds float64) string {
	return units.Period(time.Duration(seconds * float64(time.Second)).Round(time.Second))
}
