package consolidate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/commitment"
	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A Cursor is the state that one consolidation passes to the next. It may be lost: the zero Cursor only makes some
// nodes stay longer.
type Cursor struct {
	// After is set if MaxWhatIfs was reached. The next decision then evaluates individual candidates in name order,
	// beginning after this name. It names the candidate before the first one that was not evaluated, in the order of this
	// decision. If no candidate was evaluated, it does not change. It is empty if all were evaluated.
	After string
	// WaitingSince is when consolidation began to wait for nodes to become consolidatable, zero if it does not wait.
	// NextWait is the earliest start of another wait.
	WaitingSince, NextWait time.Time
	// Verdicts are the verdicts of the last searches, if these found nothing to do. Known are the verdicts that count in the
	// next decision: the same if the cluster has not changed, otherwise nil.
	Verdicts, Known *Verdicts
}

// A strategy is a way to choose sets of candidates.
type strategy struct {
	// podsPerSet and nodesPerSet bound the number of pods and of nodes in a set.
	podsPerSet, nodesPerSet int
	// extends adds nodes that a proposal would leave underfilled to the proposal.
	extends bool
	// joint tries all candidates as one set before anything else.
	joint bool
	// exhaustive evaluates each candidate in the whole cluster, without screening. Only tests set it.
	exhaustive bool
}

// The strategies of Run. It uses plain first. If commitments are unused, it uses wide in place of plain, because small sets
// would fill them with pods that need them least. If a proposal leaves nodes underfilled and there are at most screeningFrom
// candidates, Run tries extending as well. If plain removes at least one in manyRemoved candidates, as after a scale-in, Run tries
// wide as well: one plan for all pods costs less than plans for parts of them. It uses the result with the highest gain.
var (
	plain     = strategy{podsPerSet: 800, nodesPerSet: 50}
	extending = strategy{podsPerSet: 5000, nodesPerSet: 50, extends: true}
	wide      = strategy{podsPerSet: 20000, nodesPerSet: 1000, joint: true}
)

const manyRemoved = 10

// A commitment counts as unused if nodes leave more than unusedShare of its units.
const unusedShare = 0.1

// Run consolidates the candidates that are due and have pods. waits is true if it does nothing now, because other nodes will
// become consolidatable soon (see settle).
func Run(from *problem.State, due []*problem.Candidate, cursor Cursor) (st *problem.State, next Cursor, waits bool) {
	st = from.Clone()
	var candidates []*problem.Candidate
	for _, c := range due {
		if len(c.Pods) == 0 {
			continue
		}
		if v := mayConsolidate(st, c); !v.OK() {
			st.Block(c, v)
			continue
		}
		candidates = append(candidates, c)
	}
	st.Stats.Eligible[apiv1.DisruptionReasonUnderutilized] += len(candidates)
	if len(candidates) == 0 {
		return st, cursor, false
	}
	wait, cursor, waits := settle(st, candidates, cursor)
	if !wait.OK() {
		for _, c := range candidates {
			st.Block(c, wait)
		}
		return st, cursor, waits
	}
	var best *search
	known := cursor.Known.of(st, candidates)
	if known == nil {
		best = searched(st, candidates, cursor)
	} else {
		candidates = slices.DeleteFunc(candidates, func(c *problem.Candidate) bool {
			v, ok := known.verdicts[c.Node.Name]
			st.Block(c, v)
			return ok
		})
		best = newSearch(st, candidates, plain, cursor)
		best.singles() // the earlier search has evaluated the sets
	}
	next = best.cursor
	next.Verdicts = nil
	if len(best.st.Commands) == len(st.Commands) {
		next.Verdicts = cursor.earlier(st, known).with(st, candidates, best.verdicts)
	}
	return best.st, next, false
}

// earlier returns the verdicts that the next ones extend: known, or those of the same decision, which calls Run twice.
func (c Cursor) earlier(st *problem.State, known *Verdicts) *Verdicts {
	if known == nil && c.Verdicts != nil && c.Verdicts.began.Equal(st.Problem.Snapshot.Now) {
		return c.Verdicts
	}
	return known
}

// searched returns the finished search with the highest gain of those that plain describes.
func searched(st *problem.State, candidates []*problem.Candidate, cursor Cursor) *search {
	way := firstStrategy(st.Cluster)
	best := newSearch(st, candidates, way, cursor).run()
	others := []strategy{}
	if best.underfilled {
		others = append(others, extending)
	}
	removed := 0
	for i := range best.st.Commands[len(st.Commands):] {
		removed += len(best.st.Commands[len(st.Commands)+i].Nodes)
	}
	if !way.joint && len(candidates) > few && removed*manyRemoved >= len(candidates) {
		others = append(others, wide)
	}
	for _, way := range others {
		other := newSearch(st, candidates, way, cursor).run()
		if other.st.Gain > best.st.Gain+problem.Epsilon {
			best, other = other, best
		}
		best.st.Stats.WhatIfs += other.st.Stats.WhatIfs - st.Stats.WhatIfs
		best.st.Stats.Screened += other.st.Stats.Screened - st.Stats.Screened
	}
	return best
}

