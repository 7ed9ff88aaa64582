package view

import (
	"strings"

	"github.com/karpenter-go/karpenter/engine/explain"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/decisions"
)

// A Fate is the last decision of disruption about a node. The zero Fate means that there is none.
type Fate struct {
	// Rule is the name of the rule that keeps the node, Verdict its details.
	Rule    string
	Verdict model.Verdict
	Blocked bool
	// WastePerHour is the waste of a node that is kept.
	WastePerHour float64
	// Command is the command that removes the node. Withheld is true if the enforcement mode withholds it.
	Command  *model.Command
	Withheld bool
}

// FatesOf returns the fates in an outcome, by node name.
func FatesOf(o decisions.Outcome) map[string]Fate {
	out := make(map[string]Fate, len(o.Blocked))
	for i := range o.Blocked {
		b := &o.Blocked[i]
		out[b.Node.Name] = Fate{Rule: b.Verdict.Rule.Word(), Verdict: b.Verdict, Blocked: true, WastePerHour: b.Waste}
	}
	for withheld, commands := range map[bool][]model.Command{false: o.Commands, true: o.Proposed} {
		for i := range commands {
			for _, n := range commands[i].Nodes {
				if has := out[n.Name]; has.Command == nil || has.Withheld {
					out[n.Name] = Fate{Command: &commands[i], Withheld: withheld}
				}
			}
		}
	}
	return out
}

// shown is the part of a Fate that a tile shows.
type shown struct{ rule, pod string }

func (f Fate) shown() shown {
	if !f.Blocked {
		return shown{}
	}
	return shown{rule: f.Rule, pod: f.pod()}
}

// pod returns the key of the pod that blocks the disruption, as the verdict names it, empty if it names none.
func (f Fate) pod() string {
	if f.Verdict.Rule != model.RuleAnnotation && f.Verdict.Rule != model.RulePDB {
		return ""
	}
	i := strings.LastIndex(f.Verdict.Subject, "pod ")
	if i < 0 {
		return ""
	}
	return strings.TrimSuffix(f.Verdict.Subject[i+len("pod "):], ")")
}

// Stays returns the fate in the form of the JSON.
func (f Fate) Stays(n *model.Node) Stays {
	switch {
	case n.Pool == "":
		return Stays{Reason: "not managed by a NodePool: never disrupted"}
	case f.Command != nil:
		out := Stays{Reason: "would " + f.Command.String()}
		if f.Withheld {
			out.Reason += "; withheld by the enforcement mode"
		}
		return out
	case f.Blocked:
		return Stays{Rule: f.Rule, Reason: f.Verdict.String(), Fix: fixOf(f.Verdict), WastePerHour: &f.WastePerHour}
	}
	return Stays{}
}

func fixOf(v model.Verdict) string {
	if fix, known := explain.Fix(v); known {
		return fix
	}
	return ""
}
