package consolidate

import "github.com/karpenter-go/karpenter/engine/model"

// neededForMinValues returns how many of the options, cheapest first, have as many distinct values as the pool's
// minValues require. If all options together have too few, it returns their number and the label.
func neededForMinValues(n *model.PlannedNode) (needed int, lacking string) {
	for r := range n.Requirements.All() {
		k := 0
		for r.MinValues() > 0 && model.Distinct(n.Options[:k], r, n.Requirements) < r.MinValues() {
			if k == len(n.Options) {
				return k, r.Key()
			}
			k++
		}
		needed = max(needed, k)
	}
	return needed, ""
}
