package pack_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/engine/verify"
)

// 2,200 pods are so many that goroutines share the work. The plan, its order and its floor depend neither on the number
// of processors nor on the order of input. verify accepts the plan.
func TestManyPodsOnManyProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for seed := range uint64(4) {
		c := many(rand.New(rand.NewPCG(seed, 5)), 2200)
		if seed%2 == 1 { // some pods get no node, and the floor counts only the others
			c.Pools[0].Limits = model.Resources{"cpu": 700_000}.List()
			c.Pods = append(c.Pods, scenario.Pod{Name: "huge", Count: 3, CPU: "500", Memory: "1Gi"})
		}
		var want *model.Plan
		for _, processors := range []int{1, 2, 4} {
			runtime.GOMAXPROCS(processors)
			s, err := c.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			plan := pack.Solve(s, pack.Options{Labels: labels})
			if want == nil {
				want = plan
				if v := verify.Plan(s, plan); len(v) > 0 {
					t.Errorf("seed %d: %v", seed, v)
				}
			}
			if diff := cmp.Diff(told(want), told(plan)); diff != "" {
				t.Errorf("seed %d: another plan on %d processors (-one +many):\n%s", seed, processors, diff)
			}
			slices.Reverse(c.Pods)
			slices.Reverse(c.Types)
		}
	}
}

// told returns what must be equal in two plans, as text: price and floor, Plan.String, each planned node with its options and
// pods, and the pods in Plan.Order.
func told(p *model.Plan) []string {
	out := []string{fmt.Sprint(p.Price, " ", p.Floor), p.String()}
	for i := range p.Nodes {
		n := &p.Nodes[i]
		line := fmt.Sprint(n.Pool.Name, n.Requirements, n.Requests, n.Offering)
		for _, option := range n.Options {
			line += " " + option.Name
		}
		for _, pod := range n.Pods {
			line += " " + pod.Key
		}
		out = append(out, line)
	}
	for _, pod := range p.Order {
		out = append(out, pod.Key)
	}
	return out
}

// many returns about n pods of applications, with spread constraints over zones or nodes, affinity, anti-affinity, or none.
func many(r *rand.Rand, n int) *scenario.Cluster {
	c := alike(r)
	c.Pods = nil
	for i := range c.Types {
		c.Types[i].Zones = []string{"a", "b", "c"}
	}
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	for i := 0; i < n; {
		selector := map[string]string{"app": fmt.Sprint("a", r.IntN(9))}
		p := scenario.Pod{
			Name: fmt.Sprintf("p%d", i), Count: 1 + r.IntN(6), CPU: pick("250m", "500m", "1"), Memory: pick("512Mi", "2Gi", "7900Mi"),
			Labels: map[string]string{"app": fmt.Sprint("a", r.IntN(9)), "of": fmt.Sprint(i)},
		}
		key := pick(corev1.LabelTopologyZone, corev1.LabelHostname)
		switch r.IntN(4) {
		case 1:
			p.Labels = map[string]string{"app": "apart"}
			p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
					{TopologyKey: corev1.LabelHostname, LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels}},
				},
			}}
		case 2:
			p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
				MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule,
				LabelSelector: &metav1.LabelSelector{MatchLabels: selector},
			}}
		case 3:
			p.Labels = map[string]string{"with": selector["app"]}
			p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
					{TopologyKey: corev1.LabelTopologyZone, LabelSelector: &metav1.LabelSelector{MatchLabels: p.Labels}},
				},
			}}
		}
		c.Pods = append(c.Pods, p)
		i += p.Count
	}
	return c
}
