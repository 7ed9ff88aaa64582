package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// checkPolicy checks that the policy of a pool and its annotations allow that a node is marked for the reason.
func (m *moveRules) checkPolicy(pool *apiv1.NodePool, n *corev1.Node, reason string) {
	if pool.Spec.Disruption.ConsolidationPolicy == apiv1.ConsolidationPolicyWhenEmpty && reason == "Underutilized" {
		m.violate(rulePolicy, "node %s is disrupted (%s), and its pool %s consolidates empty nodes only", n.Name, reason, pool.Name)
	}
	if pool.Annotations[apiv1.DisruptionPausedAnnotationKey] == "true" || pool.Annotations[apiv1.EnforcementModeAnnotationKey] == "DryRun" {
		m.violate(rulePolicy, "node %s is disrupted (%s), and its pool %s has annotations %v", n.Name, reason, pool.Name, pool.Annotations)
	}
}

// checkBudget checks that no more nodes of a pool are marked than each of its budgets for the reason allows. Nodes that are not ready or are
// deleted for other reasons count too, but nodes that are not ready do not count for repair. The nodes that went a moment ago count for
// percentages, because the decision may have been made before.
func (m *moveRules) checkBudget(pool *apiv1.NodePool, n *corev1.Node, reason string) {
	name := pool.Name
	total, marked := 0, 0
	for _, g := range m.gone {
		if g.pool == name && time.Since(g.at) <= lookEvery {
			total++
		}
	}
	for _, o := range kubeapi.List[*apiv1.NodeClaim](m.world.platform.server) {
		// A node whose instance is being terminated does not count any more, as upstream has it.
		if o.Labels[apiv1.NodePoolLabelKey] != name {
			continue
		}
		ends := condition.Get(o, apiv1.ConditionTypeInstanceTerminating)
		if ends != nil && ends.Status == metav1.ConditionTrue {
			if time.Since(ends.LastTransitionTime.Time) <= lookEvery {
				total++
			}
			continue
		}
		total++
		goes := o.DeletionTimestamp != nil && condition.IsTrue(o, apiv1.ConditionTypeInitialized) && m.hasSeen(m.writer(), o.DeletionTimestamp.Time, "nodeclaims")
		if goes || voluntary[m.marked[o.Status.NodeName]] || reason != "Unhealthy" && m.unready(o) {
			marked++
		}
	}
	for _, b := range pool.Spec.Disruption.Budgets {
		if len(b.Reasons) > 0 && !slices.Contains(b.Reasons, apiv1.DisruptionReason(reason)) || !m.active(b) {
			continue
		}
		if most := allowed(b.Nodes, total); marked > most {
			m.violate(ruleBudget, "node %s is disrupted (%s), the %dth of pool %s with %d nodes, and a budget is %s%s", n.Name, reason, marked, name, total, b.Nodes, window(b))
		}
	}
}

// allowed returns how many nodes a budget allows. Percentages are rounded up.
func allowed(nodes string, total int) int {
	var n int
	if text, ok := strings.CutSuffix(nodes, "%"); ok {
		fmt.Sscan(text, &n)
		return (total*n + 99) / 100
	}
	fmt.Sscan(nodes, &n)
	return n
}

// active reports whether a budget applies now, and whether the operator could know that when it decided. A budget with a schedule has
// applied for the time lookEvery, and applies two seconds longer, because the clock of a replica may differ by a second. No fault has
// kept the operator from its work in that time.
func (m *moveRules) active(b apiv1.Budget) bool {
	if b.Schedule == nil || b.Duration == nil {
		return b.Schedule == nil && b.Duration == nil
	}
	schedule, err := cron.ParseStandard(*b.Schedule)
	if err != nil {
		return true // a budget that cannot be understood always applies
	}
	now := time.Now().UTC()
	for begin := now.Add(-lookEvery).Truncate(time.Minute); now.Sub(begin) < b.Duration.Duration-2*time.Second; begin = begin.Add(-time.Minute) {
		if schedule.Next(begin.Add(-time.Second)).Equal(begin) {
			return m.unhampered() > lookEvery
		}
	}
	return false
}

// window describes when a budget applies, empty for always.
func window(b apiv1.Budget) string {
	if b.Schedule == nil || b.Duration == nil {
		return ""
	}
	return fmt.Sprintf(" for %s from %q", b.Duration.Duration, *b.Schedule)
}

// unready reports whether the node of an initialized claim is not ready, and a replica that writes must have seen that.
func (m *moveRules) unready(c *apiv1.NodeClaim) bool {
	n, ok := kubeapi.Find[*corev1.Node](m.world.platform.server, "", c.Status.NodeName)
	if !ok || !condition.IsTrue(c, apiv1.ConditionTypeInitialized) {
		return false
	}
	return slices.ContainsFunc(n.Status.Conditions, func(cond corev1.NodeCondition) bool {
		return cond.Type == corev1.NodeReady && cond.Status != corev1.ConditionTrue && m.hasSeen(m.writer(), cond.LastTransitionTime.Time, "nodes")
	})
}
