package commitments

import (
	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/binpack/lp"
	"github.com/karpenter-go/karpenter/engine/commitment"
	"github.com/karpenter-go/karpenter/engine/model"
)

// resources are the resources of the linear program, each with a unit in which amounts are of similar size.
var resources = []struct {
	name corev1.ResourceName
	unit float64
}{{corev1.ResourceCPU, 1000}, {corev1.ResourceMemory, 1 << 30}, {corev1.ResourcePods, 10}}

// Covered prices of 0 would make the simplex method degenerate, with wrong results because of rounding. So each is raised by
// another amount of up to tieBreak, in dollars per hour. step and prime distribute these amounts evenly.
const (
	tieBreak    = 1e-6
	step, prime = 6181, 10007
)

// Floor returns a lower bound of the price beyond commitments, in dollars per hour, of on-demand nodes that hold need. daemons is
// what DaemonSets use of each node. The bound is the optimum of
//
//	minimise    sum of price[t]*x[t] + sum of covered[t][c]*y[t][c]
//	subject to  sum of room[t][r] * (x[t] + sum over c of y[t][c]) >= need[r]   for each resource r
//	            sum of use[t][c]*y[t][c] <= units[c]                            for each commitment c
//
// where x[t] is how many nodes of offering t no commitment covers, y[t][c] how many commitment c covers, and covered[t][c]
// the price of such a node beyond the commitment. Floor solves the dual. The bound is too high by at most tieBreak for each
// covered node.
func Floor(types []*model.InstanceType, need, daemons model.Resources) float64 {
	var units []float64
	index := map[*commitment.Commitment]int{}
	for _, t := range types {
		for _, o := range t.Offerings {
			for _, c := range o.Covers {
				if _, known := index[c.Commitment]; !known {
					index[c.Commitment] = len(units)
					units = append(units, float64(c.Commitment.Units))
				}
			}
		}
	}
	var objective []float64
	for _, r := range resources {
		objective = append(objective, float64(need[r.name])/r.unit)
	}
	for range units { // the variable of a commitment is its price per whole commitment
		objective = append(objective, -1)
	}
	p := lp.NewProgram(objective)
	for _, t := range types {
		room := make([]float64, len(resources))
		for i, r := range resources {
			room[i] = float64(max(0, t.Allocatable[r.name]-daemons[r.name])) / r.unit
		}
		for _, o := range t.Offerings {
			if o.CapacityType != apiv1.CapacityTypeOnDemand || !o.Available {
				continue
			}
			p.AddRow(append(append([]float64{}, room...), make([]float64, len(units))...), o.Price)
			for _, c := range o.Covers {
				row := append(append([]float64{}, room...), make([]float64, len(units))...)
				k := index[c.Commitment]
				if units[k] > 0 {
					row[len(resources)+k] = -float64(c.Use) / units[k]
					p.AddRow(row, o.CoveredPrice+tieBreak*float64(p.Rows()*step%prime)/prime)
				}
			}
			break // prices do not differ between zones, and commitments count in all of them
		}
	}
	p.Solve()
	return p.Value()
}
