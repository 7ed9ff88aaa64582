package disrupt

import (
	"fmt"
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

// crowded returns a cluster of many nodes of a few types with pods of a few sizes, or of nodes of the best type, as full as can be.
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

// tight returns a cluster of nodes of all kinds that are nearly full, with pods of several shapes: some want mostly cpu, some
// mostly memory, and there are small ones that fit nearly everywhere. Every third node is tainted, and its pods bear that.
func tight(seed uint64, nodes int) *scenario.Cluster {
	r := rand.New(rand.NewPCG(seed, 7))
	c := crowded(seed, 0, false)
	shapes := [][2]int{{450, 500}, {450, 900}, {450, 1700}, {100, 3000}, {50, 900}, {1500, 500}, {900, 6000}}
	shapes = shapes[:2+r.IntN(len(shapes)-1)]
	sizes := [][2]int{{2000, 4096}, {2000, 8192}, {4000, 16384}, {4000, 32768}, {2000, 8192}, {8000, 32768}} // as the types
	for i := range nodes {
		k := r.IntN(len(c.Types))
		n := scenario.Node{Name: fmt.Sprintf("n%03d", i), Pool: "default", Type: c.Types[k].Name, Conditions: []string{"Consolidatable"}}
		var bear []corev1.Toleration
		if i%3 == 2 {
			n.Taints = []corev1.Taint{{Key: "dedicated", Effect: corev1.TaintEffectNoSchedule}}
			bear = []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpExists}}
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
				Spec: corev1.PodSpec{Tolerations: bear},
			})
		}
		c.Nodes = append(c.Nodes, n)
	}
	return c
}

// A sketch seldom calls a node hopeless that the whole cluster would do without, and what that costs is little beside what is
// found.
func TestSketchLosesLittle(t *testing.T) {
	hopeless, wrong := 0, 0
	lost, found := 0.0, 0.0
	for seed, nodes := range []int{60, 80, 100, 80, 60, 100, 80, 80, 60, 300, 300} {
		s, err := tight(uint64(seed), nodes).Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		d := newDecider(s, Options{}, Cursor{})
		d.look()
		k := d.sketch()
		for _, c := range d.ours {
			p := d.whatIf(d.view, []*candidate{c})
			d.judge(p)
			switch no := d.hopeless(k, c); {
			case no && p.verdict.OK():
				hopeless, wrong, lost = hopeless+1, wrong+1, lost+p.saves
				t.Logf("seed %d: %s of %d nodes is hopeless by the sketch, and saves $%.4f/h of $%.4f/h", seed, c.node.Name, nodes, p.saves, c.price)
			case no:
				hopeless++
			case p.verdict.OK():
				found += p.saves
			}
		}
	}
	t.Logf("%d hopeless, of which %d are not: $%.2f/h lost of $%.2f/h", hopeless, wrong, lost, lost+found)
	if hopeless < 100 || wrong*100 > hopeless || lost > found/200 {
		t.Errorf("%d hopeless, of which %d are not: $%.2f/h lost of $%.2f/h; want one in a hundred at most, and a half per cent", hopeless, wrong, lost, lost+found)
	}
}

// A decision that asks sketches first saves as much as one that asks about every node in the whole.
func TestSketchedDecisionIsAsGood(t *testing.T) {
	sketches, less := 0, 0
	quick, slow := 0.0, 0.0
	for seed := range uint64(8) {
		s, err := tight(seed, 70).Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		sketched := newDecider(s, Options{MaxWhatIfs: 4000}, Cursor{}).decide()
		d := newDecider(s, Options{MaxWhatIfs: 4000}, Cursor{})
		d.thorough = true
		thorough := d.decide()
		sketches += sketched.Stats.Sketches
		a, b := saved(sketched), saved(thorough)
		if quick, slow = quick+a, slow+b; a < b-tiny {
			less++
		}
		if x, y := len(sketched.Blocked), len(thorough.Blocked); x+gone(sketched) != y+gone(thorough) {
			t.Errorf("seed %d: %d nodes have a verdict after a sketch, %d after the whole", seed, x+gone(sketched), y+gone(thorough))
		}
	}
	t.Logf("%d sketches; $%.2f/h saved, $%.2f/h without them; less in %d clusters of 8", sketches, quick, slow, less)
	if sketches < 50 || quick < 0.995*slow {
		t.Errorf("%d sketches; $%.2f/h saved, $%.2f/h without them", sketches, quick, slow)
	}
}

func saved(d Decision) (total float64) {
	for i := range d.Commands {
		total += d.Commands[i].Saves
	}
	return total
}

func gone(d Decision) (n int) {
	for i := range d.Commands {
		n += len(d.Commands[i].Nodes)
	}
	return n
}

// What a sketch calls hopeless, the whole cluster does not carry out either; and it calls something hopeless, and something
// not.
func TestSketchAgreesWithTheWhole(t *testing.T) {
	hopeless, hopeful := 0, 0
	for seed := range uint64(5) {
		s, err := crowded(seed, 60, seed%2 == 0).Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		d := newDecider(s, Options{}, Cursor{})
		d.look()
		k := d.sketch()
		for _, c := range d.ours {
			if !plain(c.pods) {
				t.Fatalf("pods of %s are not plain", c.node.Name)
			}
			if !d.hopeless(k, c) {
				hopeful++
				continue
			}
			hopeless++
			p := d.whatIf(d.view, []*candidate{c})
			if d.judge(p); p.verdict.OK() {
				t.Errorf("seed %d: %s is hopeless by the sketch, and would save $%.4f/h", seed, c.node.Name, p.saves)
			}
		}
	}
	if hopeless == 0 || hopeful == 0 {
		t.Errorf("%d nodes are hopeless and %d are not", hopeless, hopeful)
	}
}
