package disrupt

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// An Outcome is the result of a consolidation of a fleet.
type Outcome struct {
	Price float64 // dollars per hour afterwards
	Moved int     // pods that had to move
	Nodes int     // remaining nodes
}

// columns are the resources that Greedy considers.
var columns = [...]corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods}

// A bin is the state of a node in Greedy.
type bin struct {
	node *model.Node
	free [len(columns)]int64
	// gone is true if the node was drained. taken is true if it has received pods of drained nodes; it is then not
	// drained.
	gone, taken bool
}

func (b *bin) holds(p *model.Pod) bool {
	for k, name := range columns {
		if p.Requests[name] > b.free[k] {
			return false
		}
	}
	return true
}

// Greedy consolidates a fleet by a simple heuristic. It considers one node after another, that with the least used cpu
// first, and drains a node if all of its pods fit on the remaining nodes by first fit. It launches no nodes.
func Greedy(s *model.Snapshot) Outcome {
	var bins []*bin
	for _, n := range s.Nodes() {
		b := &bin{node: n}
		for k, name := range columns {
			b.free[k] = n.Free()[name]
		}
		bins = append(bins, b)
	}
	slices.SortFunc(bins, func(a, b *bin) int {
		return cmp.Or(cmp.Compare(a.node.Used[corev1.ResourceCPU], b.node.Used[corev1.ResourceCPU]),
			strings.Compare(a.node.Name, b.node.Name))
	})
	var out Outcome
	for _, b := range bins {
		if !b.taken && empty(b, bins) {
			b.gone = true
			out.Moved += len(b.node.Reschedulable())
		}
	}
	for _, b := range bins {
		if !b.gone {
			out.Price += s.PriceOf(b.node)
			out.Nodes++
		}
	}
	return out
}

// empty moves the pods of a node to other nodes. If one of the pods fits on no other node, it moves none and returns
// false.
func empty(from *bin, bins []*bin) bool {
	before := map[*bin]bin{}
	for _, p := range from.node.Reschedulable() {
		i := slices.IndexFunc(bins, func(b *bin) bool { return b != from && !b.gone && b.holds(p) })
		if i < 0 {
			for b, was := range before {
				*b = was
			}
			return false
		}
		to := bins[i]
		if _, kept := before[to]; !kept {
			before[to] = *to
		}
		for k, name := range columns {
			to.free[k] -= p.Requests[name]
		}
		to.taken = true
	}
	return true
}
