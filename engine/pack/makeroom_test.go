package pack_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/engine/verify"
)

// scattered draws nodes of eight cores, and nominated pods that fill them. Other pods were bound to the capacity of a
// few of these pods. Most of these few fit on another node only if a nominated pod moves.
func scattered(seed uint64) *scenario.Cluster {
	rng := rand.New(rand.NewPCG(seed, 0))
	c := &scenario.Cluster{Promise: map[string]string{}}
	c.Pools = []scenario.Pool{{Name: "default"}}
	for _, cores := range []string{"2", "4", "8"} {
		c.Types = append(c.Types, scenario.Type{
			Name: "m." + cores, CPU: cores, Memory: cores + "0Gi", Price: 0.05 * float64(cores[0]-'0'), Zones: []string{"a"},
		})
	}
	for n := range 2 + rng.IntN(6) {
		node := fmt.Sprintf("n%d", n)
		host := scenario.Node{Name: node, Pool: "default", Type: "m.8", Zone: "a"}
		occupied := rng.IntN(2) == 0
		for i, room := 0, 8000; ; i++ {
			size := 250 * (1 + rng.IntN(7))
			if room -= size; room < 0 {
				break
			}
			pod := scenario.Pod{Name: fmt.Sprintf("p%d-%d", n, i), CPU: fmt.Sprintf("%dm", size), Memory: fmt.Sprintf("%dMi", 100+rng.IntN(500))}
			switch {
			case rng.IntN(12) == 0: // bound to another node
				continue
			case occupied:
				host.Pods, occupied = []scenario.Pod{{Name: "other-" + node, CPU: pod.CPU}}, false
			default:
				c.Promise["default/"+pod.Name] = node
			}
			c.Pods = append(c.Pods, pod)
		}
		c.Nodes = append(c.Nodes, host)
	}
	return c
}

// rigid returns c with all nominated pods bound to their nodes.
func rigid(c *scenario.Cluster) *scenario.Cluster {
	r := *c
	r.Pods, r.Nodes, r.Promise = nil, slices.Clone(c.Nodes), nil
	for _, p := range c.Pods {
		node := slices.IndexFunc(r.Nodes, func(n scenario.Node) bool { return n.Name == c.Promise["default/"+p.Name] })
		if node < 0 {
			r.Pods = append(r.Pods, p)
			continue
		}
		r.Nodes[node].Pods = append(slices.Clone(r.Nodes[node].Pods), p)
	}
	return &r
}

// If nominated pods may move, every pod is placed and verify accepts the plan. The launched nodes never cost more than
// if nominated pods could not move, and often less.
func TestRoomIsMade(t *testing.T) {
	const clusters = 300
	spared := 0
	for seed := range uint64(clusters) {
		c := scattered(seed)
		s, plan, b := solve(c)
		if b != nil {
			t.Fatalf("seed %d: %v", seed, b)
		}
		if found := (verify.Rules{}).Plan(s, plan); len(found) > 0 || len(plan.Refusals) > 0 {
			t.Fatalf("seed %d: %v\n%s", seed, found, plan)
		}
		_, without, b := solve(rigid(c))
		if b != nil {
			t.Fatalf("seed %d: %v", seed, b)
		}
		if plan.Price > without.Price+1e-9 {
			t.Errorf("seed %d: new nodes cost $%.4f, and $%.4f if no pod moves:\n%s\nno pod moves:\n%s",
				seed, plan.Price, without.Price, plan, without)
		}
		if plan.Price < without.Price-1e-9 {
			spared++
		}
	}
	if spared < clusters/10 {
		t.Errorf("moves saved costs in %d of %d clusters, want more than a tenth", spared, clusters)
	}
}
