package pack_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/engine/verify"
)

// Pods with equal requests are packed as one item type, even if only some of them have constraints on other pods of
// their node. In the plan, the pods keep these constraints: verify finds no violation.
func TestPodsOfOneSizeKeepTheirRules(t *testing.T) {
	for seed := range uint64(60) {
		c := alike(rand.New(rand.NewPCG(seed, 1)))
		s, err := c.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		plan := pack.Solve(s, pack.Options{Labels: labels})
		if v := verify.Plan(s, plan); len(v) > 0 {
			t.Errorf("seed %d: %v", seed, v)
		}
		if len(plan.Refusals) > 0 {
			t.Errorf("seed %d: refused: %v", seed, plan.Refusals)
		}
	}
}

// alike returns a cluster with twelve applications, whose pods have one of a few sizes. A third of the applications have
// anti-affinity over the hostname, and a third have a spread constraint over the hostname.
func alike(r *rand.Rand) *scenario.Cluster {
	c := &scenario.Cluster{Pools: []scenario.Pool{{Name: "default"}}}
	for _, cores := range []int{2, 4, 8, 16, 32} {
		for ratio, price := range map[int]float64{2: 0.040, 4: 0.046, 8: 0.058} {
			c.Types = append(c.Types, scenario.Type{
				Name: fmt.Sprintf("r%d-%d", ratio, cores), CPU: fmt.Sprintf("%dm", cores*1000-90),
				Memory: fmt.Sprintf("%dMi", cores*ratio*1024-700), Price: price * float64(cores),
			})
		}
	}
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	for i := range 12 {
		app := map[string]string{"app": fmt.Sprint("a", i)}
		selector := &metav1.LabelSelector{MatchLabels: app}
		p := scenario.Pod{
			Name: fmt.Sprintf("a%d", i), Count: 2 + r.IntN(14), CPU: pick("250m", "1"), Memory: pick("512Mi", "2Gi", "7900Mi"),
			Labels: app,
		}
		switch i % 3 {
		case 1:
			p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
					{TopologyKey: corev1.LabelHostname, LabelSelector: selector},
				},
			}}
		case 2:
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule, LabelSelector: selector,
			}}
		}
		c.Pods = append(c.Pods, p)
	}
	return c
}
