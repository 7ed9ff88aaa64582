package consolidate

import (
	"fmt"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

// crowded returns a cluster of the given number of nodes with pods of a few sizes. If full is set, all nodes have the
// cheapest type and no free cpu for another pod. Otherwise types and numbers of pods are random.
func crowded(seed uint64, nodes int, full bool) *scenario.Cluster {
	r := rand.New(rand.NewPCG(seed, 0))
	c := &scenario.Cluster{
		Pools: []scenario.Pool{{Name: "default", Disruption: apiv1.Disruption{
			ConsolidateAfter: apiv1.MustParseNillableDuration("0s"), Budgets: []apiv1.Budget{{Nodes: "100%"}},
		}}},
		Types: []scenario.Type{
			{Name: "c.large", CPU: "2", Memory: "4Gi", Price: 0.08}, {Name: "m.large", CPU: "2", Memory: "8Gi", Price: 0.1},
			{Name: "m.xlarge", CPU: "4", Memory: "16Gi", Price: 0.2}, {Name: "r.xlarge", CPU: "4", Memory: "32Gi", Price: 0.26},
			{Name: "old.large", CPU: "2", Memory: "8Gi", Price: 0.14}, {Name: "m.2xlarge", CPU: "8", Memory: "32Gi", Price: 0.4},
		},
	}
	memory := []string{"500Mi", "900Mi", "1700Mi"}
	if full {
		memory = memory[:2]
	}
	room := map[string]int{"c.large": 4, "m.large": 4, "old.large": 4, "m.xlarge": 8, "r.xlarge": 8, "m.2xlarge": 16}
	for i := range nodes {
		t := c.Types[r.IntN(len(c.Types))].Name
		if full {
			t = "c.large"
		}
		n := scenario.Node{Name: fmt.Sprintf("n%03d", i), Pool: "default", Type: t, Conditions: []string{"Consolidatable"}}
		pods := 1 + r.IntN(room[t])
		if full {
			pods = room[t]
		}
		for k := range pods {
			n.Pods = append(n.Pods, scenario.Pod{Name: fmt.Sprintf("p%d-%d", i, k), CPU: "450m", Memory: memory[r.IntN(len(memory))]})
		}
		c.Nodes = append(c.Nodes, n)
	}
	return c
}

// tight returns a cluster of nodes of all types that are nearly full. Some pods request mostly cpu, some mostly memory, and
// small ones fit on nearly every node. Every third node is tainted, and its pods tolerate the taint.
func tight(seed uint64, nodes int) *scenario.Cluster {
	r := rand.New(rand.NewPCG(seed, 7))
	c := crowded(seed, 0, false)
	shapes := [][2]int{{450, 500}, {450, 900}, {450, 1700}, {100, 3000}, {50, 900}, {1500, 500}, {900, 6000}}
	shapes = shapes[:2+r.IntN(len(shapes)-1)]
	sizes := [][2]int{{2000, 4096}, {2000, 8192}, {4000, 16384}, {4000, 32768}, {2000, 8192}, {8000, 32768}} // as the types
	for i := range nodes {
		k := r.IntN(len(c.Types))
		n := scenario.Node{Name: fmt.Sprintf("n%03d", i), Pool: "default", Type: c.Types[k].Name, Conditions: []string{"Consolidatable"}}
		var tolerations []corev1.Toleration
		if i%3 == 2 {
			n.Taints = []corev1.Taint{{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}}
			tolerations = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
		}
		left := [2]int{sizes[k][0] - r.IntN(200), sizes[k][1] - r.IntN(500)}
		for range 60 {
			shape := shapes[r.IntN(len(shapes))]
			if left[0] < shape[0] || left[1] < shape[1] {
				continue
			}
			left[0], left[1] = left[0]-shape[0], left[1]-shape[1]
			n.Pods = append(n.Pods, scenario.Pod{
				Name: fmt.Sprintf("p%d-%d", i, len(n.Pods)), CPU: fmt.Sprintf("%dm", shape[0]), Memory: fmt.Sprintf("%dMi", shape[1]),
				Spec: corev1.PodSpec{Tolerations: tolerations},
			})
		}
		c.Nodes = append(c.Nodes, n)
	}
	return c
}

// Screening seldom rejects a candidate whose removal pays in the whole cluster. The savings lost by that are small.
func TestScreeningLosesLittle(t *testing.T) {
	screenedOut, wrong := 0, 0
	lost, found := 0.0, 0.0
	for seed, nodes := range []int{60, 80, 100, 80, 60, 100, 80, 80, 60, 300, 300} {
		s, err := tight(uint64(seed), nodes).Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		st := problem.Compile(s, problem.Options{})
		search := newSearch(st, st.Problem.Candidates, plain, Cursor{})
		cluster := search.view(nil).cluster
		screen := reduce(st.Problem, cluster)
		for _, c := range st.Problem.Candidates {
			p := search.price(st.WhatIf(cluster, []*problem.Candidate{c}))
			switch no := !screen.mayPay(c).OK(); {
			case no && p.Verdict.OK():
				screenedOut, wrong, lost = screenedOut+1, wrong+1, lost+p.Saves
				t.Logf("seed %d: %s of %d nodes is screened out, and saves $%.4f/h of $%.4f/h", seed, c.Node.Name, nodes, p.Saves, c.Price)
			case no:
				screenedOut++
			case p.Verdict.OK():
				found += p.Saves
			}
		}
	}
	t.Logf("%d screened out, of which %d wrongly: $%.2f/h lost of $%.2f/h", screenedOut, wrong, lost, lost+found)
	if screenedOut < 100 || wrong*100 > screenedOut || lost > found/200 {
		t.Errorf("%d screened out, of which %d wrongly: $%.2f/h lost of $%.2f/h; want one in a hundred at most, and a half per cent", screenedOut, wrong, lost, lost+found)
	}
}

// A decision that screens candidates saves at least 99.5% of what a decision saves that evaluates each of them in the whole
// cluster.
func TestScreenedDecisionIsAsGood(t *testing.T) {
	screened, less := 0, 0
	quick, slow := 0.0, 0.0
	exhaustive := plain
	exhaustive.exhaustive = true
	for seed := range uint64(8) {
		s, err := tight(seed, 70).Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		st := problem.Compile(s, problem.Options{})
		with := newSearch(st, st.Problem.Candidates, plain, Cursor{}).run().st
		without := newSearch(st, st.Problem.Candidates, exhaustive, Cursor{}).run().st
		screened += with.Stats.Screened
		a, b := saved(with.Commands), saved(without.Commands)
		if quick, slow = quick+a, slow+b; a < b-problem.Epsilon {
			less++
		}
	}
	t.Logf("%d screened; $%.2f/h saved, $%.2f/h without screening; less in %d clusters of 8", screened, quick, slow, less)
	if screened < 50 || quick < 0.995*slow {
		t.Errorf("%d screened; $%.2f/h saved, $%.2f/h without screening", screened, quick, slow)
	}
}

func saved(commands []model.Command) (total float64) {
	for i := range commands {
		total += commands[i].Saves
	}
	return total
}

// No node that screening rejects could be removed with profit in the whole cluster. Screening rejects some nodes and accepts
// others, so the test compares something.
func TestScreeningAgreesWithTheWhole(t *testing.T) {
	no, yes := 0, 0
	for seed := range uint64(5) {
		s, err := crowded(seed, 60, seed%2 == 0).Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		st := problem.Compile(s, problem.Options{})
		search := newSearch(st, st.Problem.Candidates, plain, Cursor{})
		cluster := search.view(nil).cluster
		screen := reduce(st.Problem, cluster)
		for _, c := range st.Problem.Candidates {
			if !unconstrained(c.Pods) {
				t.Fatalf("pods of %s are constrained", c.Node.Name)
			}
			if screen.mayPay(c).OK() {
				yes++
				continue
			}
			no++
			if p := search.price(st.WhatIf(cluster, []*problem.Candidate{c})); p.Verdict.OK() {
				t.Errorf("seed %d: %s is screened out, and would save $%.4f/h", seed, c.Node.Name, p.Saves)
			}
		}
	}
	if no == 0 || yes == 0 {
		t.Errorf("%d nodes are screened out and %d are not", no, yes)
	}
}
