package assign

import (
	"slices"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/pack/compile"
)

// A Segment is pods of one class that need new nodes with the same Choice of domains. For package binpack it is one
// item with identical copies. A copy is one pod, or a bundle: pods that must share a node. A bundle may also contain one
// pod of another class, the leader (bundle.go).
type Segment struct {
	Class  *compile.Class
	Stage  *compile.Stage
	Choice *Choice
	// Size is the number of pods in a bundle, 1 if the pods need not share a node. Leader is the class of its first pod if
	// that one is a leader, else nil.
	Size   int
	Leader *compile.Class
	// Demand and Fit are those of one bundle.
	Demand *catalog.Demand
	Fit    *catalog.Fit
	// Rules are the rules over the hostname of a bundle's pods.
	Rules []compile.Rule
	// Pods are the pods of all bundles, bundle after bundle.
	Pods []*model.Pod
}

// Counts returns how many pods of a bundle each topology group over the hostname counts, by index in Problem.Groups. Groups
// that count none have no entry.
func (s *Segment) Counts() map[int]int {
	counts, own := map[int]int{}, s.Size
	if s.Leader != nil {
		own--
		for _, m := range s.Leader.NodeMembers {
			counts[m]++
		}
	}
	for _, m := range s.Class.NodeMembers {
		counts[m] += own
	}
	return counts
}

// addSegment adds the next n pods of the class to its segment with the stage and the choice's Fit. It searches only the
// segments that follow the last one of another class. If there is none, it creates one.
func (a *Assignment) addSegment(c *compile.Class, s *compile.Stage, ch *Choice, n int) {
	var segment *Segment
	for _, other := range slices.Backward(a.Segments) {
		if other.Class != c {
			break
		}
		if other.Fit == ch.Fit && other.Stage == s && other.Size == 1 {
			segment = other
		}
	}
	if segment == nil {
		segment = &Segment{Class: c, Stage: s, Choice: ch, Size: 1, Demand: c.Demand, Fit: ch.Fit, Rules: s.PerNode}
		a.Segments = append(a.Segments, segment)
	}
	segment.Pods = append(segment.Pods, a.Placed.Take(c, n)...)
}

// Quotas limit how many pods of a class get a Choice: as many as got a node with it in an earlier assignment. The other
// pods get other domains, fewer preferences, existing nodes, or no node.
type Quotas map[quotaKey]int

// A quotaKey identifies a Choice for pods of a class in one stage: the choices of a stage have different Fits.
type quotaKey struct{ class, stage, fit int }

func keyOf(c *compile.Class, s *compile.Stage, ch *Choice) quotaKey {
	return quotaKey{class: c.Index, stage: s.ID, fit: ch.Fit.ID}
}

// Learn sets a new or lower quota for each Choice with which some pods got no node, if the pods may be placed otherwise
// (Segment.hasAlternatives). The quota is the number of pods of the class that got a node. unplaced are the pods of the
// segments without a node. changed says that some quota is new or lower, so that an assignment with q may be better.
func (q Quotas) Learn(segments []*Segment, unplaced map[*model.Pod]bool) (changed bool) {
	if len(unplaced) == 0 {
		return false
	}
	got, short := Quotas{}, map[quotaKey]bool{}
	for _, s := range segments {
		key := keyOf(s.Class, s.Stage, s.Choice)
		lost := false
		for i, pod := range s.Pods {
			if unplaced[pod] {
				lost = true
			} else if s.Leader == nil || i%s.Size > 0 { // the pod is not a leader
				got[key]++
			}
		}
		if lost && s.hasAlternatives() {
			short[key] = true
		}
	}
	for key := range short {
		if n, ok := q[key]; !ok || got[key] < n {
			q[key], changed = got[key], true
		}
	}
	return changed
}

// hasAlternatives reports whether pods of the segment may be placed otherwise than with its Choice: with fewer preferences, another
// node term or other domains. It is also true if topology groups count the pods, because then they affect the places of others.
func (s *Segment) hasAlternatives() bool {
	return len(s.Class.Stages) > 1 || len(s.Stage.Terms.Terms) > 1 || len(s.Class.Rules) > 0 || len(s.Class.Members) > 0
}
