package compile

import (
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
)

// A portIndex finds the groups of host ports. Comparing each port with each group would cost the square of the number of ports.
type portIndex struct {
	group map[catalog.Port]int   // the group of each port
	anyIP map[catalog.Port][]int // for each port without its IP: the groups of that number and protocol, rising
}

// add adds the group of port q.
func (x *portIndex) add(q catalog.Port, group int) {
	if x.group == nil {
		x.group, x.anyIP = map[catalog.Port]int{}, map[catalog.Port][]int{}
	}
	x.group[q] = group
	q.IP = ""
	x.anyIP[q] = append(x.anyIP[q], group)
}

// appendConflicts appends the groups of the ports that conflict with q, as Port.Conflicts says.
func (x *portIndex) appendConflicts(out []int, q catalog.Port) []int {
	all := q
	all.IP = ""
	if q.IP == "" {
		return append(out, x.anyIP[all]...)
	}
	for _, p := range []catalog.Port{q, all} {
		if g, ok := x.group[p]; ok {
			out = append(out, g)
		}
	}
	return out
}
