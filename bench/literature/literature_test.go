package literature

import "testing"

// Over all classes, the engine opens fewer bins than either heuristic, and never fewer than the lower bound.
func TestOursBeatsTheHeuristics(t *testing.T) {
	var bound, ours, firstFit, dot int
	for i := range Classes {
		row, err := Measure(&Classes[i], 60, 2)
		if err != nil {
			t.Fatal(err)
		}
		if row.Ours < row.Bound {
			t.Errorf("%s: %d bins, the bound is %d", row.Class, row.Ours, row.Bound)
		}
		bound, ours, firstFit, dot = bound+row.Bound, ours+row.Ours, firstFit+row.FirstFit, dot+row.Dot
	}
	if ours >= firstFit || ours >= dot {
		t.Errorf("%d bins, first-fit decreasing %d, dot product %d, bound %d", ours, firstFit, dot, bound)
	}
}
