package explain

import (
	"cmp"
	"slices"
	"strings"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A Finding is why one pool takes no more pods of a class, and the smallest change that would make it.
type Finding struct {
	// Pool is empty if the reason lies in the pods themselves.
	Pool string `json:"pool,omitempty"`
	// Why is a sentence without a full stop.
	Why string `json:"why"`
	// Fix is what to change, in the same form; empty if nothing is known to help.
	Fix string `json:"fix,omitempty"`

	// rule and missing order findings: less missing is nearer, and among equals the rule that is tried later.
	rule    model.Rule
	missing int
}

// String renders the finding in one line.
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

// An Explainer explains decisions that were made on one snapshot.
type Explainer struct {
	snapshot *model.Snapshot
	labels   apiv1.LabelRules
}

// New returns an Explainer for decisions on s under the label rules that they were made with.
func New(s *model.Snapshot, labels apiv1.LabelRules) *Explainer {
	return &Explainer{snapshot: s, labels: labels}
}

// Refusal returns why the pods of r go nowhere: a finding for each pool that was tried, nearest miss first.
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

// An obstacle is one thing that keeps a pod from a pool.
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

// obstacles returns all that is known to stand between pod and pool. The verdict's own rule is always among them.
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

// sameMatter reports whether two rules are two ways to say that no type has room.
func sameMatter(a, b model.Rule) bool {
	room := func(r model.Rule) bool {
		return r == model.RuleResources || r == model.RuleShape || r == model.RuleOffering
	}
	return room(a) && room(b)
}