// firstStrategy returns wide if a commitment is unused, otherwise plain.
func firstStrategy(s *model.Snapshot) strategy {
	if slices.ContainsFunc(s.Coverage().Usage(), func(u commitment.Usage) bool {
		return float64(u.Units-u.Used) > unusedShare*float64(u.Units)
	}) {
		return wide
	}
	return plain
}

// mayConsolidate returns the reason why the node must not be consolidated, other than price and budgets.
func mayConsolidate(st *problem.State, c *problem.Candidate) model.Verdict {
	p := st.Problem
	if v := p.MayConsolidate(c); !v.OK() {
		return v
	}
	switch {
	case c.Pool.Object.Spec.Disruption.ConsolidationPolicy == apiv1.ConsolidationPolicyWhenEmpty:
		return model.Verdict{Rule: model.RulePolicy, Cause: model.CauseWhenEmpty, Key: c.Pool.Name, Subject: c.Pods[0].Key}
	case p.Options.OldPrices:
		return model.Verdict{Rule: model.RulePolicy, Cause: model.CauseOldPrices}
	case !c.Priced:
		return model.Verdict{Rule: model.RulePolicy, Cause: model.CauseUnpriced, Subject: offeringOf(c)}
	}
	return cmp.Or(p.PodsMayGo(c, false), st.Incoming(c))
}

// offeringOf names the offering of the node, for users.
func offeringOf(c *problem.Candidate) string {
	if c.Type() == "" {
		return "node " + c.Node.Name + " without label " + corev1.LabelInstanceTypeStable
	}
	return fmt.Sprintf("%s (%s, %s)", c.Type(), cmp.Or(c.CapacityType(), "unknown capacity type"),
		cmp.Or(c.Node.Labels[corev1.LabelTopologyZone], "unknown zone"))
}

// repeatAfter is how long the verdicts of a search count in a cluster that does not change, not even in a price. What a search finds
// then depends on the time only by how long nodes have until they expire, and by undoWindow.
const repeatAfter = 15 * time.Minute

// Verdicts are the verdicts of searches that found nothing to do. They count only while the cluster does not change. They are
// immutable. Nil is empty.
type Verdicts struct {
	began    time.Time
	verdicts map[string]model.Verdict // by node name
	// budgets is the number of nodes that each NodePool of the candidates allowed to disrupt, and most is Options.MaxNodes.
	budgets map[string]int
	most    int
}

// of returns the verdicts for a search in st, or nil if they no longer count.
func (vs *Verdicts) of(st *problem.State, candidates []*problem.Candidate) *Verdicts {
	p := st.Problem
	if vs == nil || p.Snapshot.Now.Sub(vs.began) >= repeatAfter || vs.most != p.Options.MaxNodes {
		return nil
	}
	for pool, n := range budgetsOf(st, candidates) {
		if known, ok := vs.budgets[pool]; ok && known != n {
			return nil
		}
	}
	return vs
}

// with returns the verdicts with further verdicts, by node name, for candidates of st.
func (vs *Verdicts) with(st *problem.State, candidates []*problem.Candidate, verdicts map[string]model.Verdict) *Verdicts {
	now := st.Problem.Snapshot.Now
	next := &Verdicts{began: now, most: st.Problem.Options.MaxNodes, verdicts: verdicts, budgets: budgetsOf(st, candidates)}
	if vs != nil {
		next.began = vs.began
		next.verdicts, next.budgets = maps.Clone(vs.verdicts), maps.Clone(vs.budgets)
		maps.Copy(next.verdicts, verdicts)
		maps.Copy(next.budgets, budgetsOf(st, candidates))
	}
	return next
}

// budgetsOf returns how many nodes each NodePool of the candidates still allows to consolidate.
func budgetsOf(st *problem.State, candidates []*problem.Candidate) map[string]int {
	left := map[string]int{}
	for _, c := range candidates {
		if _, ok := left[c.Node.Pool]; ok {
			continue
		}
		if a := st.Budgets.Of(c.Node.Pool); a != nil {
			left[c.Node.Pool] = a.Left(apiv1.DisruptionReasonUnderutilized)
		}
	}
	return left
}
