package pack_test

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/engine/scenario/random"
	"github.com/karpenter-go/karpenter/engine/verify"
)

// Each pod needs a node of its own, and minValues requires n instance types. Each node then counts against the limit with
// the cpu of the n-th smallest type. The plan has as many nodes as the limit allows.
func TestLimitsHoldAsManyAsMinValuesLet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfNDistinct(rapid.Int64Range(1, 16), 1, 6, rapid.ID).Draw(t, "sizes")
		least := rapid.IntRange(1, len(sizes)).Draw(t, "minValues")
		limit := rapid.Int64Range(1, 60).Draw(t, "limit")
		count := rapid.IntRange(1, 6).Draw(t, "count")
		pool := scenario.Pool{
			Name:   "default",
			Limits: corev1.ResourceList{"cpu": *resource.NewQuantity(limit, resource.DecimalSI)},
			Requirements: []apiv1.NodeSelectorRequirementWithMinValues{
				{Key: corev1.LabelInstanceTypeStable, Operator: corev1.NodeSelectorOpExists, MinValues: &least},
			},
		}
		web := scenario.Pod{Name: "web", Count: count, Spec: corev1.PodSpec{Containers: []corev1.Container{
			{Name: "main", Ports: []corev1.ContainerPort{{ContainerPort: 80, HostPort: 8080}}},
		}}}
		c := &scenario.Cluster{Pools: []scenario.Pool{pool}, Pods: []scenario.Pod{web}}
		for _, n := range sizes {
			c.Types = append(c.Types, scenario.Type{
				Name: fmt.Sprintf("m%02d", n), CPU: fmt.Sprint(n), Memory: "8Gi", Price: float64(n) / 10,
			})
		}
		s, err := c.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		plan := pack.Solve(s, pack.Options{Labels: random.Labels})
		if found := (verify.Rules{Labels: random.Labels}).Plan(s, plan); len(found) > 0 {
			t.Fatalf("%v\nplan:\n%s", found, plan)
		}
		slices.Sort(sizes)
		if want := min(int64(count), limit/sizes[least-1]); int64(len(plan.Nodes)) != want {
			t.Fatalf("%d nodes, want %d; plan:\n%s", len(plan.Nodes), want, plan)
		}
		if missing(plan) > 0 && plan.Refusals[0].Reasons[0].Verdict.Rule != model.RuleLimit {
			t.Fatalf("refused for another reason than limits:\n%s", plan)
		}
	})
}
