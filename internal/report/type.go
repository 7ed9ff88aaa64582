package report

import (
	"fmt"
	"strings"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/units"
)

// A TypeRow is an instance type in a table.
type TypeRow struct {
	Name, Arch        string
	CPU, Memory, Pods string // allocatable
	Zones             int    // number of zones with an offering
	// Prices are the lowest prices by capacity type, in dollars per hour.
	Prices map[string]float64
}

// Types renders a catalogue.
func (s Style) Types(rows []TypeRow) string {
	var b strings.Builder
	t := &table{right: map[int]bool{2: true, 3: true, 4: true, 5: true, 6: true, 7: true}}
	t.add("TYPE", "ARCH", "CPU", "MEMORY", "PODS", "ZONES", "ON-DEMAND $/H", "SPOT $/H")
	for _, r := range rows {
		t.add(r.Name, r.Arch, r.CPU, r.Memory, r.Pods, fmt.Sprint(r.Zones),
			priceOrNone(r.Prices[apiv1.CapacityTypeOnDemand]), priceOrNone(r.Prices[apiv1.CapacityTypeSpot]))
	}
	t.write(&b, "", s.dim)
	b.WriteString(units.Counted(len(rows), "type") + "; cpu, memory and pods are what is left for pods\n")
	return b.String()
}

func priceOrNone(v float64) string {
	if v == 0 {
		return "-"
	}
	return fmt.Sprintf("%.4f", v)
}
