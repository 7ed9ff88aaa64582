package kwok

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autoscalingv1beta1 "github.com/karpenter-go/karpenter/api/autoscaling/v1beta1"
	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// names returns the set of the names of nodes.
func names(nodes []corev1.Node) map[string]bool {
	set := map[string]bool{}
	for _, n := range nodes {
		set[n.Name] = true
	}
	return set
}

// recolour changes a label of the pool's template, so that all its nodes drift.
func (c *corner) recolour(p *apiv1.NodePool, to string) {
	c.t.Helper()
	c.change(p, func() { p.Spec.Template.Labels["colour"] = to })
}

// out returns how many of the nodes count against a budget: nodes that are marked for disruption or being deleted, until the
// termination of their instances begins. The claims are read after the nodes, so a node whose instance began to terminate in
// between does not count.
func (c *corner) out(nodes []corev1.Node) (n int) {
	c.t.Helper()
	living := map[string]bool{} // provider IDs
	for _, claim := range c.claims() {
		if !condition.IsTrue(&claim, apiv1.ConditionTypeInstanceTerminating) {
			living[claim.Status.ProviderID] = true
		}
	}
	for i := range nodes {
		marked := slices.ContainsFunc(nodes[i].Spec.Taints, func(t corev1.Taint) bool { return t.Key == apiv1.DisruptedTaintKey })
		if (marked || nodes[i].DeletionTimestamp != nil) && living[nodes[i].Spec.ProviderID] {
			n++
		}
	}
	return n
}

// awaitRecoloured waits until there are exactly n nodes, all initialized and of the new template. It returns the highest number
// of nodes that counted against the budget at the same time.
func (c *corner) awaitRecoloured(n int, to string) (most int) {
	c.t.Helper()
	c.poll(func() string {
		fresh, nodes := 0, c.nodes()
		for i := range nodes {
			if nodes[i].Labels["colour"] == to && nodes[i].Labels[apiv1.NodeInitializedLabelKey] == "true" {
				fresh++
			}
		}
		most = max(most, c.out(nodes))
		return missing(fresh == n && len(nodes) == n, "%d of %d nodes are %s, want %d", fresh, len(nodes), to, n)
	})
	return most
}

// Capacity of a buffer moves to the replacement when its node drifts.
func TestDriftOfBufferedNode(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "drift-buffer")
	p := c.pool(quick)
	template := &corev1.PodTemplate{ObjectMeta: metav1.ObjectMeta{Name: "room", Namespace: c.name}}
	template.Template.Spec = c.podSpec("1")
	c.put(template)
	b := c.buffer("b", autoscalingv1beta1.CapacityBufferSpec{
		PodTemplateRef: &autoscalingv1beta1.LocalObjectRef{Name: "room"}, Replicas: ptr.To(int32(1)),
	})
	c.awaitNodes(1)
	c.awaitBuffer(b, autoscalingv1beta1.ReasonFitsExistingCapacity, 1)
	c.recolour(p, "green")
	c.awaitRecoloured(1, "green")
	c.awaitBuffer(b, autoscalingv1beta1.ReasonFitsExistingCapacity, 1)
}

// unhealthy is a condition for which the provider repairs a node, half a minute after the creation of the node at the earliest.
// The drain takes 45 seconds at most.
const unhealthy corev1.NodeConditionType = "KWOKUnhealthy"

// sicken sets the condition unhealthy on the nodes, with a transition time one hour ago.
func (c *corner) sicken(nodes ...corev1.Node) {
	c.t.Helper()
	for _, n := range nodes {
		c.poll(func() string {
			if err := c.Get(c.t.Context(), clientKey(&n), &n); err != nil {
				c.t.Fatal(err)
			}
			n.Status.Conditions = append(n.Status.Conditions, corev1.NodeCondition{
				Type: unhealthy, Status: corev1.ConditionTrue, Reason: "DiskFailed", LastTransitionTime: metav1.NewTime(time.Now().Add(-time.Hour)),
			})
			err := c.Status().Update(c.t.Context(), &n)
			return missing(err == nil, "condition of node %s cannot be set: %v", n.Name, err)
		})
	}
}

