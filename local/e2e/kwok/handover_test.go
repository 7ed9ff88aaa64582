package kwok

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// Pods of several nodes move to fewer nodes, one destination after another. In the end all pods run, and no node has the taint
// or annotations of the move.
func TestHandover(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "handover")
	p := c.pool(quick, func(p *apiv1.NodePool) {
		p.Spec.Template.Spec.Requirements = append(p.Spec.Template.Spec.Requirements, in("karpenter.kwok.sh/instance-cpu", "2", "4"))
		p.Spec.Disruption.Budgets = []apiv1.Budget{{Nodes: "0"}}
	})
	var apps []*appsv1.Deployment
	for name, cpu := range map[string]string{"small": "300m", "middle": "700m", "large": "1300m"} {
		apps = append(apps, c.deploy(name, 8, cpu))
	}
	running := func(n int) {
		t.Helper()
		for _, d := range apps {
			c.awaitRunning(d.Name, n)
		}
	}
	running(8)
	before := len(c.nodes())
	for _, d := range apps {
		c.scale(d, 3)
	}
	running(3)
	c.change(p, func() { p.Spec.Disruption.Budgets = []apiv1.Budget{{Nodes: "100%"}} })
	closed := map[string]bool{}
	c.poll(func() string {
		nodes, shut := c.nodes(), 0
		for _, n := range nodes {
			for _, taint := range n.Spec.Taints {
				if taint.Key == apiv1.StagedMoveTaintKey {
					closed[n.Name] = true
					shut++
				}
			}
		}
		return missing(len(nodes) <= before/2 && shut == 0, "%d of %d nodes are left, of which %d are closed", len(nodes), before, shut)
	})
	t.Logf("%d nodes became %d; seen closed for a while: %d", before, len(c.nodes()), len(closed))
	running(3)
	c.poll(func() string { // the annotation is removed after the taint
		for _, claim := range c.claims() {
			if from := claim.Annotations[apiv1.ReceivesPodsFromAnnotationKey]; from != "" {
				return fmt.Sprintf("claim %s still takes pods from %s", claim.Name, from)
			}
		}
		return ""
	})
}
