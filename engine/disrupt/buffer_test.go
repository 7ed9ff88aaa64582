package disrupt_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autoscalingv1beta1 "github.com/karpenter-go/karpenter/api/autoscaling/v1beta1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/buffer"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/engine/verify"
)

// room returns the virtual pods of a capacity buffer: the given number of pods that request one core each.
func room(pods int32) []*corev1.Pod {
	b := &autoscalingv1beta1.CapacityBuffer{ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "default", UID: "b"}}
	b.Spec.Replicas = &pods
	one := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}
	return buffer.Pods(b, buffer.Source{Template: &corev1.PodTemplateSpec{Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: one}}},
	}}})
}

// A node whose free capacity a buffer reserves is not empty, so it is not deleted. The other node is empty and deleted. If
// such a node has drifted, it is replaced, so that the buffer keeps its capacity.
func TestRoomOfBuffers(t *testing.T) {
	never := apiv1.MustParseNillableDuration("0s")
	for _, tt := range []struct {
		name, condition string
		pods            int32
		want            string
	}{
		{"no buffer", apiv1.ConditionTypeConsolidatable, 0, `delete a (Empty, saves $0.1000/h)
delete b (Empty, saves $0.1000/h)
`},
		{"room on one", apiv1.ConditionTypeConsolidatable, 2, `delete b (Empty, saves $0.1000/h)
blocked a: free capacity of the node is reserved for CapacityBuffer default/b
`},
		{"drifted", apiv1.ConditionTypeDrifted, 4, `replace a by m.large a on-demand (Drifted, saves $0.0000/h)
replace b by m.large a on-demand (Drifted, saves $0.0000/h)
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := scenario.Cluster{
				Pools: []scenario.Pool{{Name: "default", Disruption: apiv1.Disruption{
					ConsolidateAfter: never, Budgets: []apiv1.Budget{{Nodes: "100%"}},
				}}},
				Types: []scenario.Type{{Name: "m.large", CPU: "2", Memory: "8Gi", Price: 0.10}},
			}
			for _, name := range []string{"a", "b"} {
				c.Nodes = append(c.Nodes, scenario.Node{
					Name: name, Pool: "default", Type: "m.large", Conditions: []string{tt.condition},
				})
			}
			s, err := c.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			s = s.Apply(model.Delta{Virtual: room(tt.pods)})
			d := disrupt.Decide(s, options(), disrupt.Cursor{})
			if got := d.String(); got != tt.want {
				t.Errorf("decided:\n%s\nwant:\n%s", got, tt.want)
			}
			if v := verify.Commands(s, d.Expected, d.Commands); len(v) > 0 {
				t.Errorf("the check objects: %v", v)
			}
		})
	}
}

// Consolidation would move the pod of a to c, but kube-scheduler may bind it to b, which has only headroom. A new node for the headroom
// costs as much as a saves. A larger node saves more. A pod that cannot run on b is moved in any case.
func TestPodsMayTakeHeadroom(t *testing.T) {
	for _, tt := range []struct {
		name, instance string
		pod            scenario.Pod
		want           string
	}{
		{"as much", "m.large", scenario.Pod{Name: "web", CPU: "1500m"}, `blocked a: kube-scheduler may bind 1 pod to nodes with headroom of CapacityBuffer default/b, and new nodes for it may cost $0.1000/h, as much as this saves
blocked b: free capacity of the node is reserved for CapacityBuffer default/b
`},
		{"less", "dear", scenario.Pod{Name: "web", CPU: "1500m"}, `delete a (Underutilized, saves $0.4000/h)
blocked b: free capacity of the node is reserved for CapacityBuffer default/b
`},
		{"elsewhere", "m.large", scenario.Pod{Name: "web", CPU: "1500m", Spec: corev1.PodSpec{NodeSelector: map[string]string{"disk": "fast"}}}, `delete a (Underutilized, saves $0.1000/h)
blocked b: free capacity of the node is reserved for CapacityBuffer default/b
`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			consolidatable := []string{apiv1.ConditionTypeConsolidatable}
			c := scenario.Cluster{
				Pools: []scenario.Pool{{Name: "default", Disruption: apiv1.Disruption{
					ConsolidateAfter: apiv1.MustParseNillableDuration("0s"), Budgets: []apiv1.Budget{{Nodes: "100%"}},
				}}},
				Types: []scenario.Type{
					{Name: "m.large", CPU: "2", Memory: "8Gi", Price: 0.10},
					{Name: "dear", CPU: "2", Memory: "8Gi", Price: 0.40},
				},
				Nodes: []scenario.Node{
					{Name: "a", Pool: "default", Type: tt.instance, Conditions: consolidatable, Labels: map[string]string{"disk": "fast"}, Pods: []scenario.Pod{tt.pod}},
					{Name: "b", Pool: "default", Type: "m.large", Conditions: consolidatable},
					{Name: "c", Type: "m.large", Labels: map[string]string{"disk": "fast"}, Pods: []scenario.Pod{{Name: "old", CPU: "500m"}}},
				},
			}
			s, err := c.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			d := disrupt.Decide(s.Apply(model.Delta{Virtual: room(1)}), options(), disrupt.Cursor{})
			if got := d.String(); got != tt.want {
				t.Errorf("decided:\n%s\nwant:\n%s", got, tt.want)
			}
		})
	}
}
