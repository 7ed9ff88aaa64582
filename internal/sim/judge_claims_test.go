package sim

import (
	"fmt"
	"maps"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// Claims and nodes must not stay in a state that the operator ends.
func TestClaimsMustChange(t *testing.T) {
	minutes := func(n int) apiv1.NillableDuration {
		d := time.Duration(n) * time.Minute
		return apiv1.NillableDuration{Duration: &d}
	}
	labelled := poolOfTest + "    metadata: {labels: {team: blue}}\n"
	for _, tt := range []struct {
		name, pool string
		spec       func(*apiv1.NodeClaimSpec)
		conditions []string          // that are True
		instance   bool              // the status has an instance, which does not exist
		taint      string            // of the node, which is registered
		labels     map[string]string // of the claim
		want       []string
	}{
		{name: "registered", conditions: []string{apiv1.ConditionTypeRegistered}},
		{name: "not registered", want: []string{ruleRegisters}},
		{name: "without its instance", conditions: []string{apiv1.ConditionTypeRegistered}, instance: true, want: []string{ruleOutlives}},
		{
			name: "expired", conditions: []string{apiv1.ConditionTypeRegistered}, want: []string{ruleExpires},
			spec: func(s *apiv1.NodeClaimSpec) { s.ExpireAfter = minutes(20) },
		},
		{
			name: "not expired", conditions: []string{apiv1.ConditionTypeRegistered},
			spec: func(s *apiv1.NodeClaimSpec) { s.ExpireAfter = minutes(200) },
		},
		{
			name: "drift is unnoticed", pool: labelled, want: []string{ruleDrift},
			conditions: []string{apiv1.ConditionTypeLaunched, apiv1.ConditionTypeRegistered},
		},
		{
			name: "drift is noticed", pool: labelled,
			conditions: []string{apiv1.ConditionTypeLaunched, apiv1.ConditionTypeRegistered, apiv1.ConditionTypeDrifted},
		},
		{
			name: "label is missing", pool: labelled, conditions: []string{apiv1.ConditionTypeRegistered},
			labels: map[string]string{"team": "blue"}, want: []string{ruleMetadata},
		},
		{
			name: "taint of unregistered nodes", conditions: []string{apiv1.ConditionTypeRegistered}, taint: apiv1.UnregisteredTaintKey,
			want: []string{ruleTaints},
		},
		{
			name: "taint of disrupted nodes", conditions: []string{apiv1.ConditionTypeRegistered}, taint: apiv1.DisruptedTaintKey,
			want: []string{ruleTaints},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := worldWithReplica(t)
				if tt.pool != "" {
					if err := w.platform.apply(tt.pool); err != nil {
						t.Fatal(err)
					}
				}
				claim := claimFor(cpuRequests("1"))
				if tt.spec != nil {
					tt.spec(&claim.Spec)
				}
				maps.Copy(claim.Labels, tt.labels)
				node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node", Labels: map[string]string{apiv1.NodeRegisteredLabelKey: "true"}}}
				if tt.taint != "" {
					node.Spec.Taints = []corev1.Taint{{Key: tt.taint, Effect: corev1.TaintEffectNoExecute}}
				}
				if err := w.platform.client.Create(t.Context(), claim); err != nil {
					t.Fatal(err)
				}
				if err := w.platform.client.Create(t.Context(), node); err != nil {
					t.Fatal(err)
				}
				claim.Status.NodeName = "node"
				if tt.instance {
					claim.Status.ProviderID = "aws:///us-east-1a/i-0"
				}
				for _, c := range tt.conditions {
					condition.SetTrue(claim, c, time.Now())
				}
				if err := w.platform.client.Status().Update(t.Context(), claim); err != nil {
					t.Fatal(err)
				}
				for range 5 {
					<-time.After(recovery + time.Second) // virtual time
					w.judge.seen = map[string]bool{}
					w.judge.claims.look()
				}
				if got := violated(w); fmt.Sprint(got) != fmt.Sprint(tt.want) {
					t.Errorf("violated %v, want %v: %v", got, tt.want, w.judge.violations)
				}
			})
		})
	}
}

// A replica that writes an object again and again violates a rule once a minute.
func TestCallsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := worldWithReplica(t)
		for range 3 {
			for range mostWrites {
				w.judge.quiet.count("karpenter-0", "PATCH /one", mostWrites)
				w.judge.quiet.count("karpenter-1", "PATCH /one", mostWrites)
				w.judge.quiet.count("karpenter-0", "PATCH /other", mostWrites)
			}
			<-time.After(time.Minute) // virtual time
		}
		if len(w.judge.violations) > 0 {
			t.Errorf("%v", w.judge.violations)
		}
		for range 2 * mostWrites {
			w.judge.quiet.count("karpenter-0", "PATCH /one", mostWrites)
		}
		if len(w.judge.violations) != 1 || w.judge.violations[0].Rule != ruleCallRate {
			t.Errorf("%v", w.judge.violations)
		}
	})
}
