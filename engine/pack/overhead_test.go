package pack_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

// A node is planned as the cheapest type, on which a DaemonSet requests a device. The other type has no device. The NodeClaim must
// not request it, because a node without it would never be initialized.
func TestRequestsHoldForAllOptions(t *testing.T) {
	device := map[string]string{"example.com/device": "1"}
	onArm := corev1.PodSpec{NodeSelector: map[string]string{corev1.LabelArchStable: "arm64"}}
	onAmd := corev1.PodSpec{NodeSelector: map[string]string{corev1.LabelArchStable: "amd64"}}
	c := scenario.Cluster{
		Pools: []scenario.Pool{{Name: "default"}},
		Pods:  []scenario.Pod{{Name: "web", CPU: "1"}},
		Daemons: []scenario.Pod{
			{Name: "all", CPU: "100m"}, {Name: "arm", CPU: "300m", Memory: "1Gi", Also: device, Spec: onArm}, {Name: "amd", CPU: "200m", Spec: onAmd},
		},
		Types: []scenario.Type{
			{Name: "g.large", CPU: "2", Memory: "8Gi", Price: 0.1, Arch: "arm64", Also: device},
			{Name: "g.xlarge", CPU: "4", Memory: "16Gi", Price: 0.2, Arch: "arm64", Also: device},
			{Name: "m.large", CPU: "2", Memory: "8Gi", Price: 0.3},
		},
	}
	for _, tt := range []struct {
		most int // Options.MaxTypes
		want model.Resources
	}{
		{3, model.Resources{corev1.ResourceCPU: 1300, corev1.ResourcePods: 3}},
		{2, model.Resources{corev1.ResourceCPU: 1400, corev1.ResourceMemory: 1 << 30, corev1.ResourcePods: 3, "example.com/device": 1}},
	} {
		s, err := c.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		plan := pack.Solve(s, pack.Options{Labels: labels, MaxTypes: tt.most})
		if len(plan.Nodes) != 1 || len(plan.Nodes[0].Options) != tt.most {
			t.Fatalf("plan for %d types:\n%s", tt.most, plan)
		}
		if diff := cmp.Diff(tt.want, plan.Nodes[0].Requests); diff != "" {
			t.Errorf("requests with %d types (-want +got):\n%s", tt.most, diff)
		}
		onFirst := model.Resources{corev1.ResourceCPU: 1400, corev1.ResourceMemory: 1 << 30, corev1.ResourcePods: 3, "example.com/device": 1}
		if diff := cmp.Diff(onFirst, plan.Nodes[0].Used); diff != "" {
			t.Errorf("requests on the first of %d types (-want +got):\n%s", tt.most, diff)
		}
	}
}
