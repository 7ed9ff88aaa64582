package status_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

// The condition Consolidatable does not count for consolidateAfter after the last pod event in the claim's status: the condition may be
// of the time before that event.
func TestConditionOlderThanLastPodEvent(t *testing.T) {
	c := scenario.Cluster{
		Pools: []scenario.Pool{{Name: "default", Disruption: apiv1.Disruption{ConsolidateAfter: apiv1.MustParseNillableDuration("2m")}}},
		Types: []scenario.Type{{Name: "m.large", CPU: "2", Memory: "8Gi", Price: 0.1}},
		Nodes: []scenario.Node{{Name: "n1", Pool: "default", Type: "m.large", Conditions: []string{apiv1.ConditionTypeConsolidatable}}},
	}
	for since, want := range map[time.Duration]bool{22 * time.Second: false, 2*time.Minute - time.Second: false, 2 * time.Minute: true} {
		s, err := c.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		n := s.Nodes()[0]
		n.Claim.Status.LastPodEventTime = metav1.NewTime(s.Now.Add(-since))
		if got := status.Consolidatable(s, n); got != want {
			t.Errorf("%v after the last pod event Consolidatable is %v", since, got)
		}
	}
}

// A user has requested consolidation before consolidateAfter has passed. The request counts for nodes whose last pod event was earlier.
func TestConsolidationRequested(t *testing.T) {
	c := scenario.Cluster{
		Pools: []scenario.Pool{{Name: "default", Disruption: apiv1.Disruption{ConsolidateAfter: apiv1.MustParseNillableDuration("2h")}}},
		Types: []scenario.Type{{Name: "m.large", CPU: "2", Memory: "8Gi", Price: 0.1}},
		Nodes: []scenario.Node{{Name: "n1", Pool: "default", Type: "m.large", Conditions: []string{apiv1.ConditionTypeConsolidatable}}},
	}
	for requested, want := range map[time.Duration]bool{-time.Minute: false, -10 * time.Second: true, 0: true, time.Minute: false} {
		s, err := c.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		n := s.Nodes()[0]
		n.Claim.Status.LastPodEventTime = metav1.NewTime(s.Now.Add(-30 * time.Second))
		pool, _ := s.Pool("default")
		pool.Object.Annotations = map[string]string{apiv1.ConsolidationRequestedAnnotationKey: s.Now.Add(requested).Format(time.RFC3339)}
		if got := status.Consolidatable(s, n); got != want {
			t.Errorf("with a request %v from now Consolidatable is %v", requested, got)
		}
	}
}
