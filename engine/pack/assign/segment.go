package assign

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/pack/compile"
)

// A Segment is pods of one class that wait for new nodes with the same choice of domains. The packing solver sees it as an
// item: identical copies, of one pod each, or bundles of pods that must share a node.
type Segment struct {
	Index  int // in Assignment.Segments
	Class  *compile.Class
	Stage  *compile.Stage
	Choice *Choice
	// Size is how many pods a bundle has; Leaders how many of these, the first ones, are of other classes.
	Size, Leaders int
	// Demand and Fit are those of one bundle.
	Demand *catalog.Demand
	Fit    *catalog.Fit
	// Rules are the rules per node that bind a bundle. Members are the groups per node that count its pods, Weights how many
	// of them; a nil Weights stands for all.
	Rules            []compile.Rule
	Members, Weights []int
	// Pods are those of all bundles, bundle by bundle.
	Pods []*model.Pod
}

// Copies returns the number of bundles.
func (s *Segment) Copies() int { return len(s.Pods) / s.Size }

// Weight returns how many pods of a bundle its i-th member group counts.
func (s *Segment) Weight(i int) int {
	if s.Weights == nil {
		return s.Size
	}
	return s.Weights[i]
}

// owns reports whether the i-th pod is one of the segment's class, not a leader.
func (s *Segment) owns(i int) bool { return i%s.Size >= s.Leaders }

// addSegment puts the next n pods of the class into the segment of the choice.
func (a *Assignment) addSegment(c *compile.Class, s *compile.Stage, ch *Choice, n int) {
	var segment *Segment
	for _, other := range slices.Backward(a.Segments) { // those of the class come last
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

// NewSegment returns a segment of pods of the class, without any yet.
func (a *Assignment) NewSegment(c *compile.Class, s *compile.Stage, ch *Choice) *Segment {
	return &Segment{
		Index: len(a.Segments), Class: c, Stage: s, Choice: ch, Size: 1, Demand: c.Demand, Fit: ch.Fit,
		Rules: s.PerNode, Members: c.NodeMembers,
	}
}
