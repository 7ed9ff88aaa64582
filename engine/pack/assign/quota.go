package assign

import (
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/compile"
)

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
			} else if i%s.Size >= s.Leaders { // the pod is not a leader
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
