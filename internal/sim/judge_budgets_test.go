package sim

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// A budget with a schedule counts while it applies, but not near the ends of its time, and not soon after a fault.
func TestBudgetsWithSchedulesApply(t *testing.T) {
	for _, tt := range []struct {
		name     string
		schedule string
		duration time.Duration
		at       time.Duration // since midnight
		fault    time.Duration // when the last fault ended, since midnight
		want     bool
	}{
		{name: "inside", schedule: "0 * * * *", duration: 10 * time.Minute, at: 65 * time.Minute, want: true},
		{name: "just begun", schedule: "0 * * * *", duration: 10 * time.Minute, at: time.Hour + 5*time.Second},
		{name: "nearly over", schedule: "0 * * * *", duration: 10 * time.Minute, at: 70*time.Minute - time.Second},
		{name: "over", schedule: "0 * * * *", duration: 10 * time.Minute, at: 71 * time.Minute},
		{name: "before the first", schedule: "0 12 * * *", duration: time.Hour, at: 11 * time.Hour},
		{name: "longer than a day", schedule: "0 0 * * *", duration: 25 * time.Hour, at: 23 * time.Hour, want: true},
		{name: "not understood", schedule: "sometimes", duration: time.Minute, at: time.Hour, want: true},
		{name: "after a fault", schedule: "0 * * * *", duration: 10 * time.Minute, at: 65 * time.Minute, fault: 65*time.Minute - 5*time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { // begins at midnight UTC
				w := &World{processes: &processes{replicas: map[string]*replica{"a": nil}}, faults: newFaults(nil)}
				m := &moveRules{judge: &judge{world: w}}
				w.faults.hampered = time.Now().Add(tt.fault)
				<-time.After(tt.at) // virtual time
				b := apiv1.Budget{Nodes: "0", Schedule: ptr.To(tt.schedule), Duration: &apiv1.Duration{Duration: tt.duration}}
				if got := m.active(b); got != tt.want {
					t.Errorf("at %s, applies is %t, want %t", tt.at, got, tt.want)
				}
			})
		})
	}
	if !(&moveRules{}).active(apiv1.Budget{Nodes: "1"}) {
		t.Error("a budget without a schedule does not apply")
	}
}

// Nodes that a user deletes or that are not ready count against the budgets.
func TestOtherNodesCount(t *testing.T) {
	for _, tt := range []struct {
		name    string
		deleted bool          // the other node; otherwise it is not ready
		after   time.Duration // since then
		reason  string        // for which a node is disrupted, Drifted if it is empty
		want    []string
	}{
		{name: "deleted", deleted: true, after: time.Minute, want: []string{ruleBudget}},
		{name: "just deleted", deleted: true, after: bound / 2},
		{name: "not ready", after: time.Minute, want: []string{ruleBudget}},
		{name: "just not ready", after: bound / 2},
		{name: "deleted, and repair", deleted: true, after: time.Minute, reason: "Unhealthy", want: []string{ruleBudget}},
		{name: "not ready, and repair", after: time.Minute, reason: "Unhealthy"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := worldWithReplica(t)
				if err := w.platform.apply(strings.Replace(poolOfProtection, "100%", "1", 1)); err != nil {
					t.Fatal(err)
				}
				addNode(t, w, "goes", cpuRequests("1"))
				addNode(t, w, "stays", cpuRequests("1"))
				<-time.After(time.Hour) // virtual time
				other := w.platform.claimOf("goes").DeepCopy()
				condition.SetTrue(other, apiv1.ConditionTypeInitialized, time.Now())
				if err := w.platform.client.Status().Update(t.Context(), other); err != nil {
					t.Fatal(err)
				}
				if tt.deleted {
					other.Finalizers = []string{"test/stays"}
					if err := w.platform.client.Update(t.Context(), other); err != nil {
						t.Fatal(err)
					}
					if err := w.platform.client.Delete(t.Context(), other); err != nil {
						t.Fatal(err)
					}
				} else {
					node, _ := kubeapi.Find[*corev1.Node](w.platform.server, "", "goes")
					node = node.DeepCopy()
					node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: "False", LastTransitionTime: metav1.Now()}}
					if err := w.platform.client.Status().Update(t.Context(), node); err != nil {
						t.Fatal(err)
					}
				}
				<-time.After(tt.after) // virtual time
				follow(t, w)
				w.processes.writer = "karpenter-0"
				node, _ := kubeapi.Find[*corev1.Node](w.platform.server, "", "stays")
				pool, _ := kubeapi.Find[*apiv1.NodePool](w.platform.server, "", "default")
				reason := cmp.Or(tt.reason, "Drifted")
				w.judge.moves.marked["stays"] = reason
				w.judge.moves.checkBudget(pool, node, reason)
				if got := violated(w); fmt.Sprint(got) != fmt.Sprint(tt.want) {
					t.Errorf("violated %v, want %v: %v", got, tt.want, w.judge.violations)
				}
			})
		})
	}
}

// The policy of a NodePool and its annotations say which of its nodes may be disrupted.
func TestPoliciesHold(t *testing.T) {
	for _, tt := range []struct {
		name        string
		policy      apiv1.ConsolidationPolicy
		annotations map[string]string
		reason      string
		broken      bool
	}{
		{name: "no policy", reason: "Underutilized"},
		{name: "only empty nodes, and it is empty", policy: apiv1.ConsolidationPolicyWhenEmpty, reason: "Empty"},
		{name: "only empty nodes, and it is not", policy: apiv1.ConsolidationPolicyWhenEmpty, reason: "Underutilized", broken: true},
		{name: "paused", annotations: map[string]string{apiv1.DisruptionPausedAnnotationKey: "true"}, reason: "Empty", broken: true},
		{name: "not paused", annotations: map[string]string{apiv1.DisruptionPausedAnnotationKey: "false"}, reason: "Empty"},
		{name: "dry run", annotations: map[string]string{apiv1.EnforcementModeAnnotationKey: "DryRun"}, reason: "Drifted", broken: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &moveRules{judge: &judge{}}
			pool := &apiv1.NodePool{ObjectMeta: metav1.ObjectMeta{Name: "default", Annotations: tt.annotations}}
			pool.Spec.Disruption.ConsolidationPolicy = tt.policy
			if m.checkPolicy(pool, &corev1.Node{}, tt.reason); len(m.violations) > 0 != tt.broken {
				t.Errorf("violations are %v", m.violations)
			}
		})
	}
}
