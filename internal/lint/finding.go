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
	// Message says what is wrong, Fix what to do.
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
	{"arn-for-name", finding.Warning, "an ARN where the name of a role or an instance profile belongs"},
	{"bad-yaml", finding.Error, "the file is no YAML"},
	{"budget-blocks-disruption", finding.Warning, "budgets forbid a reason of disruption at all times"},
	{"budget-never-active", finding.Warning, "the schedule of a budget never comes, so the budget never counts"},
	{"duplicate-object", finding.Error, "two manifests are one object"},
	{"few-spot-types", finding.Warning, "a spot pool has so few types that interruptions and shortages hit all of it"},
	{"few-spot-types-to-consolidate", finding.Note, "a spot pool has too few types for single nodes to be replaced by cheaper spot ones"},
	{"image-family-ends", finding.Warning, "the image family has no images for newer Kubernetes"},
	{"label-typo", finding.Warning, "a label looks like a well-known one and is none"},
	{"legacy-kind", finding.Error, "a kind or version that no server has any more"},
	{"legacy-label", finding.Warning, "a label or annotation that has another name now"},
	{"min-values-unreachable", finding.Error, "more values are asked for than there are"},
	{"missing-node-class", finding.Warning, "a pool names a node class that is not there"},
	{"missing-pool", finding.Warning, "pods ask for the nodes of a pool that is not there"},
	{"no-limits", finding.Note, "a pool may grow without end"},
	{"no-types", finding.Error, "no instance type meets the requirements"},
	{"nothing-to-check", finding.Error, "the files have no manifest"},
	{"overlapping-pools", finding.Warning, "two pools suit the same pods and nothing says which comes first"},
	{"pdb-blocks-eviction", finding.Warning, "a disruption budget of pods never allows an eviction"},
	{"refused", finding.Error, "the API server refuses the manifest"},
	{"unknown-kind", finding.Error, "a kind that no server has"},
	{"unknown-value", finding.Warning, "a value that no instance type has"},
	{"zone-id", finding.Warning, "a zone id where a zone name belongs"},
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
