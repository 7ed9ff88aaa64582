package pack_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/engine/verify"
)

// scattered draws nodes of eight cores with pods on their way that fill them, of which a few have their room taken by pods that
// were bound there. Most of these find another node only if somebody makes room.
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
		stolen := rng.IntN(2) == 0
		for i, room := 0, 8000; ; i++ {
			size := 250 * (1 + rng.IntN(7))
			if room -= size; room < 0 {
				break
			}
			pod := scenario.Pod{Name: fmt.Sprintf("p%d-%d", n, i), CPU: fmt.Sprintf("%dm", size), Memory: fmt.Sprintf("%dMi", 100+rng.IntN(500))}
			switch {
			case rng.IntN(12) == 0: // bound elsewhere
				continue
			case stolen:
				host.Pods, stolen = []scenario.Pod{{Name: "thief-" + node, CPU: pod.CPU}}, false
			default:
				c.Promise["default/"+pod.Name] = node
			}
			c.Pods = append(c.Pods, pod)
		}
		c.Nodes = append(c.Nodes, host)
	}
	return c
}

// rigid has all pods of c that are on their way bound where they were told to go.
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

// Whatever is moved to make room, every pod has its place, verify agrees, and no more is launched than if all who are on their
// way had to go where they were told; often it is less.
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
			t.Errorf("seed %d: $%.4f are spent, and $%.4f if nobody moves:\n%s\nnobody:\n%s", seed, plan.Price, without.Price, plan, without)
		}
		if plan.Price < without.Price-1e-9 {
			spared++
		}
	}
	if spared < clusters/10 {
		t.Errorf("something was spared in %d of %d clusters", spared, clusters)
	}
}
