package pack

import (
	"math"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// columns fixes which resources matter, those that some pod asks for, and turns Resources into vectors of them.
type columns []corev1.ResourceName

func columnsOf(pods []*model.Pod) columns {
	seen, known := map[corev1.ResourceName]bool{}, map[uintptr]bool{}
	var cols columns
	for _, p := range pods {
		id := reflect.ValueOf(p.Requests).Pointer()
		if known[id] {
			continue // pods share what they ask for
		}
		known[id] = true
		for name, v := range p.Requests {
			if v > 0 && !seen[name] {
				seen[name] = true
				cols = append(cols, name)
			}
		}
	}
	slices.SortFunc(cols, model.CompareResources)
	return cols
}

func (c columns) vector(r model.Resources) []int64 {
	v := make([]int64, len(c))
	for i, name := range c {
		v[i] = r[name]
	}
	return v
}

// copies returns how many times need fits into room, at most limit.
func copies(need, room []int64, limit int) int {
	n := int64(limit)
	for i, v := range need {
		if v > 0 {
			n = min(n, max(room[i], 0)/v)
		}
	}
	return int(n)
}

// subtract takes n times need out of room.
func subtract(room, need []int64, n int) {
	for i, v := range need {
		room[i] -= v * int64(n)
	}
}

// short returns the first column of which need exceeds room, and by how much.
func short(need, room []int64) (col int, by int64, ok bool) {
	for i, v := range need {
		if v > 0 && v > room[i] {
			return i, v - max(room[i], 0), true
		}
	}
	return 0, 0, false
}

// unlimited stands for a limit that is not set.
const unlimited = math.MaxInt64
