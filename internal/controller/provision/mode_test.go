package provision

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// In mode DryRun, the plan is made and reported, but nothing is launched.
func TestDryRunLaunchesNothing(t *testing.T) {
	w := newWorld(t)
	w.Mode = apiv1.ModeDryRun
	w.pend("web", 2, 1)
	w.reconcile()
	w.clock.Step(time.Second)
	w.reconcile()
	if n := len(w.claims()); n != 0 {
		t.Errorf("%d claims were created", n)
	}
	told := w.told("LaunchWithheld")
	if len(told) != 1 || !strings.Contains(told[0], "default ") || !strings.Contains(told[0], "Mode DryRun: would launch 1 x small ($0.1000/h)") {
		t.Errorf("told %q, want the launch that was held back", told)
	}
	if told := w.told("Nominated"); len(told) != 0 {
		t.Errorf("pods were told of a node that does not come: %q", told)
	}
}

// A NodePool in mode DryRun that is cheaper than another one takes no pods from it. What it would launch is reported.
func TestDryRunPoolTakesNoPods(t *testing.T) {
	w := newWorld(t)
	p, _ := w.Cluster.Snapshot().Pool("default")
	trial := p.Object.DeepCopy()
	trial.Name, trial.UID, trial.Spec.Weight = "trial", "trial", ptr.To(int32(10)) // a pool of more weight is preferred
	trial.Annotations = map[string]string{apiv1.EnforcementModeAnnotationKey: apiv1.ModeDryRun}
	w.Cluster.Set(trial)
	w.pend("web", 2, 1)
	w.reconcile()
	w.clock.Step(time.Second)
	w.reconcile()
	if claims := w.claims(); len(claims) != 1 || claims[0].Labels[apiv1.NodePoolLabelKey] != "default" {
		t.Errorf("claims are %v, want one of NodePool default", claims)
	}
	if told := strings.Join(w.told("LaunchWithheld"), "; "); !strings.Contains(told, "trial ") || !strings.Contains(told, "Mode DryRun: would launch 1 x small") {
		t.Errorf("told %q, want what NodePool trial would launch", told)
	}
}

// In mode Approve, the pool gets at most the approved number of nodes. Nodes for pods of the highest priority are launched first.
// An event has the approval that the other nodes need. Deleted nodes do not count.
func TestApproveLaunches(t *testing.T) {
	w := newWorld(t)
	w.cloud.Types = w.cloud.Types[:1]
	approve := func(nodes string) {
		p, _ := w.Cluster.Snapshot().Pool("default")
		pool := p.Object.DeepCopy()
		pool.Annotations = map[string]string{apiv1.EnforcementModeAnnotationKey: apiv1.ModeApprove}
		if nodes != "" {
			pool.Annotations[apiv1.MaxApprovedNodesAnnotationKey] = nodes
		}
		w.Cluster.Set(pool)
	}
	round := func() int {
		w.clock.Step(retry)
		w.reconcile()
		return len(w.claims())
	}
	w.pend("web", 3, 2)
	pods := w.Cluster.Snapshot().Pending()
	first := pods[2].Object.DeepCopy()
	first.Spec.Priority = ptr.To(int32(1000))
	w.Cluster.Set(first)
	for _, tt := range []struct {
		approved, told string
		claims         int
	}{
		{"", `Waiting for approval to launch 3 x small ($0.3000/h): set annotation ext.karpenter.sh/max-approved-nodes to "3" on NodePool default`, 0},
		{"many", `launch 3 x small ($0.3000/h): set annotation ext.karpenter.sh/max-approved-nodes to "3"`, 0},
		{"1", `launch 2 x small ($0.2000/h): set annotation ext.karpenter.sh/max-approved-nodes to "3"`, 1},
		{"3", "", 3},
	} {
		*w.events = nil
		approve(tt.approved)
		if n := round(); n != tt.claims {
			t.Errorf("%q nodes are approved, and there are %d claims, want %d", tt.approved, n, tt.claims)
		}
		told := strings.Join(w.told("LaunchWithheld"), "; ")
		if told == "" != (tt.told == "") || !strings.Contains(told, tt.told) {
			t.Errorf("%q nodes are approved, and the pool is told %q, want %q", tt.approved, told, tt.told)
		}
		if s := w.Cluster.Snapshot(); tt.claims == 1 && s.Targets["default/"+first.Name] == "" {
			t.Errorf("the only node is for %v, want it for the pod of the highest priority", s.Targets)
		}
	}
	gone := w.claims()[0]
	gone.DeletionTimestamp = &metav1.Time{Time: w.clock.Now()}
	w.Cluster.Set(&gone)
	if n := round(); n != 4 {
		t.Errorf("a node goes, and there are %d claims, want one more than 3", n)
	}
}
