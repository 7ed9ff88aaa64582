package aws_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/awsemu"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/internal/awsemu/machine"
	"github.com/karpenter-go/karpenter/provider/aws/diagnose"
)

// late reconciles a claim whose node is overdue.
func (w *world) late(t *testing.T, name string) {
	t.Helper()
	claim := w.load(t, name)
	condition.SetTrue(claim, apiv1.ConditionTypeLaunched, time.Now().Add(-time.Hour))
	if err := w.kube.Status().Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	w.reconcile(t, "nodeclaim.diagnosis", name)
}

// A condition of the claim reports why its node does not join. It is removed when the node joins.
func TestDiagnosis(t *testing.T) {
	w := newWorld(t)
	p := w.start(t)
	w.running(t, p, "a", "spot")
	w.late(t, "a")
	claim := w.load(t, "a")
	c := condition.Get(claim, diagnose.ConditionNodeJoinDelayed)
	if c == nil || c.Status != "True" || c.Reason != diagnose.ReasonSilent { // it has an access entry
		t.Errorf("the condition is %+v", c)
	}
	condition.SetTrue(claim, apiv1.ConditionTypeRegistered, time.Now())
	if err := w.kube.Status().Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	w.reconcile(t, "nodeclaim.diagnosis", "a")
	if c := condition.Get(w.load(t, "a"), diagnose.ConditionNodeJoinDelayed); c != nil {
		t.Errorf("the node has joined, and the condition stays: %+v", c)
	}
}

// If the role of nodes has no access to the cluster, the claim's condition reports that with a fix, whatever the
// console contains.
func TestNodeWithoutAccess(t *testing.T) {
	const role = "arn:aws:iam::123456789012:role/KarpenterNodeRole-test"
	lineFor := func(role string) string {
		return "- rolearn: " + role + "\n  username: system:node:{{EC2PrivateDNSName}}\n  groups: [system:bootstrappers, system:nodes]\n"
	}
	for _, tt := range []struct {
		name, mode string
		entries    []string
		mapRoles   string
		want       string // "" for no finding about access
	}{
		{"an entry", "API_AND_CONFIG_MAP", []string{"KarpenterNodeRole-test"}, "", ""},
		{"neither", "API_AND_CONFIG_MAP", []string{}, "", "has no access entry and is not in ConfigMap kube-system/aws-auth; fix: " +
			"aws eks create-access-entry --cluster-name test --principal-arn " + role + " --type EC2_LINUX"},
		{"a line", "API_AND_CONFIG_MAP", []string{}, lineFor(role), ""},
		{"a line for another", "API_AND_CONFIG_MAP", []string{}, lineFor(role + "-other"), "has no access entry and is not in ConfigMap"},
		{"no entry where lines do not count", "API", []string{}, lineFor(role), "has no access entry; fix: aws eks create-access-entry"},
		{"no line where entries do not count", "CONFIG_MAP", []string{"KarpenterNodeRole-test"}, lineFor("other"), "is not in ConfigMap kube-system/aws-auth; fix: add it to mapRoles"},
		{"a line where entries do not count", "CONFIG_MAP", []string{}, lineFor(role), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorldOf(t, awsemu.Config{Sells: []string{"m5*"}, Cluster: awsemu.Cluster{AccessMode: tt.mode, AccessRoles: tt.entries}})
			p := w.start(t)
			if tt.mapRoles != "" {
				if err := w.kube.Create(t.Context(), &corev1.ConfigMap{
					ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: "aws-auth"}, Data: map[string]string{"mapRoles": tt.mapRoles},
				}); err != nil {
					t.Fatal(err)
				}
			}
			i := w.running(t, p, "a", "on-demand")
			w.launched(t, "a", i)
			w.late(t, "a")
			c := condition.Get(w.load(t, "a"), diagnose.ConditionNodeJoinDelayed)
			switch {
			case c == nil:
				t.Error("there is no diagnosis")
			case tt.want == "" && c.Reason != diagnose.ReasonSilent:
				t.Errorf("the node may join, and the condition is %+v", c)
			case tt.want != "" && (c.Reason != diagnose.ReasonNotAuthorized || !strings.Contains(c.Message, "its role "+role+" "+tt.want)):
				t.Errorf("the condition is %+v, want %q", c, tt.want)
			}
		})
	}
}

// If the controller may not call EKS, the finding depends on the console alone.
func TestAccessIsNotAskedInVain(t *testing.T) {
	w := newWorldOf(t, awsemu.Config{Sells: []string{"m5*"}, Cluster: awsemu.Cluster{AccessRoles: []string{}}})
	p := w.start(t)
	w.launched(t, "a", w.running(t, p, "a", "on-demand"))
	for op, code := range map[string]string{"eks:DescribeAccessEntry": "AccessDeniedException"} {
		if err := w.control.Fail(t.Context(), control.Fail{Op: op, Code: code, Status: 403}); err != nil {
			t.Fatal(err)
		}
	}
	w.late(t, "a")
	if c := condition.Get(w.load(t, "a"), diagnose.ConditionNodeJoinDelayed); c == nil || c.Reason != diagnose.ReasonSilent {
		t.Errorf("without the permission to ask: %+v", c)
	}
}

// An instance whose role has no access entry cannot join, and its console shows that. The claim's condition names the
// missing entry.
func TestTurnedAway(t *testing.T) {
	w := newWorldOf(t, awsemu.Config{Sells: []string{"m5*"}, Cluster: awsemu.Cluster{AccessMode: "API", AccessRoles: []string{}}})
	p := w.start(t)
	i := w.running(t, p, "a", "on-demand")
	w.launched(t, "a", i)
	cluster := fake.NewClientset()
	machines := w.emulator.Machines(machine.Config{Client: cluster, BootDelay: -1})
	machines.Step(t.Context())
	if nodes, err := cluster.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{}); err != nil || len(nodes.Items) > 0 {
		t.Errorf("%d nodes join, %v", len(nodes.Items), err)
	}
	if console := w.alive(t)[0].Console; !slices.ContainsFunc(console, func(line string) bool { return strings.Contains(line, "Unauthorized") }) {
		t.Errorf("the console says %q", console)
	}
	w.late(t, "a")
	if c := condition.Get(w.load(t, "a"), diagnose.ConditionNodeJoinDelayed); c == nil || c.Reason != diagnose.ReasonNotAuthorized || !strings.Contains(c.Message, "has no access entry") {
		t.Errorf("the condition is %+v", c)
	}
}
