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
	// Results are the verdicts of searches that found nothing to do, nil if some search found a command. Run uses all results that it
	// gets. So a caller must clear them if the cluster has changed.
	Results Results
}

// A strategy is a way to choose sets of candidates.
type strategy struct {
	// podsPerSet and nodesPerSet bound the number of pods and of nodes in a set.
	podsPerSet, nodesPerSet int
	// extends adds further nodes to proposals.
	extends bool
	// joint tries all candidates as one set before anything else.
	joint bool
	// exhaustive evaluates each candidate in the whole cluster, without screening. Only tests set it.
	exhaustive bool
}

// The strategies of Run. It uses plain first. If commitments are unused, it uses wide in place of plain, because small sets
// would fill them with pods that need them least. If there are more than maxCombined candidates, Run tries up to two other
// strategies, and uses the result with the highest gain. It tries extending if the first strategy removes nodes, and there are at
// most screeningAbove candidates. It tries wide if plain removes at least one in manyRemoved candidates, as after a scale-in: one
// plan for all pods costs less than plans for parts of them.
var (
	plain     = strategy{podsPerSet: 800, nodesPerSet: 50}
	extending = strategy{podsPerSet: 5000, nodesPerSet: 50, extends: true}
	wide      = strategy{podsPerSet: 20000, nodesPerSet: 1000, joint: true}
)

const manyRemoved = 10

// A commitment counts as unused if nodes leave more than unusedShare of its units.
const unusedShare = 0.1

// Run consolidates those of the candidates (all) that have pods and may be consolidated. waits is true if it does nothing now,
// because other nodes will become consolidatable soon (see decideWait).
func Run(from *problem.State, all []*problem.Candidate, cursor Cursor) (st *problem.State, next Cursor, waits bool) {
	st = from.Clone()
	candidates := eligible(st, all)
	st.Stats.Eligible[apiv1.DisruptionReasonUnderutilized] += len(candidates)
	if len(candidates) == 0 {
		return st, cursor, false
	}
	wait, cursor, waits := decideWait(st, candidates, cursor)
	if !wait.OK() {
		for _, c := range candidates {
			st.Block(c, wait)
		}
		return st, cursor, waits
	}
	var best *search
	others, repeats := cursor.Results.repeat(st, candidates)
	if repeats {
		best = newSearch(st, others, plain, cursor)
		best.removeSingly() // the earlier search has evaluated the sets
	} else {
		best = bestSearch(st, candidates, cursor)
	}
	next = best.cursor
	next.Results = nil
	if len(best.st.Commands) == len(st.Commands) {
		next.Results = cursor.Results.updated(others, best.results)
	}
	return best.st, next, false
}

// eligible returns the candidates with pods that may be consolidated, and blocks the others with pods.
func eligible(st *problem.State, all []*problem.Candidate) (candidates []*problem.Candidate) {
	for _, c := range all {
		if len(c.Pods) == 0 {
			continue
		}
		if v := mayConsolidate(st, c); !v.OK() {
			st.Block(c, v)
			continue
		}
		candidates = append(candidates, c)
	}
	return candidates
}

// bestSearch returns the finished search with the highest gain of those that plain describes.
func bestSearch(st *problem.State, candidates []*problem.Candidate, cursor Cursor) *search {
	way := firstStrategy(st.Cluster)
	best := newSearch(st, candidates, way, cursor).run()
	removed := 0
	for i := range best.st.Commands[len(st.Commands):] {
		removed += len(best.st.Commands[len(st.Commands)+i].Nodes)
	}
	var others []strategy
	if removed > 0 && len(candidates) > maxCombined && len(candidates) <= screeningAbove {
		others = append(others, extending)
	}
	if removed*manyRemoved >= len(candidates) && len(candidates) > maxCombined && !way.joint {
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
	return cmp.Or(p.MayEvictPods(c), st.Incoming(c))
}

// offeringOf names the offering of the node, for users.
func offeringOf(c *problem.Candidate) string {
	if c.Type() == "" {
		return "node " + c.Node.Name + " without label " + corev1.LabelInstanceTypeStable
	}
	return fmt.Sprintf("%s (%s, %s)", c.Type(), cmp.Or(c.CapacityType(), "unknown capacity type"),
		cmp.Or(c.Node.Labels[corev1.LabelTopologyZone], "unknown zone"))
}

// repeatAfter is how long a verdict counts in a cluster that does not change, not even in a price. What a search finds then depends
// on the time only by how long nodes have until they expire, and by undoWindow.
const repeatAfter = 15 * time.Minute

// Results are those of searches that found nothing to do, by node name. They count only while the cluster does not change.
type Results map[string]result

// A result is the verdict of a candidate, OK if MaxWhatIfs was reached before it was evaluated. It counts as long as it is new, the
// budgets of the NodePool allow as many nodes to be disrupted, and Options.MaxNodes is the same.
type result struct {
	verdict          model.Verdict
	at               time.Time
	budget, maxNodes int
}

// resultOf returns the verdict of a candidate as the result of a search in st.
func resultOf(st *problem.State, c *problem.Candidate, v model.Verdict) result {
	r := result{verdict: v, at: st.Problem.Snapshot.Now, maxNodes: st.Problem.Options.MaxNodes}
	if a := st.Budgets.Of(c.Node.Pool); a != nil {
		r.budget = a.Left(apiv1.DisruptionReasonUnderutilized)
	}
	return r
}

// updated returns the results with those of the candidates replaced by fresh ones.
func (rs Results) updated(candidates []*problem.Candidate, fresh Results) Results {
	out := Results{}
	maps.Copy(out, rs)
	for _, c := range candidates {
		delete(out, c.Node.Name)
	}
	maps.Copy(out, fresh)
	return out
}

// repeat blocks the candidates that have been evaluated, and returns the others. ok is false if a new search for all candidates is
// needed, because they have no result, or because one no longer counts.
func (rs Results) repeat(st *problem.State, candidates []*problem.Candidate) (others []*problem.Candidate, ok bool) {
	for _, c := range candidates {
		r, known := rs[c.Node.Name]
		now := resultOf(st, c, r.verdict)
		if known && (now.at.Sub(r.at) >= repeatAfter || now.budget != r.budget || now.maxNodes != r.maxNodes) {
			return candidates, false
		}
		ok = ok || known
	}
	for _, c := range candidates {
		if v := rs[c.Node.Name].verdict; v.OK() {
			others = append(others, c)
		} else {
			st.Block(c, v)
		}
	}
	return others, ok
}
