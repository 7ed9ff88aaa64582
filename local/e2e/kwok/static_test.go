package kwok

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// A static pool has spec.replicas nodes, regardless of pods, but not more than its limit. Drifted nodes are replaced.
func TestStaticPool(t *testing.T) {
	shownBy(t, "static_pool_changes")
	t.Parallel()
	c := newCorner(t, "static")
	p := c.pool(func(p *apiv1.NodePool) {
		p.Spec.Replicas = ptr.To(int64(2))
		p.Spec.Template.Spec.Requirements = append(p.Spec.Template.Spec.Requirements, in(corev1.LabelInstanceTypeStable, "c-2x-amd64-linux"))
		p.Spec.Limits = apiv1.Limits{"nodes": *quantity("3")}
	})
	c.awaitNodes(2)
	c.change(p, func() { p.Spec.Replicas = ptr.To(int64(5)) })
	c.awaitNodes(3)
	c.holds(3*time.Second, func() string { return missing(len(c.nodes()) == 3, "%d nodes, the limit is 3", len(c.nodes())) })
	c.deploy("web", 1, "1")
	on := c.awaitRunning("web", 1)[0].Spec.NodeName
	c.change(p, func() { p.Spec.Replicas = ptr.To(int64(1)) })
	if left := c.awaitNodes(1)[0].Name; left != on {
		t.Errorf("node %s stayed, the one with the pod is %s", left, on)
	}
	c.recolour(p, "green")
	c.awaitRecoloured(1, "green")
	c.awaitRunning("web", 1)
	c.change(p, func() { p.Spec.Replicas = ptr.To(int64(0)) })
	c.awaitNodes(0)
}

// static creates a static pool of nodes with two cores each.
func (c *corner) static(replicas int64, change ...func(*apiv1.NodePool)) *apiv1.NodePool {
	c.t.Helper()
	return c.pool(append([]func(*apiv1.NodePool){func(p *apiv1.NodePool) {
		p.Spec.Replicas = &replicas
		p.Spec.Template.Spec.Requirements = append(p.Spec.Template.Spec.Requirements, in(corev1.LabelInstanceTypeStable, "c-2x-amd64-linux"))
	}}, change...)...)
}

// Nodes of a static pool have all fields of its template. They are not removed when they are empty. Pods may run on them, and
// pods that do not fit there get nodes of another pool.
func TestStaticAndDynamicPools(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "static-dynamic")
	p := c.static(2, quick, func(p *apiv1.NodePool) {
		p.Spec.Template.Labels["team"] = "blue"
		p.Spec.Template.Annotations = map[string]string{"example.com/owner": "us"}
		p.Spec.Template.Spec.TerminationGracePeriod = &apiv1.Duration{Duration: time.Hour}
	})
	before := names(c.awaitNodes(2))
	for _, claim := range c.claims() {
		if claim.Labels["team"] != "blue" || claim.Annotations["example.com/owner"] != "us" || claim.Labels[apiv1.NodePoolLabelKey] != p.Name ||
			claim.Spec.TerminationGracePeriod == nil || len(claim.OwnerReferences) != 1 {
			t.Errorf("claim is %+v %+v", claim.ObjectMeta, claim.Spec)
		}
	}
	c.keeps(before, 4*time.Second)
	c.pool(quick)
	d := c.deploy("web", 2, "1500m")
	c.awaitRunning("web", 2)
	c.keeps(before, 2*time.Second)
	c.scale(d, 3)
	c.awaitRunning("web", 3)
	c.awaitNodes(3)
	c.scale(d, 0)
	c.awaitRunning("web", 0)
	left := c.awaitNodes(2)
	for _, n := range left {
		if !before[n.Name] {
			t.Errorf("node %s of the dynamic pool stayed", n.Name)
		}
	}
	c.poll(func() string {
		if err := c.Get(t.Context(), clientKey(p), p); err != nil {
			t.Fatal(err)
		}
		return missing(p.Status.Nodes == 2, "the pool counts %d nodes", p.Status.Nodes)
	})
}

// Drift of a static pool respects its budget and its limit of nodes. With a budget of 0, no node is replaced.
func TestStaticDriftKeepsBudgetAndLimit(t *testing.T) {
	shownBy(t, "static_pool_changes")
	t.Parallel()
	c := newCorner(t, "static-drift")
	p := c.static(3, func(p *apiv1.NodePool) {
		p.Spec.Limits = apiv1.Limits{"nodes": *quantity("4")}
		p.Spec.Disruption.Budgets = []apiv1.Budget{{Nodes: "0"}}
	})
	before := names(c.awaitNodes(3))
	c.recolour(p, "green")
	c.awaitDrifted(3, "NodePoolDrifted")
	c.keeps(before, 4*time.Second)
	c.change(p, func() { p.Spec.Disruption.Budgets = []apiv1.Budget{{Nodes: "100%"}} })
	most := 0
	c.poll(func() string {
		fresh, claims := 0, c.claims()
		most = max(most, len(claims))
		for i := range claims {
			if claims[i].Labels["colour"] == "green" && claims[i].Status.NodeName != "" {
				fresh++
			}
		}
		return missing(fresh == 3 && len(claims) == 3, "%d of %d claims are new, want 3", fresh, len(claims))
	})
	if most > 4 {
		t.Errorf("%d nodes at a time, the limit is 4", most)
	}
}

// When a static pool is deleted, its nodes are drained and deleted.
func TestStaticPoolIsDeleted(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "static-deleted")
	p := c.static(2)
	c.awaitNodes(2)
	c.alone("web", hold)
	t.Cleanup(func() { c.release("") })
	c.awaitRunning("web", 1)
	on := c.pods()[0].Spec.NodeName
	if err := c.Delete(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	c.poll(func() string { return missing(c.leaving(on) == "web", "the pod is not told to go") })
	c.poll(func() string {
		return missing(len(c.nodes()) == 1, "%d nodes, want the one that drains", len(c.nodes()))
	})
	c.release("web")
	c.awaitNodes(0)
}

// A deleted node of a static pool is replaced.
func TestStaticNodeComesAgain(t *testing.T) {
	shownBy(t, "static_pool_changes")
	t.Parallel()
	c := newCorner(t, "static-again")
	c.static(1)
	first := c.awaitNodes(1)[0]
	if err := c.Delete(t.Context(), &first); err != nil {
		t.Fatal(err)
	}
	c.awaitGone(first.Name)
	c.awaitNodes(1)
}
