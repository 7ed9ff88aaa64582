package disrupt_test

import (
	"math"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

// One decision launches at most 1,000 nodes for a static NodePool, however many replicas the pool has.
func TestReplicasWithoutBound(t *testing.T) {
	for _, tt := range []struct {
		name     string
		replicas int64
		limit    corev1.ResourceList
		launches int
	}{
		{"some more than at once", 1_002, nil, 1000},
		{"as many as can be written, with a limit", math.MaxInt64, corev1.ResourceList{model.Nodes: resource.MustParse("1")}, 0},
		{"as many as can be written", math.MaxInt64, nil, 1000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &scenario.Cluster{
				Pools: []scenario.Pool{{Name: "fixed", Replicas: ptr.To(tt.replicas), Limits: tt.limit}},
				Types: []scenario.Type{{Name: "m.large", CPU: "2", Memory: "8Gi", Price: 0.1}},
				Nodes: []scenario.Node{{Name: "n1", Pool: "fixed", Type: "m.large", Conditions: []string{"Drifted"}}},
			}
			s, err := c.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			o := options()
			o.Static, o.TerminateFirst = true, []apiv1.DisruptionReason{apiv1.DisruptionReasonDrifted}
			if n := len(disrupt.Decide(s, o, disrupt.Cursor{}).Launches); n != tt.launches {
				t.Errorf("%d launches, want %d", n, tt.launches)
			}
		})
	}
}
