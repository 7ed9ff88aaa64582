package require

import "testing"

func BenchmarkOverlapsIn(b *testing.B) {
	few, many := New("k", In, "v10", "v500"), New("k", In, letters(600)...)
	for b.Loop() {
		few.Overlaps(many)
	}
}

func BenchmarkIntersectIn(b *testing.B) {
	x, y := New("k", In, letters(600)...), New("k", In, letters(300)...)
	for b.Loop() {
		x.Intersect(y)
	}
}

// A node with twenty labels is compared with a pod that has requirements on three of them.
func BenchmarkCompatible(b *testing.B) {
	labels := make(map[string]string)
	for _, k := range letters(20) {
		labels[k] = "x"
	}
	node, pod := FromLabels(labels), NewSet(New("v3", In, "x", "y"), New("v7", Exists), New("v9", NotIn, "z"))
	b.ReportAllocs()
	for b.Loop() {
		if c, ok := node.Compatible(pod, nil); !ok {
			b.Fatal(c)
		}
	}
}

func BenchmarkAnd(b *testing.B) {
	labels := make(map[string]string)
	for _, k := range letters(20) {
		labels[k] = "x"
	}
	node, pod := FromLabels(labels), NewSet(New("v3", In, "x", "y"), New("v7", Exists), New("v9", NotIn, "z"))
	b.ReportAllocs()
	for b.Loop() {
		node.And(pod)
	}
}
