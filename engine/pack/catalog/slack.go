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
			room := slices.Clone(t.Room)
			for i, name := range c.volumes.dimensions.Names {
				if name == corev1.ResourceCPU || name == corev1.ResourceMemory {
					room[i] -= int64(float64(t.Allocatable[name]) * share)
				}
			}
			for _, x := range demands {
				if vector.Fits(x.Amount, t.Room) {
					for i, v := range x.Amount {
						room[i] = max(room[i], v)
					}
				}
			}
			t.Room = room
		}
	}
}
