package pack_test

import (
	"strings"
	"testing"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/scenario/rawcluster"
	"github.com/karpenter-go/karpenter/engine/scenario/rawpods"
	"github.com/karpenter-go/karpenter/engine/verify"
)

// FuzzSolve plans for pods that the API server accepts. Planning does not panic, verify accepts the checked plan, the pods of a
// namespace with ordinary requests are placed, and a second call returns the same plan.
func FuzzSolve(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte("two pods whose containers request cpu of 10P"))
	f.Fuzz(func(t *testing.T, data []byte) {
		b := rawpods.From(data)
		o := pack.Options{
			Labels: labels, Fast: rawpods.Pick(b, true, false), Slack: rawpods.Pick(b, 0, 0.2), RelaxMinValues: rawpods.Pick(b, false, true),
			PreferencePolicy: rawpods.Pick(b, pack.PreferenceRespect, pack.PreferenceIgnore),
		}
		d := rawcluster.From(t, b)
		s := model.Compile(d)
		result := pack.SolveChecked(s, o)
		for _, p := range result.Panics {
			t.Errorf("panic: %s\n%s", p.Value, p.Stack)
		}
		if v := verify.Plan(s, result.Plan, labels); len(v) > 0 {
			t.Errorf("the checked plan does not hold: %v\n%s", v, result.Plan)
		}
		for _, key := range refusedPods(result.Plan) {
			if strings.HasPrefix(key, rawpods.Ordinary) {
				t.Errorf("%s is refused:\n%s", key, result.Plan)
			}
		}
		if again := pack.SolveChecked(s, o); again.Plan.String() != result.Plan.String() {
			t.Errorf("another plan for the same:\n%s\nbefore:\n%s", again.Plan, result.Plan)
		}
		if other := pack.SolveChecked(model.Compile(rawcluster.Reversed(d)), o); other.Plan.String() != result.Plan.String() {
			t.Errorf("another plan in another order:\n%s\nbefore:\n%s", other.Plan, result.Plan)
		}
	})
}
