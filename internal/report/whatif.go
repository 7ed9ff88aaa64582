package report

import (
	"fmt"
	"strings"

	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/internal/offline"
)

// WhatIf renders the difference that a change would make.
func (s Style) WhatIf(w offline.WhatIf) string {
	var b strings.Builder
	fmt.Fprintf(&b, "price of all nodes $%s/h now, $%s/h with the change (%+.4f)\n", dollars(w.Before), dollars(w.After), w.After-w.Before)
	list := func(what string, names []string) {
		if len(names) > 0 {
			fmt.Fprintf(&b, "%s: %s\n", what, few(names))
		}
	}
	list("instance types lost", w.Lost)
	list("instance types won", w.Won)
	for _, d := range w.Drifted[:min(len(w.Drifted), most)] {
		fmt.Fprintf(&b, "node %s of NodePool %s drifts: %s (%s)\n", d.Node, d.Pool, d.Reason, units.Counted(d.Pods, "pod"))
	}
	if more := len(w.Drifted) - most; more > 0 {
		fmt.Fprintf(&b, "%s more drift\n", units.Counted(more, "node"))
	}
	for _, text := range w.Unknown {
		b.WriteString(s.yellow("not known: "+text) + "\n")
	}
	fmt.Fprintf(&b, "%s evicted, %s placed on existing nodes\n", units.Counted(w.Evictions, "pod"), units.Counted(w.Moved, "pod"))
	for _, n := range w.Launches[:min(len(w.Launches), most)] {
		fmt.Fprintf(&b, "launch %s %s %s of NodePool %s at $%.4f/h for %s\n", n.InstanceType, n.Zone, n.CapacityType, n.Pool, n.PricePerHour,
			units.Counted(len(n.Pods), "pod"))
	}
	if more := len(w.Launches) - most; more > 0 {
		fmt.Fprintf(&b, "launch %s\n", units.Counted(more, "more node"))
	}
	if len(w.Unschedulable) > 0 {
		b.WriteString(s.red(fmt.Sprintf("unschedulable with the change: %s", few(w.Unschedulable))) + "\n")
	}
	return b.String()
}
