package assign

import (
	"maps"
	"slices"

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

// left returns how many more pods of the class may get the choice, compile.NoLimit if it has no quota.
func (q Quotas) left(c *compile.Class, s *compile.Stage, ch *Choice) int {
	if len(q) > 0 {
		if n, ok := q[keyOf(c, s, ch)]; ok {
			return max(n, 0)
		}
	}
	return compile.NoLimit
}

// spend subtracts n from the quota of the choice, if there is one.
func (q Quotas) spend(c *compile.Class, s *compile.Stage, ch *Choice, n int) {
	if len(q) > 0 {
		if k := keyOf(c, s, ch); q[k] > 0 {
			q[k] -= n
		}
	}
}

// Learn returns q with a new or lower quota for each Choice with which some pods got no node, if the pods may be placed
// otherwise (Segment.hasAlternatives). The quota is the number of pods of the class that got a node. The first served[i]
// pods of segments[i] have a planned node. refused are the pods whose planned node cannot be launched. changed says that
// some quota is new or lower, so that an assignment with the result may be better.
func (q Quotas) Learn(segments []*Segment, served []int, refused map[*model.Pod]bool) (learned Quotas, changed bool) {
	if len(refused) == 0 && !slices.ContainsFunc(segments, func(s *Segment) bool { return served[s.Index] < len(s.Pods) }) {
		return q, false
	}
	got, short := Quotas{}, map[quotaKey]bool{}
	for i, s := range segments {
		key := keyOf(s.Class, s.Stage, s.Choice)
		n, lost := 0, served[i] < len(s.Pods)
		for j, pod := range s.Pods {
			if refused[pod] {
				lost = true
			} else if j < served[i] && s.owns(j) {
				n++
			}
		}
		got[key] += n
		if lost && s.hasAlternatives() {
			short[key] = true
		}
	}
	if len(short) == 0 {
		return q, false
	}
	learned = Quotas{}
	maps.Copy(learned, q)
	for key := range short {
		if n, ok := learned[key]; !ok || got[key] < n {
			learned[key], changed = got[key], true
		}
	}
	return learned, changed
}

// hasAlternatives reports whether pods of the segment may be placed otherwise than with its Choice: with fewer preferences, another
// node term or other domains. It is also true if topology groups count the pods, because then they affect the places of others.
func (s *Segment) hasAlternatives() bool {
	return len(s.Class.Stages) > 1 || len(s.Stage.Terms.Terms) > 1 || len(s.Class.Rules) > 0 || len(s.Class.Members) > 0
}
