package kwok

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/karpenter-go/karpenter/api/condition"
	kwokv1alpha1 "github.com/karpenter-go/karpenter/api/kwok/v1alpha1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// Drifted nodes are replaced as fast as the budget allows. With a budget of 0, no node is replaced.
func TestDrift(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "drift")
	p := c.pool(func(p *apiv1.NodePool) { p.Spec.Disruption.Budgets = []apiv1.Budget{{Nodes: "0"}} })
	c.deploy("web", 3, "1", apart)
	c.awaitRunning("web", 3)
	before := names(c.awaitNodes(3))
	c.recolour(p, "green")
	c.poll(func() string {
		drifted := 0
		for _, claim := range c.claims() {
			if condition.IsTrue(&claim, apiv1.ConditionTypeDrifted) {
				drifted++
			}
		}
		return missing(drifted == 3, "%d claims have drifted, want 3", drifted)
	})
	c.holds(4*time.Second, func() string {
		for name := range names(c.nodes()) {
			if !before[name] {
				return "node " + name + " was launched in spite of the budget"
			}
		}
		return ""
	})
	c.change(p, func() { p.Spec.Disruption.Budgets = []apiv1.Budget{{Nodes: "1"}} })
	if most := c.awaitRecoloured(3, "green"); most > 1 {
		t.Errorf("%d nodes went at a time, the budget allows 1", most)
	}
	c.awaitRunning("web", 3)
}

// awaitDrifted waits until exactly n claims have the condition Drifted, with the reason if it is not empty.
func (c *corner) awaitDrifted(n int, reason string) {
	c.t.Helper()
	c.poll(func() string {
		drifted, said := 0, ""
		for _, claim := range c.claims() {
			if d := condition.Get(&claim, apiv1.ConditionTypeDrifted); d != nil && d.Status == metav1.ConditionTrue {
				drifted++
				said = d.Reason
			}
		}
		return missing(drifted == n && (reason == "" || said == reason), "%d claims have drifted, for %q; want %d for %q", drifted, said, n, reason)
	})
}

// keeps checks for the time d that exactly the nodes in before exist and none of them is being deleted.
func (c *corner) keeps(before map[string]bool, d time.Duration) {
	c.t.Helper()
	c.holds(d, func() string {
		nodes := c.nodes()
		for _, n := range nodes {
			if !before[n.Name] || n.DeletionTimestamp != nil {
				return fmt.Sprintf("node %s was launched, or goes", n.Name)
			}
		}
		return missing(len(nodes) == len(before), "%d nodes of %d are left", len(nodes), len(before))
	})
}

// A change of any field of the template replaces the nodes of the old template. A change of other fields of the pool replaces
// no node.
func TestWhatDrifts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, reason string
		change       func(*apiv1.NodePool)
	}{
		{"annotations", "NodePoolDrifted", func(p *apiv1.NodePool) {
			p.Spec.Template.Annotations = map[string]string{"example.com/owner": "them"}
		}},
		{"taints", "NodePoolDrifted", func(p *apiv1.NodePool) {
			p.Spec.Template.Spec.Taints = append(p.Spec.Template.Spec.Taints, corev1.Taint{Key: "example.com/soft", Effect: corev1.TaintEffectPreferNoSchedule})
		}},
		{"grace", "NodePoolDrifted", func(p *apiv1.NodePool) {
			p.Spec.Template.Spec.TerminationGracePeriod = &apiv1.Duration{Duration: time.Minute}
		}},
		{"requirements", "RequirementsDrifted", func(p *apiv1.NodePool) {
			p.Spec.Template.Spec.Requirements = append(p.Spec.Template.Spec.Requirements, in(apiv1.CapacityTypeLabelKey, "on-demand"))
		}},
		{"nothing", "", func(p *apiv1.NodePool) {
			p.Spec.Limits = apiv1.Limits{corev1.ResourceCPU: *quantity("100")}
			weight := int32(7)
			p.Spec.Weight = &weight
			p.Spec.Disruption.ConsolidateAfter = apiv1.MustParseNillableDuration("5m")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := newCorner(t, "drift-"+tt.name)
			p := c.pool()
			c.deploy("web", 1, "1")
			c.awaitRunning("web", 1)
			before := names(c.awaitNodes(1))
			if tt.reason == "" {
				c.change(p, func() { tt.change(p) })
				c.keeps(before, 6*time.Second)
				return
			}
			c.change(p, func() {
				tt.change(p)
				p.Spec.Disruption.Budgets = []apiv1.Budget{{Nodes: "0"}}
			})
			c.awaitDrifted(1, tt.reason)
			c.change(p, func() { p.Spec.Disruption.Budgets = nil })
			for name := range before {
				c.awaitGone(name)
			}
			c.awaitNodes(1)
			c.awaitRunning("web", 1)
			c.awaitDrifted(0, "")
		})
	}
}

