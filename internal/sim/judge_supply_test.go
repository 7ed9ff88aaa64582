package sim

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

const (
	staticOfTest = `apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: static}
spec:
  replicas: 1
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: []
`
	bufferOfTest = `apiVersion: v1
kind: PodTemplate
metadata: {name: spare, namespace: default}
template:
  metadata: {labels: {app: spare}}
  spec: {containers: [{name: c, image: c, resources: {requests: {cpu: "1"}}}]}
---
apiVersion: autoscaling.x-k8s.io/v1beta1
kind: CapacityBuffer
metadata: {name: spare, namespace: default}
spec: {podTemplateRef: {name: spare}, replicas: 2}
`
)

// A static NodePool must have its nodes, and the nodes must have room for the pods of a CapacityBuffer, 20 minutes after the last event.
func TestSupplyIsKept(t *testing.T) {
	node := func(name, pool, cpu string) *corev1.Node {
		n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			apiv1.NodePoolLabelKey: pool, apiv1.NodeInitializedLabelKey: "true",
		}}}
		n.Status.Allocatable = corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("10"),
		}
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
		return n
	}
	for _, tt := range []struct {
		name, objects string
		nodes         []*corev1.Node
		rule          string // that is violated, empty for none
	}{
		{"too few nodes", staticOfTest, nil, ruleStatic},
		{"too many nodes", staticOfTest, []*corev1.Node{node("a", "static", "1"), node("b", "static", "1")}, ruleStatic},
		{"all nodes", staticOfTest, []*corev1.Node{node("a", "static", "1"), node("b", "default", "1")}, ""},
		{"no room", bufferOfTest, []*corev1.Node{node("a", "default", "1900m")}, ruleHeadroom},
		{"room on two nodes", bufferOfTest, []*corev1.Node{node("a", "default", "1900m"), node("b", "default", "1")}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := worldWithReplica(t)
				if err := w.platform.apply(tt.objects); err != nil {
					t.Fatal(err)
				}
				for _, n := range tt.nodes {
					status := n.DeepCopy().Status
					if err := w.platform.client.Create(t.Context(), n); err != nil {
						t.Fatal(err)
					}
					n.Status = status
					if err := w.platform.client.Status().Update(t.Context(), n); err != nil {
						t.Fatal(err)
					}
				}
				for range 3 {
					<-time.After(recovery + time.Second) // virtual time
					w.judge.seen = map[string]bool{}
					w.judge.supply.look()
				}
				var rules []string
				for _, v := range w.judge.violations {
					rules = append(rules, v.Rule)
				}
				if got := slices.Compact(rules); fmt.Sprint(got) != fmt.Sprint(slices.DeleteFunc([]string{tt.rule}, func(r string) bool { return r == "" })) {
					t.Errorf("%v", w.judge.violations)
				}
			})
		})
	}
}

// A claim for a reservation that has an instance left violates nothing, the next one does. Claims that may be launched elsewhere, and
// claims that are being deleted, do not count.
func TestReservationsAreNotExceeded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := worldWithReplica(t)
		if err := w.account.reserve(Event{Verb: "reserve", Args: []string{"m5.large/us-east-1a", "1"}}); err != nil {
			t.Fatal(err)
		}
		<-time.After(listed + time.Second) // virtual time
		w.processes.writer = "karpenter-0"
		claim := func(values ...string) *apiv1.NodeClaim {
			c := claimFor(cpuRequests("1"))
			c.Annotations = map[string]string{apiv1.ReplacesAnnotationKey: "other"} // the rule about demand leaves it out
			c.Finalizers = []string{"karpenter.sh/termination"}
			c.Spec.Requirements = []apiv1.NodeSelectorRequirementWithMinValues{
				{Key: awsv1.LabelCapacityReservationID, Operator: corev1.NodeSelectorOpIn, Values: values},
			}
			if err := w.platform.client.Create(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			return c
		}
		id := w.account.reservations[0].id
		claim(id, "cr-other")
		first := claim(id)
		if err := w.platform.client.Delete(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		claim(id)
		if len(w.judge.violations) > 0 {
			t.Errorf("one claim for one instance: %v", w.judge.violations)
		}
		claim(id)
		if len(w.judge.violations) != 1 || w.judge.violations[0].Rule != ruleReserved {
			t.Errorf("two claims for one instance: %v", w.judge.violations)
		}
	})
}
