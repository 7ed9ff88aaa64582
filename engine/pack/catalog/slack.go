package catalog

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/binpack/vector"
)

// LeaveSlack lowers Room of each type by share (0 to 0.5) of its allocatable cpu and memory. It lowers Room by less if one
// of the demands, alone on a node of the type, would otherwise not fit any more.
func (c *Catalog) LeaveSlack(share float64, demands []*Demand) {
	for _, p := range c.Pools {
		for _, t := range p.Types {
			t.leaveSlack(share, demands, c.volumes.dimensions)
		}
	}
}

func (t *Type) leaveSlack(share float64, demands []*Demand, d *Dimensions) {
	whole, room := t.Room, slices.Clone(t.Room)
	for i, name := range d.Names {
		if name == corev1.ResourceCPU || name == corev1.ResourceMemory {
			room[i] -= int64(float64(t.Allocatable[name]) * share)
		}
	}
	least := slices.Clone(room)
	for _, x := range demands {
		if _, _, missing := vector.Short(x.Amount, whole); missing {
			continue
		}
		if _, _, missing := vector.Short(x.Amount, room); !missing {
			continue
		}
		for i, v := range x.Amount {
			least[i] = max(least[i], v)
		}
	}
	t.Room = least
}