// A node that has been unhealthy for too long is replaced within the budget for the reason Unhealthy, despite a budget of 0 for
// other reasons. A pod with do-not-disrupt, a PodDisruptionBudget and a grace period of an hour delay the drain only for the
// time that the provider allows for the condition.
func TestRepair(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "repair")
	c.pool(func(p *apiv1.NodePool) {
		p.Spec.Disruption.Budgets = []apiv1.Budget{
			{Nodes: "0", Reasons: []apiv1.DisruptionReason{
				apiv1.DisruptionReasonDrifted, apiv1.DisruptionReasonEmpty, apiv1.DisruptionReasonUnderutilized,
			}},
			{Nodes: "1", Reasons: []apiv1.DisruptionReason{apiv1.DisruptionReasonUnhealthy}},
		}
		p.Spec.Template.Spec.TerminationGracePeriod = &apiv1.Duration{Duration: time.Hour}
	})
	c.deploy("web", 1, "1", func(t *corev1.PodTemplateSpec) {
		t.Annotations = map[string]string{apiv1.DoNotDisruptAnnotationKey: "true"}
	})
	c.awaitRunning("web", 1)
	none := intstr.FromInt32(0)
	pdb := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: c.name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: &none, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		},
	}
	c.put(pdb)
	c.awaitInForce(pdb)
	n := c.awaitNodes(1)[0]
	c.sicken(n)
	c.poll(func() string {
		nodes := c.nodes()
		return missing(len(nodes) == 1 && nodes[0].Name != n.Name && nodes[0].Labels[apiv1.NodeInitializedLabelKey] == "true",
			"nodes are %v", fmt.Sprint(names(nodes)))
	})
	c.awaitRunning("web", 1)
}

// If many nodes of a pool are unhealthy at the same time, they are replaced one after another, because the cause may not be in
// the nodes. The nodes that wait have an event with that reason.
func TestRepairOfMany(t *testing.T) {
	shownBy(t, "half_of_the_nodes_fail")
	t.Parallel()
	c := newCorner(t, "repair-many")
	c.pool(func(p *apiv1.NodePool) { p.Spec.Disruption.Budgets = []apiv1.Budget{{Nodes: "100%"}} })
	c.deploy("web", 3, "1", apart)
	c.awaitRunning("web", 3)
	nodes := c.awaitNodes(3)
	before := names(nodes)
	c.sicken(nodes[0], nodes[1])
	c.poll(func() string {
		var events corev1.EventList
		c.list(&events, client.MatchingFields{"reason": "NodeRepairBlocked"})
		for _, e := range events.Items {
			if before[e.InvolvedObject.Name] && strings.Contains(e.Message, "one node at a time") {
				return ""
			}
		}
		return "no event says that repair is limited"
	})
	c.poll(func() string {
		now := names(c.nodes())
		return missing(len(now) == 3 && !now[nodes[0].Name] && !now[nodes[1].Name] && now[nodes[2].Name],
			"nodes are %v, of which %s and %s were unhealthy", now, nodes[0].Name, nodes[1].Name)
	})
	c.awaitRunning("web", 3)
}

// Pods of two half-empty nodes move onto one.
func TestConsolidation(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "consolidation")
	c.pool(quick, func(p *apiv1.NodePool) {
		p.Spec.Template.Spec.Requirements = append(p.Spec.Template.Spec.Requirements, in(corev1.LabelInstanceTypeStable, "c-4x-amd64-linux"))
	})
	d := c.deploy("web", 6, "1")
	c.awaitRunning("web", 6)
	c.awaitNodes(2)
	c.scale(d, 2)
	c.awaitRunning("web", 2)
	c.awaitNodes(1)
	c.awaitRunning("web", 2)
}
