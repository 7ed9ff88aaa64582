package lint

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/karpenter-go/karpenter/internal/finding"
)

// A Finding is one mistake.
type Finding struct {
	Rule     string        `json:"rule"`
	Severity finding.Level `json:"severity"`
	File     string        `json:"file"`
	// Line is where the field is, from 1.
	Line   int    `json:"line"`
	Object string `json:"object,omitempty"`
	Field  string `json:"field,omitempty"`
	// Message states the problem, Fix the change that solves it.
	Message string `json:"message"`
	Fix     string `json:"fix"`
}

// String returns the finding in two lines, as compilers write theirs.
func (f Finding) String() string {
	where := ""
	if f.Object != "" {
		where = f.Object + ": "
	}
	if f.Field != "" {
		where += f.Field + ": "
	}
	return fmt.Sprintf("%s:%d: %s: %s%s [%s]\n\tfix: %s", f.File, f.Line, f.Severity, where, f.Message, f.Rule, f.Fix)
}

// A Rule is one kind of mistake.
type Rule struct {
	Name     string
	Severity finding.Level
	About    string
}

// Rules are all rules, by name.
var Rules = []Rule{
	{"arn-for-name", finding.Warning, "an ARN is used where the name of a role or instance profile is required"},
	{"bad-yaml", finding.Error, "the file is not valid YAML"},
	{"budget-blocks-disruption", finding.Warning, "disruption budgets block a disruption reason permanently"},
	{"budget-never-active", finding.Warning, "the schedule of a disruption budget never fires"},
	{"duplicate-object", finding.Error, "two manifests define the same object"},
	{"few-spot-types", finding.Warning, "a spot NodePool allows so few instance types that a shortage can affect all of them"},
	{"few-spot-types-to-consolidate", finding.Note, "a spot NodePool allows too few instance types for spot-to-spot consolidation of single nodes"},
	{"image-family-ends", finding.Warning, "the image family has no images for newer versions of Kubernetes"},
	{"invalid-manifest", finding.Error, "the API server or the controller rejects the manifest"},
	{"label-typo", finding.Warning, "a label is similar to a well-known label, but differs from it"},
	{"legacy-kind", finding.Error, "a kind or version that is no longer served"},
	{"legacy-label", finding.Warning, "a label or annotation that was renamed"},
	{"min-values-unreachable", finding.Error, "minValues exceeds the number of values that the instance types have"},
	{"missing-node-class", finding.Warning, "a NodePool refers to a node class that is not among the files"},
	{"missing-pool", finding.Warning, "pods select a NodePool that is not among the files"},
	{"no-limits", finding.Note, "a NodePool has no spec.limits"},
	{"no-instance-types", finding.Error, "no instance type meets all requirements"},
	{"nothing-to-check", finding.Error, "the files contain no Kubernetes manifest"},
	{"overlapping-pools", finding.Warning, "two NodePools accept the same pods and have the same weight"},
	{"pdb-blocks-eviction", finding.Warning, "a PodDisruptionBudget blocks every eviction"},
	{"unknown-kind", finding.Error, "a kind that no API group of Karpenter has"},
	{"unknown-value", finding.Warning, "a value that no instance type has"},
	{"zone-id", finding.Warning, "a zone ID is used where a zone name is required"},
}

// severity returns the severity of a rule.
func severity(rule string) finding.Level {
	i := slices.IndexFunc(Rules, func(r Rule) bool { return r.Name == rule })
	return Rules[i].Severity
}

// sorted orders findings by place.
func sorted(list []Finding) []Finding {
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule),
			cmp.Compare(a.Field, b.Field), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(list)
}
