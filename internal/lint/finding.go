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
	// Line is the line of the field, from 1.
	Line   int    `json:"line"`
	Object string `json:"object,omitempty"`
	Field  string `json:"field,omitempty"`
	// Message states the problem, Fix the change that solves it.
	Message string `json:"message"`
	Fix     string `json:"fix"`
}

// String returns the finding in two lines, in the format of compilers: file:line: message.
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
	About    string // what the rule finds; the manual has this text, too
}

// Rules are all rules, sorted by name.
var Rules = []Rule{
	{"arn-for-name", finding.Warning, "the ARN of a role or instance profile where its name is required"},
	{"bad-yaml", finding.Error, "the file is not valid YAML"},
	{"budget-blocks-disruption", finding.Warning, "disruption budgets that block a disruption reason permanently"},
	{"budget-never-active", finding.Warning, "a disruption budget whose schedule never fires"},
	{"duplicate-key", finding.Error, "a key that is set twice in one object: kubectl rejects it, other tools apply the last one"},
	{"duplicate-object", finding.Error, "one object twice in a directory"},
	{"few-spot-types", finding.Warning, "a NodePool that allows spot but not on-demand, with fewer than 5 instance types: a shortage can affect all of them"},
	{"few-spot-types-to-consolidate", finding.Note, "a NodePool that allows spot, with fewer than 15 instance types: spot-to-spot consolidation of single nodes needs more"},
	{"image-family-ends", finding.Warning, "an image family without images for newer versions of Kubernetes: AL2 has none for 1.33 and newer"},
	{"invalid-manifest", finding.Error, "a manifest that the API server or the controller rejects"},
	{"label-typo", finding.Warning, "a label that is similar to a well-known label, in NodePools, selectors, affinities and spread constraints"},
	{"legacy-kind", finding.Error, "a kind or version before v1: run karpenter convert"},
	{"legacy-label", finding.Warning, "a label or annotation that was renamed, or a pod annotation that blocks eviction by Cluster Autoscaler only"},
	{"min-values-unreachable", finding.Error, "minValues above the number of values that the instance types have"},
	{"missing-node-class", finding.Warning, "a NodePool whose node class is not among the files, although other node classes are"},
	{"missing-pool", finding.Warning, "pods that select a NodePool that is not among the files, although other NodePools are"},
	{"no-limits", finding.Note, "a NodePool without spec.limits"},
	{"no-instance-types", finding.Error, "requirements that no instance type meets, with the one to relax"},
	{"not-in-catalog", finding.Note, "a zone, or an instance type, family or generation, that is newer than the built-in catalog or misspelt"},
	{"nothing-to-check", finding.Error, "the files contain no Kubernetes manifest"},
	{"overlapping-pools", finding.Warning, "NodePools that accept the same pods with the same weight"},
	{"pdb-blocks-eviction", finding.Warning, "a PodDisruptionBudget that blocks every eviction, or two of them for one pod"},
	{"replicas-above-limit", finding.Warning, "a static NodePool with more replicas than spec.limits.nodes"},
	{"unknown-kind", finding.Error, "a kind that no API group of Karpenter has: another group or version, Nodepool, no kind or no apiVersion"},
	{"unknown-value", finding.Warning, "a value that no instance type has, in NodePools and in pods"},
	{"zone-id", finding.Warning, "a zone ID where a zone name is required"},
}

// severity returns the severity of a rule, and panics if the rule is not in Rules.
func severity(rule string) finding.Level {
	i := slices.IndexFunc(Rules, func(r Rule) bool { return r.Name == rule })
	return Rules[i].Severity
}

// sorted sorts findings by file and line, and removes duplicates.
func sorted(list []Finding) []Finding {
	slices.SortStableFunc(list, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Rule, b.Rule),
			cmp.Compare(a.Field, b.Field), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(list)
}
