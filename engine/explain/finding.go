package explain

import (
	"cmp"
	"slices"
	"strings"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/units"
)

// A Finding is the reason why a pool cannot launch a node for a pod, and the smallest change that would allow it.
type Finding struct {
	// Pool is the name of the pool. It is empty if the reason is about the pods themselves.
	Pool string `json:"pool,omitempty"`
	// Why are all obstacles in one line, without a full stop.
	Why string `json:"why"`
	// Fix are the fixes of all obstacles in one line, without a full stop; empty if one of them has none.
	Fix string `json:"fix,omitempty"`
	// Obstacles are the single obstacles. There is at least one, and all have to be removed.
	Obstacles []Obstacle `json:"obstacles"`
}

// Rule returns the rule of the first obstacle.
func (f Finding) Rule() model.Rule { return f.Obstacles[0].rule }

// An Obstacle is one rule that prevents a pool from launching a node for a pod.
type Obstacle struct {
	// Why is a part of a sentence, without a full stop.
	Why string `json:"why"`
	// Fix is what to change. If no change is known to help, it is empty, and NoFix is the reason.
	Fix   string `json:"fix,omitempty"`
	NoFix string `json:"noFix,omitempty"`

	rule model.Rule
}

// Advice returns "fix: …" or "no fix: …".
func (o Obstacle) Advice() string {
	if o.Fix != "" {
		return "fix: " + o.Fix
	}
	return "no fix: " + o.NoFix
}

// String returns the finding in one line.
func (f Finding) String() string {
	parts := make([]string, len(f.Obstacles))
	for i, o := range f.Obstacles {
		parts[i] = o.Why + " (" + o.Advice() + ")"
	}
	text := strings.Join(parts, "; also: ")
	if f.Pool != "" {
		text = `NodePool "` + f.Pool + `": ` + text
	}
	return text
}

// An Explainer explains decisions that were made from one Snapshot. It must not be used concurrently.
type Explainer struct {
	snapshot *model.Snapshot
	labels   apiv1.LabelRules
	// overheads caches the requests of DaemonSets by pool and requirements, then by instance type.
	overheads map[string]map[*model.InstanceType]model.Resources
}

// New returns an Explainer for s. labels are the label rules with which the decisions were made.
func New(s *model.Snapshot, labels apiv1.LabelRules) *Explainer {
	return &Explainer{snapshot: s, labels: labels}
}

// Refusal returns a finding for each reason of the refusal, fewest obstacles first.
func (e *Explainer) Refusal(r model.Refusal) []Finding { return e.findings(r.Pods[0], r.Reasons) }

// mostPools is the largest number of pools that Nearest compares. mostBytes is the length of the longest text of Brief: the
// API server limits the message of an event to 1,024 bytes.
const (
	mostPools = 20
	mostBytes = 1000
)

// Nearest returns the finding with the fewest obstacles, and how many other NodePools refuse the pods as well. Of more than
// mostPools pools, only those that meet the most conditions are compared.
func (e *Explainer) Nearest(r model.Refusal) (nearest Finding, others int) {
	near := r.Nearest()
	return e.findings(r.Pods[0], near[:min(len(near), mostPools)])[0], len(near) - 1
}

// Brief returns the refusal in one line for an event: the nearest NodePool with its fix, and the number of the others.
func (e *Explainer) Brief(r model.Refusal) string {
	f, others := e.Nearest(r)
	rest := ""
	if others > 0 {
		rest = "; and " + units.Counted(others, "more NodePool")
	}
	return cut(f.String(), mostBytes-len(rest)) + rest
}

// cut returns the text, shortened to at most n bytes. A shortened text ends with an ellipsis and never with a part of a
// character.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n-len("…")], "") + "…"
}

// findings explains the reasons, those with the fewest obstacles first. Among those with equally many, the one with the highest
// rule comes first, because higher rules are mostly checked later.
func (e *Explainer) findings(pod *model.Pod, reasons []model.PoolVerdict) []Finding {
	var out []Finding
	for _, reason := range slices.SortedStableFunc(slices.Values(reasons), func(a, b model.PoolVerdict) int {
		return cmp.Compare(b.Verdict.Rule, a.Verdict.Rule)
	}) {
		out = append(out, e.finding(pod, reason))
	}
	slices.SortStableFunc(out, func(a, b Finding) int { return cmp.Compare(len(a.Obstacles), len(b.Obstacles)) })
	return out
}

func (e *Explainer) finding(pod *model.Pod, reason model.PoolVerdict) Finding {
	f := Finding{Pool: reason.Pool, Obstacles: []Obstacle{obstacleOf(reason.Verdict)}}
	if pool, ok := e.snapshot.Pool(reason.Pool); ok {
		f.Obstacles = e.obstacles(pod, pool, reason.Verdict)
	}
	var whys, fixes []string
	for i := range f.Obstacles {
		o := &f.Obstacles[i]
		if o.Fix == "" {
			o.NoFix = cmp.Or(o.NoFix, "no single change is known to help")
		}
		whys, fixes = append(whys, o.Why), append(fixes, o.Fix)
	}
	f.Why = strings.Join(whys, "; also: ")
	if !slices.Contains(fixes, "") {
		f.Fix = strings.Join(fixes, "; also: ")
	}
	return f
}

// obstacleOf returns the verdict with its general fix.
func obstacleOf(v model.Verdict) Obstacle {
	text, known := Fix(v)
	if !known {
		return Obstacle{rule: v.Rule, Why: v.String(), NoFix: text}
	}
	return Obstacle{rule: v.Rule, Why: v.String(), Fix: text}
}

// tooSmall are the rules which mean that no large enough instance type is available. They are shown as one obstacle.
var tooSmall = []model.Rule{model.RuleResources, model.RuleShape, model.RuleOffering}

// obstacles returns all known obstacles. If none of them explains the verdict, the verdict itself is added as the first. There
// is only one obstacle if the pool launches no nodes for pods, or if the verdict has RuleUnsupported or RuleInvalid.
func (e *Explainer) obstacles(pod *model.Pod, pool *model.Pool, v model.Verdict) []Obstacle {
	if u := pool.Usable(); !u.OK() {
		return []Obstacle{obstacleOf(u)}
	}
	if v.Rule == model.RuleUnsupported || v.Rule == model.RuleInvalid {
		return []Obstacle{obstacleOf(v)}
	}
	m := e.bestMatch(pod, pool)
	if len(m.obstacles) == 0 {
		m.obstacles = e.capacity(pod, m)
	}
	all := append(taints(pod, pool), m.obstacles...)
	if slices.ContainsFunc(all, func(o Obstacle) bool {
		// The packer gets only types with an available offering. For a type without one, it returns RuleLabels, as if
		// the type did not exist.
		return o.rule == v.Rule || slices.Contains(tooSmall, o.rule) && slices.Contains(tooSmall, v.Rule) ||
			v.Rule == model.RuleLabels && o.rule == model.RuleOffering
	}) {
		return all
	}
	return append([]Obstacle{e.inPool(pod, pool, v)}, all...)
}
