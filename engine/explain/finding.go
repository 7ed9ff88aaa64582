package explain

import (
	"cmp"
	"slices"
	"strings"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A Finding is the reason why a pool cannot launch a node for a pod, and the smallest change that would allow it.
type Finding struct {
	// Pool is the name of the pool. It is empty if the reason is about the pods themselves.
	Pool string `json:"pool,omitempty"`
	// Why is a sentence without a full stop.
	Why string `json:"why"`
	// Fix is what to change, a sentence without a full stop; empty if no change is known to help.
	Fix string `json:"fix,omitempty"`

	// rule is the rule of the verdict, and missing the number of obstacles. They order findings: fewest obstacles
	// first, then the rule that is checked last.
	rule    model.Rule
	missing int
}

// String returns the finding in one line.
func (f Finding) String() string {
	s := f.Why
	if f.Pool != "" {
		s = `NodePool "` + f.Pool + `": ` + s
	}
	if f.Fix != "" {
		s += " (" + f.Fix + ")"
	}
	return s
}

// An Explainer explains decisions that were made from one Snapshot.
type Explainer struct {
	snapshot *model.Snapshot
	labels   apiv1.LabelRules
}

// New returns an Explainer for s. labels are the label rules with which the decisions were made.
func New(s *model.Snapshot, labels apiv1.LabelRules) *Explainer {
	return &Explainer{snapshot: s, labels: labels}
}

// Refusal returns a finding for each reason of the refusal, fewest obstacles first.
func (e *Explainer) Refusal(r model.Refusal) []Finding {
	out := make([]Finding, 0, len(r.Reasons))
	for _, reason := range r.Reasons {
		out = append(out, e.finding(r.Pods[0], reason))
	}
	slices.SortStableFunc(out, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.missing, b.missing), -cmp.Compare(a.rule, b.rule))
	})
	return out
}

// An obstacle is one rule that prevents a pool from launching a node for a pod.
type obstacle struct {
	rule     model.Rule
	why, fix string
}

// finding explains one reason of a refusal.
func (e *Explainer) finding(pod *model.Pod, reason model.PoolVerdict) Finding {
	f := Finding{Pool: reason.Pool, rule: reason.Verdict.Rule, missing: 1}
	pool, ok := e.snapshot.Pool(reason.Pool)
	if !ok {
		f.Why, f.Fix = reason.Verdict.String(), plainFix(reason.Verdict)
		return f
	}
	all := e.obstacles(pod, pool, reason.Verdict)
	var whys, fixes []string
	for _, o := range all {
		whys = append(whys, o.why)
		if o.fix != "" {
			fixes = append(fixes, o.fix)
		}
	}
	f.missing = len(all)
	f.Why = strings.Join(whys, ", and ")
	if len(fixes) == len(all) {
		f.Fix = strings.Join(fixes, ", and ")
	}
	return f
}

// obstacles returns all known obstacles. One of them is always about the rule of the verdict.
func (e *Explainer) obstacles(pod *model.Pod, pool *model.Pool, v model.Verdict) []obstacle {
	var all []obstacle
	if u := pool.Usable(); !u.OK() {
		return []obstacle{{rule: u.Rule, why: u.String(), fix: poolFix(pool, u)}}
	}
	if v.Rule == model.RuleUnsupported || v.Rule == model.RuleInvalid {
		return []obstacle{{rule: v.Rule, why: v.String(), fix: plainFix(v)}}
	}
	all = append(all, e.taints(pod, pool)...)
	c := e.candidates(pod, pool)
	all = append(all, c.obstacles...)
	if len(c.obstacles) == 0 {
		all = append(all, e.room(pod, pool, c)...)
	}
	if slices.ContainsFunc(all, func(o obstacle) bool { return o.rule == v.Rule || sameMatter(o.rule, v.Rule) }) {
		return all
	}
	fix := poolFix(pool, v)
	if v.Rule == model.RuleTopology {
		fix = e.topologyFix(pool, v.Subject)
	}
	return append([]obstacle{{rule: v.Rule, why: v.String(), fix: fix}}, all...)
}

// sameMatter reports whether the rules are equal kinds of obstacle: no instance type has room.
func sameMatter(a, b model.Rule) bool {
	room := func(r model.Rule) bool {
		return r == model.RuleResources || r == model.RuleShape || r == model.RuleOffering
	}
	return room(a) && room(b)
}
