package view_test

import (
	"testing"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/dashboard/view"
)

// Two NodePools with consolidateAfter Never are kept by one rule, but one change lets only the nodes of one of them go. The
// pods of one PodDisruptionBudget are one cause. A rule that time alone ends is no change that can be made.
func TestBestIsOneChange(t *testing.T) {
	never := func(pool string) model.Verdict {
		return model.Verdict{Rule: model.RulePolicy, Cause: model.CauseNever, Key: pool}
	}
	pdb := func(pod string) model.Verdict {
		return model.Verdict{Rule: model.RulePDB, Subject: "PodDisruptionBudget shop/db allows no further disruption (pod shop/" + pod + ")"}
	}
	rules, best := view.BlockedOf([]model.Blocked{
		{Verdict: model.Verdict{Rule: model.RuleRecent}, Waste: 9},
		{Verdict: never("a"), Waste: 2}, {Verdict: never("b"), Waste: 1.5}, {Verdict: never("b"), Waste: 1},
		{Verdict: pdb("db-0"), Waste: 1}, {Verdict: pdb("db-1"), Waste: 1},
	})
	if len(rules) != 3 {
		t.Fatalf("%+v", rules)
	}
	if r := rules[1]; r.Rule != "policy" || r.Nodes != 3 || r.DollarsPerHour != 4.5 || r.Causes != 2 || r.Fix != `set spec.disruption.consolidateAfter of NodePool "a" to a duration` {
		t.Errorf("the rule: %+v", r)
	}
	if r := rules[2]; r.Rule != "pdb" || r.Nodes != 2 || r.Causes != 1 {
		t.Errorf("the PodDisruptionBudget: %+v", r)
	}
	if best == nil || best.Nodes != 2 || best.DollarsPerHour != 2.5 || best.Fix != `set spec.disruption.consolidateAfter of NodePool "b" to a duration` {
		t.Errorf("the best: %+v", best)
	}
	if _, best := view.BlockedOf([]model.Blocked{{Verdict: model.Verdict{Rule: model.RuleRecent}, Waste: 9}}); best != nil {
		t.Errorf("a rule without a fix: %+v", best)
	}
}
