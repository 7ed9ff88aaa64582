package disrupt_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/disrupt/budget"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/engine/scenario/rawcluster"
	"github.com/karpenter-go/karpenter/engine/scenario/rawpods"
	"github.com/karpenter-go/karpenter/engine/verify"
)

// FuzzDecide runs Decide on pods and budgets that the API server accepts. Decide does not panic, and its result does not
// depend on the order of objects. verify accepts the commands, and they stay within budgets. Consolidation does not remove a
// node with a pod that must not be disrupted.
func FuzzDecide(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("nodes that may be consolidated, with pods of two tenants on them"))
	f.Fuzz(checkDecide)
}

// checkDecide runs Decide on the cluster that data encodes, and checks the decision.
func checkDecide(t *testing.T, data []byte) {
	b := rawpods.From(data)
	o := options()
	o.Pack.Fast = rawpods.Pick(b, true, false)
	o.MaxWhatIfs = 200
	d := rawcluster.Busy(t, b)
	now := scenario.Epoch()
	s := model.Compile(d).At(now)
	got := disrupt.Decide(s, o, disrupt.Cursor{})
	for _, v := range verify.Commands(s, got.Expected, got.Commands, o.Pack.Labels) {
		switch v.Rule {
		case verify.RuleSpread, verify.RuleAffinity, verify.RuleAntiAffinity:
			continue // rules between pods are the packer's task, and its own tests check them
		}
		t.Errorf("%s\n%s", v, got)
	}
	if breach := keepsBudgets(s, got); breach != nil {
		t.Error(breach)
	}
	for i := range got.Commands {
		for _, n := range got.Commands[i].Nodes {
			if got.Commands[i].Reason == apiv1.DisruptionReasonUnderutilized && slices.ContainsFunc(n.Pods, mustStay) {
				t.Errorf("%s goes with a pod that must not be disrupted\n%s", n.Name, got)
			}
		}
	}
	other := disrupt.Decide(model.Compile(rawcluster.Reversed(d)).At(now), o, disrupt.Cursor{})
	if other.String() != got.String() {
		t.Errorf("in another order:\n%s\nbefore:\n%s", other, got)
	}
}

func mustStay(p *model.Pod) bool {
	return p.Object.Annotations[apiv1.DoNotDisruptAnnotationKey] == "true" && p.Object.Status.Phase == corev1.PodRunning
}

// FuzzBudgets computes allowances of budgets that the API server accepts. An allowance is never negative, and each disrupted
// node reduces it by one.
func FuzzBudgets(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("a budget whose schedule hits never"))
	f.Fuzz(func(t *testing.T, data []byte) {
		s := model.Compile(rawcluster.Busy(t, rawpods.From(data))).At(scenario.Epoch())
		budgets := budget.Of(s, false)
		for _, p := range s.Pools() {
			for _, reason := range budget.Reasons {
				for range 4 {
					before := budgets.Of(p.Name).Left(reason)
					v := budgets.Allow([]string{p.Name}, reason)
					if before < 0 || v.OK() != (before > 0) {
						t.Fatalf("%s %s: %d left: %s", p.Name, reason, before, v)
					}
					if !v.OK() {
						break
					}
					budgets.Take([]string{p.Name})
					if after := budgets.Of(p.Name).Left(reason); after != before-1 {
						t.Fatalf("%s %s: %d left, then %d", p.Name, reason, before, after)
					}
				}
			}
		}
	})
}
