package disrupt

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/model"
)

// An Outcome is what became of a fleet.
type Outcome struct {
	Price float64 // dollars per hour afterwards
	Moved int     // pods that had to move
	Nodes int     // nodes that are left
}

// Greedy drains a fleet the plain way: node after node, the least used first, as long as all of its pods find room on those
// that are left, first fit. It launches nothing.
func Greedy(s *model.Snapshot) Outcome {
	type bin struct {
		node       *model.Node
		price      float64
		free, used [3]int64
		gone, full bool
	}
	columns := [3]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods}
	var bins []*bin
	for _, n := range s.Nodes() {
		b := &bin{node: n, price: disrupt.Price(s, n)}
		for i, name := range columns {
			b.free[i], b.used[i] = n.Free()[name], n.Used[name]
		}
		bins = append(bins, b)
	}
	slices.SortFunc(bins, func(a, b *bin) int {
		return cmp.Or(cmp.Compare(a.used[0], b.used[0]), strings.Compare(a.node.Name, b.node.Name))
	})
	var out Outcome
	for _, from := range bins {
		if from.full {
			continue // it has taken pods of others
		}
		was := make([][3]int64, len(bins))
		for i, b := range bins {
			was[i] = b.free
		}
		var takers []*bin
		ok := true
		for _, p := range from.node.Reschedulable() {
			i := slices.IndexFunc(bins, func(b *bin) bool {
				if b == from || b.gone {
					return false
				}
				for k, name := range columns {
					if p.Requests[name] > b.free[k] {
						return false
					}
				}
				return true
			})
			if ok = i >= 0; !ok {
				break
			}
			for k, name := range columns {
				bins[i].free[k] -= p.Requests[name]
			}
			takers = append(takers, bins[i])
		}
		if !ok {
			for i, b := range bins {
				b.free = was[i]
			}
			continue
		}
		for _, b := range takers {
			b.full = true
		}
		from.gone = true
		out.Moved += len(from.node.Reschedulable())
	}
	for _, b := range bins {
		if !b.gone {
			out.Price += b.price
			out.Nodes++
		}
	}
	return out
}
