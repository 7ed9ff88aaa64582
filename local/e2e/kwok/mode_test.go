package kwok

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// mode returns a change that sets the enforcement mode of a pool.
func mode(name string) func(*apiv1.NodePool) {
	return func(p *apiv1.NodePool) { p.Annotations = map[string]string{apiv1.EnforcementModeAnnotationKey: name} }
}

// four restricts a pool to nodes of four cores.
func four(p *apiv1.NodePool) {
	p.Spec.Template.Spec.Requirements = append(p.Spec.Template.Spec.Requirements, in(corev1.LabelInstanceTypeStable, "c-4x-amd64-linux"))
}

// awaitTold waits for an event with the reason and the words about one of the named objects of the kind. It returns the name of
// that object.
func (c *corner) awaitTold(kind string, among map[string]bool, reason string, words ...string) (name string) {
	c.t.Helper()
	c.poll(func() string {
		var events corev1.EventList
		c.list(&events, client.MatchingFields{"involvedObject.kind": kind, "reason": reason})
		for _, e := range events.Items {
			if !among[e.InvolvedObject.Name] {
				continue
			}
			said := true
			for _, w := range words {
				said = said && strings.Contains(e.Message, w)
			}
			if said {
				name = e.InvolvedObject.Name
				return ""
			}
		}
		return "no " + kind + " is told " + reason + " with " + strings.Join(words, ", ")
	})
	return name
}

// unmarked returns a function that reports a problem if other nodes than those in before exist, or if one of them is marked for
// disruption.
func (c *corner) unmarked(before map[string]bool) func() string {
	return func() string {
		nodes := c.nodes()
		for _, n := range nodes {
			for _, taint := range n.Spec.Taints {
				if taint.Key == apiv1.DisruptedTaintKey {
					return "node " + n.Name + " is marked to go, and only a proposal was due"
				}
			}
			if !before[n.Name] {
				return "node " + n.Name + " was launched"
			}
		}
		return missing(len(nodes) == len(before), "%d nodes of %d are left", len(nodes), len(before))
	}
}

// The tests of modes do not run in parallel with others, because proposals of busy NodePools come late.

// In mode Approve, nodes are launched only up to the number in the pool's annotation. The removal of a node that is not needed is
// proposed, and the node stays. After approval, the node is removed and its pods move.
func TestApprove(t *testing.T) {
	shownBy(t, "modes_of_pools")
	c := newCorner(t, "approve")
	p := c.pool(quick, four, mode(apiv1.ModeApprove))
	c.deploy("first", 1, "1")
	c.awaitTold("NodePool", map[string]bool{p.Name: true}, "LaunchWithheld", `to "1" on NodePool`, "launch 1 x c-4x-amd64-linux")
	if n := len(c.claims()); n > 0 {
		t.Errorf("%d claims are made", n)
	}
	c.change(p, func() { p.Annotations[apiv1.MaxApprovedNodesAnnotationKey] = "2" })
	c.awaitRunning("first", 1)
	filler := c.deploy("filler", 1, "2500m")
	c.awaitRunning("filler", 1)
	c.awaitNodes(1)
	c.deploy("second", 1, "1") // the existing node has no capacity for this pod
	c.awaitRunning("second", 1)
	before := names(c.awaitNodes(2))
	c.scale(filler, 0)
	c.awaitRunning("filler", 0)
	proposed := c.awaitTold("Node", before, "DisruptionWithheld", "Waiting for approval to ", "Underutilized")
	if problem := c.unmarked(before)(); problem != "" {
		t.Error(problem)
	}
	n := &corev1.Node{}
	n.Name = proposed
	c.change(n, func() { n.Annotations[apiv1.DisruptionApprovedAnnotationKey] = "true" })
	c.awaitGone(proposed)
	c.awaitRunning("first", 1)
	c.awaitRunning("second", 1)
	if left := c.awaitNodes(1)[0].Name; !before[left] {
		t.Errorf("node %s was launched, though there was room on the other", left)
	}
}

// In mode DryRun, events report launches and disruptions, but none is carried out. In mode Auto they are.
func TestDryRun(t *testing.T) {
	shownBy(t, "modes_of_pools")
	c := newCorner(t, "dry-run")
	p := c.pool(quick, four, mode(apiv1.ModeDryRun))
	d := c.deploy("web", 1, "1")
	c.awaitTold("NodePool", map[string]bool{p.Name: true}, "LaunchWithheld", "Mode DryRun: would launch 1 x c-4x-amd64-linux")
	if n := len(c.claims()); n > 0 {
		t.Errorf("%d claims are made", n)
	}
	c.change(p, func() { p.Annotations[apiv1.EnforcementModeAnnotationKey] = apiv1.ModeAuto })
	c.awaitRunning("web", 1)
	before := names(c.awaitNodes(1))
	c.change(p, func() { p.Annotations[apiv1.EnforcementModeAnnotationKey] = apiv1.ModeDryRun })
	c.scale(d, 0)
	c.awaitRunning("web", 0)
	c.awaitTold("Node", before, "DisruptionWithheld", "Mode DryRun: would delete", "Empty")
	if problem := c.unmarked(before)(); problem != "" {
		t.Error(problem)
	}
	c.change(p, func() { p.Annotations[apiv1.EnforcementModeAnnotationKey] = apiv1.ModeAuto })
	c.awaitNodes(0)
}
