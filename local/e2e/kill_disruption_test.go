package e2e

import (
	"testing"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// The controller is killed while it executes a command: after it has requested the replacements, after it has marked the nodes,
// and while the first node is terminated. In the end every node is replaced and nothing else remains.
func TestKillNineDuringDrift(t *testing.T) {
	const pods = 4
	v := newVictim(t)
	v.changePool(t, func(p *apiv1.NodePool) { p.Spec.Disruption.Budgets = []apiv1.Budget{{Nodes: "100%"}} })
	v.load(t, pods)
	v.poll(t, "all pods run", func() bool { p := v.look(t); return p.running == pods && p.initialized == pods })
	old := map[string]bool{}
	for _, c := range v.world(t).claims {
		old[c.Name] = true
	}
	marked := func() (marked, replacements int) {
		for _, c := range v.world(t).claims {
			if condition.IsTrue(&c, apiv1.ConditionTypeDisruptionReason) {
				marked++
			}
			if c.Annotations[apiv1.ReplacesAnnotationKey] != "" {
				replacements++
			}
		}
		return marked, replacements
	}
	v.changePool(t, func(p *apiv1.NodePool) {
		p.Spec.Template.Annotations = map[string]string{"example.com/generation": "2"}
	})
	for _, moment := range []struct {
		name string
		is   func() bool
	}{
		{"a replacement is asked for", func() bool { _, r := marked(); return r > 0 }},
		{"two nodes are marked", func() bool { m, _ := marked(); return m > 1 }},
		{"a node goes", func() bool { return v.look(t).ending > 0 }},
	} {
		v.poll(t, moment.name, moment.is)
		v.kill(t)
		v.restart(t)
	}
	v.poll(t, "every node is rolled", func() bool {
		w := v.world(t)
		for _, c := range w.claims {
			if old[c.Name] || condition.IsTrue(&c, apiv1.ConditionTypeDisruptionReason) {
				return false
			}
		}
		p := v.look(t)
		return p.running == pods && p.claims == pods && p.alive == pods && p.nodes == pods
	})
}