// A budget in percent is rounded up. A budget for another reason does not count. A budget with a schedule that is always active
// blocks drift.
func TestDriftBudgets(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "drift-budgets")
	always, day := "* * * * *", apiv1.Duration{Duration: 24 * time.Hour}
	closed := []apiv1.Budget{{Nodes: "0", Schedule: &always, Duration: &day}}
	p := c.pool(func(p *apiv1.NodePool) { p.Spec.Disruption.Budgets = closed })
	c.deploy("web", 5, "1", apart)
	c.awaitRunning("web", 5)
	before := names(c.awaitNodes(5))
	c.recolour(p, "green")
	c.awaitDrifted(5, "NodePoolDrifted")
	c.keeps(before, 4*time.Second)
	c.change(p, func() {
		p.Spec.Disruption.Budgets = []apiv1.Budget{
			{Nodes: "30%", Reasons: []apiv1.DisruptionReason{apiv1.DisruptionReasonDrifted}},
			{Nodes: "0", Reasons: []apiv1.DisruptionReason{apiv1.DisruptionReasonEmpty, apiv1.DisruptionReasonUnderutilized}},
		}
	})
	if most := c.awaitRecoloured(5, "green"); most > 2 {
		t.Errorf("%d nodes went at a time; 30%% of 5 are 2, rounded up", most)
	}
	c.awaitRunning("web", 5)
}

// Empty drifted nodes are deleted without replacements, within the budget for drift. The test waits until the controller
// reports the nodes as empty, because the controller gets pods and drift by different watches.
func TestEmptyNodesDrift(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "drift-empty")
	p := c.pool(func(p *apiv1.NodePool) { p.Spec.Disruption.Budgets = []apiv1.Budget{{Nodes: "100%"}} })
	d := c.deploy("web", 3, "1", apart)
	c.awaitRunning("web", 3)
	before := names(c.awaitNodes(3))
	c.scale(d, 0)
	c.awaitRunning("web", 0)
	c.change(p, func() { p.Annotations[apiv1.EnforcementModeAnnotationKey] = apiv1.ModeDryRun })
	c.recolour(p, "green")
	for name := range before {
		c.awaitTold("Node", map[string]bool{name: true}, "DisruptionWithheld", "delete "+name, "Drifted")
	}
	c.change(p, func() { p.Annotations[apiv1.EnforcementModeAnnotationKey] = apiv1.ModeAuto })
	for name := range before {
		c.awaitGone(name)
	}
	if n := len(c.nodes()); n != 0 {
		t.Errorf("%d nodes were launched without need", n)
	}
}

// slowClass creates a node class whose nodes would register only after the end of the test.
func (c *corner) slowClass() *kwokv1alpha1.KWOKNodeClass {
	c.t.Helper()
	class := &kwokv1alpha1.KWOKNodeClass{ObjectMeta: metav1.ObjectMeta{Name: c.name}}
	class.Spec.NodeRegistrationDelay = &metav1.Duration{Duration: time.Hour}
	c.put(class)
	return class
}

// untouched returns a function that reports a problem if the pod's node is deleted before its replacement exists.
func (c *corner) untouched(pod corev1.Pod) func() string {
	return func() string {
		for _, n := range c.nodes() {
			if n.Name == pod.Spec.NodeName {
				return missing(n.DeletionTimestamp == nil, "node %s goes before its replacement is there", n.Name)
			}
		}
		return "node " + pod.Spec.NodeName + " is gone before its replacement is there"
	}
}

