package kwok

import (
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

const (
	// watched is how long nodes are harmed and counted.
	watched = 40 * time.Second
	// atATime and inAll bound the number of nodes that are launched for a few pods that can never run: at the same time, and in
	// all.
	atATime, inAll = 10, 20
)

// reign calls harm for all nodes repeatedly, for the time watched. It returns the highest number of nodes at the same time, and
// the number of all nodes that existed.
func (c *corner) reign(harm func(*corev1.Node) (again bool)) (most, all int) {
	c.t.Helper()
	seen := map[string]bool{}
	begun := time.Now()
	c.holds(watched, func() string {
		nodes := c.nodes()
		most = max(most, len(nodes))
		for i := range nodes {
			n := &nodes[i]
			seen[n.Name] = true
			if n.DeletionTimestamp == nil && harm(n) {
				_ = c.Update(c.t.Context(), n) // if another writer was faster, the node is harmed in the next pass
			}
		}
		return ""
	})
	c.t.Logf("%d nodes in %v, %d at a time", len(seen), time.Since(begun).Round(time.Second), most)
	if most > atATime || len(seen) > inAll {
		c.t.Errorf("%d nodes came, %d at a time: a runaway; want at most %d and %d", len(seen), most, inAll, atATime)
	}
	return most, len(seen)
}

// taint adds a taint, only to registered nodes if registered is true, and reports whether the node has changed.
func taint(n *corev1.Node, registered bool, effect corev1.TaintEffect) bool {
	if registered && n.Labels[apiv1.NodeRegisteredLabelKey] != "true" {
		return false
	}
	for _, t := range n.Spec.Taints {
		if t.Key == "example.com/chaos" {
			return false
		}
	}
	n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "example.com/chaos", Value: "true", Effect: effect})
	return true
}

// A program that taints every new node must not cause an unbounded number of launches. This holds for each consolidation
// policy, and for taints that exclude or evict pods.
func TestChaosWithoutRunaway(t *testing.T) {
	long(t)
	t.Parallel()
	for _, tt := range []struct {
		name       string
		policy     apiv1.ConsolidationPolicy
		registered bool
		effect     corev1.TaintEffect
	}{
		{"consolidation", apiv1.ConsolidationPolicyWhenEmptyOrUnderutilized, true, corev1.TaintEffectNoExecute},
		{"emptiness", apiv1.ConsolidationPolicyWhenEmpty, false, corev1.TaintEffectNoSchedule},
		{"driven-off", apiv1.ConsolidationPolicyWhenEmpty, true, corev1.TaintEffectNoExecute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newCorner(t, "chaos-"+tt.name)
			c.pool(func(p *apiv1.NodePool) {
				p.Spec.Disruption.ConsolidationPolicy = tt.policy
				p.Spec.Disruption.ConsolidateAfter = apiv1.MustParseNillableDuration("0s")
				p.Spec.Disruption.Budgets = []apiv1.Budget{{Nodes: "100%"}}
			})
			c.deploy("web", 2, "1")
			c.reign(func(n *corev1.Node) bool { return taint(n, tt.registered, tt.effect) })
		})
	}
}

// Nodes whose startup taints are never removed stay uninitialized. Their pods wait for them, and no further nodes are launched.
func TestNodesThatNeverInitialize(t *testing.T) {
	long(t)
	t.Parallel()
	c := newCorner(t, "uninitialized")
	c.pool(quick, func(p *apiv1.NodePool) {
		p.Spec.Template.Spec.StartupTaints = []corev1.Taint{{Key: "example.com/never", Effect: corev1.TaintEffectNoSchedule}}
	})
	c.deploy("web", 3, "1", apart)
	c.poll(func() string { return missing(len(c.nodes()) == 3, "%d nodes, want 3", len(c.nodes())) })
	if most, all := c.reign(func(*corev1.Node) bool { return false }); most != 3 || all != 3 {
		t.Errorf("%d nodes came, %d at a time; want 3", all, most)
	}
}

// Pods whose node was tainted get another node. When no further node is tainted, they run.
func TestChaosEnds(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "chaos-ends")
	c.pool(quick)
	c.deploy("web", 1, "1")
	harmed := 0 // by a taint that also evicts pods that were bound before
	c.poll(func() string {
		nodes := c.nodes()
		for i := range nodes {
			if nodes[i].DeletionTimestamp == nil && taint(&nodes[i], false, corev1.TaintEffectNoExecute) && c.Update(t.Context(), &nodes[i]) == nil {
				harmed++
			}
		}
		return missing(harmed >= 2, "%d nodes harmed", harmed)
	})
	c.awaitRunning("web", 1)
}

// long skips a test that watches for a fixed time unless KARPENTER_LONG is set.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("KARPENTER_LONG") == "" {
		t.Skip("watches nodes for a while: runs with KARPENTER_LONG=1")
	}
}

// shownBy skips a test unless KARPENTER_LONG is set, because a story of the simulation shows the same.
func shownBy(t *testing.T, story string) {
	t.Helper()
	if os.Getenv("KARPENTER_LONG") == "" {
		t.Skip("internal/sim/testdata/" + story + ".txtar shows the same: runs with KARPENTER_LONG=1")
	}
}
