package consolidate

import (
	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// meetsMinValues reports whether the options of n have as many distinct values as the pool's minValues require. If not,
// key is a label with too few. A planned node with MinValuesRelaxed need not meet them.
func meetsMinValues(n *model.PlannedNode) (key string, ok bool) {
	if n.MinValuesRelaxed {
		return "", true
	}
	for r := range n.Requirements.All() {
		if r.MinValues() > 0 && countDistinct(n, r, len(n.Options)) < r.MinValues() {
			return r.Key(), false
		}
	}
	return "", true
}

// neededForMinValues returns how many of the options, cheapest first, meet the pool's minValues.
func neededForMinValues(n *model.PlannedNode) int {
	most := 0
	for r := range n.Requirements.All() {
		if r.MinValues() == 0 {
			continue
		}
		k := 1
		for k < len(n.Options) && countDistinct(n, r, k) < r.MinValues() {
			k++
		}
		most = max(most, k)
	}
	return most
}

// countDistinct returns how many values that r admits the first k options have.
func countDistinct(n *model.PlannedNode, r require.Requirement, k int) int {
	values := map[string]bool{}
	for _, t := range n.Options[:k] {
		for _, v := range valuesOf(t, r.Key(), n.Requirements) {
			if r.Has(v) {
				values[v] = true
			}
		}
	}
	return len(values)
}

// valuesOf returns the values that a label may have on type t. For zone and capacity type, only launchable
// offerings that meet reqs count.
func valuesOf(t *model.InstanceType, key string, reqs require.Set) []string {
	if key != corev1.LabelTopologyZone && key != apiv1.CapacityTypeLabelKey {
		if r, ok := t.Requirements.Get(key); ok {
			return r.Values()
		}
		return nil
	}
	var out []string
	for _, o := range t.Offerings {
		if _, ok := reqs.Intersects(o.Requirements); !ok || !o.Launchable() {
			continue
		}
		if key == corev1.LabelTopologyZone {
			out = append(out, o.Zone)
		} else {
			out = append(out, o.CapacityType)
		}
	}
	return out
}