// A drifted node stays while its replacement does not register. After the replacement is deleted, the marks of the node are
// removed. Drift continues when replacements register again.
func TestReplacementThatNeverRegisters(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "drift-unregistered")
	c.slowClass()
	p := c.pool()
	c.deploy("web", 1, "1")
	pod := c.awaitRunning("web", 1)[0]
	c.change(p, func() { p.Spec.Template.Spec.NodeClassRef = classRef(c.name) })
	var lost apiv1.NodeClaim
	c.poll(func() string {
		for _, claim := range c.claims() {
			if claim.Spec.NodeClassRef.Name == c.name { // claims of the old class have no node name yet if the pod was faster
				lost = claim
			}
		}
		return missing(lost.Name != "", "no replacement is launched")
	})
	c.holds(5*time.Second, c.untouched(pod))
	// The replacement is deleted after the pool has its old class again. The node has not drifted any more then, so no other
	// replacement is launched at once.
	c.change(p, func() { p.Spec.Template.Spec.NodeClassRef = classRef("default") })
	c.poll(func() string {
		for _, claim := range c.claims() {
			if claim.Status.NodeName == pod.Spec.NodeName && condition.IsTrue(&claim, apiv1.ConditionTypeDrifted) {
				return "the node still counts as drifted"
			}
		}
		return ""
	})
	if err := c.Delete(t.Context(), &lost); err != nil {
		t.Fatal(err)
	}
	c.poll(func() string {
		if problem := c.untouched(pod)(); problem != "" {
			t.Fatal(problem)
		}
		for _, n := range c.nodes() {
			for _, taint := range n.Spec.Taints {
				if taint.Key == apiv1.DisruptedTaintKey {
					return "the node is still marked to go"
				}
			}
		}
		return missing(len(c.claims()) == 1, "%d claims, want the one there was", len(c.claims()))
	})
	c.awaitDrifted(0, "") // the template is as it was at first
	c.recolour(p, "green")
	c.awaitRecoloured(1, "green")
	c.awaitRunning("web", 1)
}

// A drifted node stays while its replacement is registered but not initialized.
func TestReplacementThatNeverInitializes(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "drift-uninitialized")
	p := c.pool()
	c.deploy("web", 1, "1")
	pod := c.awaitRunning("web", 1)[0]
	never := corev1.Taint{Key: "example.com/never", Effect: corev1.TaintEffectNoSchedule}
	c.change(p, func() { p.Spec.Template.Spec.StartupTaints = []corev1.Taint{never} })
	c.poll(func() string {
		return missing(len(c.nodes()) == 2, "%d nodes, want the old and its replacement", len(c.nodes()))
	})
	c.holds(8*time.Second, c.untouched(pod))
	if n := len(c.claims()); n != 2 {
		t.Errorf("%d claims, want the old and its replacement", n)
	}
	for _, n := range c.nodes() {
		if n.Name == pod.Spec.NodeName {
			continue
		}
		c.change(&n, func() {
			kept := n.Spec.Taints[:0]
			for _, taint := range n.Spec.Taints {
				if taint.Key != never.Key {
					kept = append(kept, taint)
				}
			}
			n.Spec.Taints = kept
		})
	}
	c.awaitGone(pod.Spec.NodeName)
	c.awaitRunning("web", 1)
}

// sickenPod sets a pod to not ready. It waits until the hollow kubelet has made the pod ready, because the kubelet does not
// change the pod after that.
func (c *corner) sickenPod(pod corev1.Pod) {
	c.t.Helper()
	c.poll(func() string {
		if err := c.Get(c.t.Context(), clientKey(&pod), &pod); err != nil {
			c.t.Fatal(err)
		}
		for i := range pod.Status.Conditions {
			if ready := &pod.Status.Conditions[i]; ready.Type == corev1.PodReady && ready.Status == corev1.ConditionTrue {
				ready.Status = corev1.ConditionFalse
				return missing(c.Status().Update(c.t.Context(), &pod) == nil, "pod %s was written by others", pod.Name)
			}
		}
		return "pod " + pod.Name + " is not ready yet"
	})
}

// A PodDisruptionBudget over unhealthy pods prevents that drifted nodes are drained.
func TestUnhealthyPodsHoldDrift(t *testing.T) {
	t.Parallel()
	c := newCorner(t, "drift-unhealthy")
	p := c.pool()
	c.deploy("web", 2, "1", apart)
	for _, pod := range c.awaitRunning("web", 2) {
		c.sickenPod(pod)
	}
	one := intstr.FromInt32(1)
	pdb := &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: c.name},
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
		},
	}
	c.put(pdb)
	c.poll(func() string {
		if err := c.Get(t.Context(), clientKey(pdb), pdb); err != nil {
			t.Fatal(err)
		}
		return missing(pdb.Status.ExpectedPods == 2 && pdb.Status.CurrentHealthy == 0, "the budget says %+v", pdb.Status)
	})
	before := names(c.awaitNodes(2))
	c.change(p, func() { p.Spec.Disruption.Budgets = []apiv1.Budget{{Nodes: "100%"}} })
	c.recolour(p, "green")
	c.awaitDrifted(2, "NodePoolDrifted")
	c.keeps(before, 5*time.Second)
}
