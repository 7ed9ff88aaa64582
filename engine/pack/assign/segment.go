package assign

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/pack/compile"
)

// A Segment is pods of one class that need new nodes with the same choice of domains. The packing solver treats it as
// one item with identical copies. A copy is one pod, or a bundle of pods that must share a node.
type Segment struct {
	Index  int // in Assignment.Segments
	Class  *compile.Class
	Stage  *compile.Stage
	Choice *Choice
	// Size is the number of pods in a bundle. The first Leaders pods of it belong to other classes.
	Size, Leaders int
	// Demand and Fit describe one bundle.
	Demand *catalog.Demand
	Fit    *catalog.Fit
	// Rules are the per-node topology rules of the pods of a bundle. Members are the per-node groups that count its
	// pods. Weights is how many of its pods each of these groups counts; nil means all.
	Rules            []compile.Rule
	Members, Weights []int
	// Pods are the pods of all bundles, in the order of the bundles.
	Pods []*model.Pod
}

// Copies returns the number of bundles.
func (s *Segment) Copies() int { return len(s.Pods) / s.Size }

// Weight returns how many pods of a bundle the i-th group of Members counts.
func (s *Segment) Weight(i int) int {
	if s.Weights == nil {
		return s.Size
	}
	return s.Weights[i]
}

// owns reports whether the i-th pod belongs to the segment's class and is not a leader.
func (s *Segment) owns(i int) bool { return i%s.Size >= s.Leaders }

// addSegment adds the next n pods of the class to the segment of the choice.
func (a *Assignment) addSegment(c *compile.Class, s *compile.Stage, ch *Choice, n int) {
	var segment *Segment
	for _, other := range slices.Backward(a.Segments) { // segments of the class come last
		if other.Class != c {
			break
		}
		if other.Fit == ch.Fit && other.Stage == s && other.Size == 1 {
			segment = other
		}
	}
	if segment == nil {
		segment = a.NewSegment(c, s, ch)
		a.Segments = append(a.Segments, segment)
	}
	if pods := a.Placed.Take(c, n); segment.Pods == nil {
		segment.Pods = pods
	} else {
		segment.Pods = append(segment.Pods, pods...)
	}
}

// NewSegment returns a segment of the class without pods.
func (a *Assignment) NewSegment(c *compile.Class, s *compile.Stage, ch *Choice) *Segment {
	return &Segment{
		Index: len(a.Segments), Class: c, Stage: s, Choice: ch, Size: 1, Demand: c.Demand, Fit: ch.Fit,
		Rules: s.PerNode, Members: c.NodeMembers,
	}
}
