package report

import (
	"strings"

	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/internal/offline"
)

// Static renders the nodes to launch for static NodePools. Consecutive nodes that are equal in all columns are shown in one line.
func (s Style) Static(nodes []offline.NodeResult) string {
	var b strings.Builder
	b.WriteString(s.bold(units.Counted(len(nodes), "node")+" of static NodePools") + "\n\n")
	t := &table{right: map[int]bool{0: true, 5: true}}
	t.add("NODES", "TYPE", "ZONE", "CAPACITY", "POOL", "$/H")
	total := 0.0
	for i := 0; i < len(nodes); {
		n, same := nodes[i], 0
		for ; i < len(nodes) && alike(nodes[i], n); i++ {
			same++
		}
		price := float64(same) * n.PricePerHour
		total += price
		t.add(units.Grouped(same), n.InstanceType, n.Zone, n.CapacityType, n.Pool, dollars(price))
	}
	t.write(&b, "", s.dim)
	b.WriteString("\n" + s.Money(total, 0) + "\n")
	return b.String()
}

// alike reports whether the columns of the two nodes are equal.
func alike(a, b offline.NodeResult) bool {
	return a.Pool == b.Pool && a.InstanceType == b.InstanceType && a.Zone == b.Zone && a.CapacityType == b.CapacityType && a.PricePerHour == b.PricePerHour
}
