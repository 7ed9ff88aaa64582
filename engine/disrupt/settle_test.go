package disrupt_test

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

// If at any time some node will soon be consolidatable, a wait of consolidation lasts about two minutes at most. After that,
// consolidation does not wait for as long as the wait lasted.
func TestWaitEnds(t *testing.T) {
	for _, tt := range []struct {
		name     string
		restless int // number of nodes that, at any time, will be consolidatable after left
		left     time.Duration
		wait     int // how long consolidation waits, in seconds
	}{
		{"for one whose condition is about to be set", 1, 0, 121},
		{"for one that will be consolidatable soon", 1, 3 * time.Second, 118},
		{"for one that will be within the gap", 1, 15 * time.Second, 106},
		{"for most of them", 4, 30 * time.Second, 91},
		{"for none that will be after the gap", 1, 30 * time.Second, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var cursor disrupt.Cursor
			period := tt.wait + min(tt.wait, 120)
			for second := range max(2*period, 40) {
				s, err := stir(tt.restless, tt.left, time.Duration(second)*time.Second).Snapshot()
				if err != nil {
					t.Fatal(err)
				}
				d := disrupt.Decide(s.At(s.Now.Add(time.Duration(second)*time.Second)), options(), cursor)
				cursor = d.Cursor
				waits := tt.wait > 0 && second%period < tt.wait
				if waits != (len(d.Commands) == 0) {
					t.Fatalf("after %d s, of which it waits for the first %d of %d:\n%s", second, tt.wait, period, d)
				}
			}
		})
	}
}

// A wait ends as soon as there is no candidate. Later candidates begin a new wait.
func TestWaitEndsWithItsCandidates(t *testing.T) {
	var cursor disrupt.Cursor
	for i, waits := range []bool{true, false, true} {
		c := stir(1, 3*time.Second, time.Duration(i)*time.Hour)
		if !waits {
			for k := range c.Nodes {
				c.Nodes[k].Conditions = []string{"Initialized"}
			}
		}
		s, err := c.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		d := disrupt.Decide(s.At(s.Now.Add(time.Duration(i)*time.Hour)), options(), cursor)
		if cursor = d.Cursor; len(d.Commands) > 0 || cursor.Consolidation.WaitingSince.IsZero() == waits {
			t.Errorf("after %d h it waits since %v:\n%s", i, cursor.Consolidation.WaitingSince, d)
		}
	}
}

// stir returns the state of a cluster at time later. Two nodes became consolidatable one second after the start. Further
// nodes, as many as restless says, will be consolidatable after the duration moment.
func stir(restless int, moment, later time.Duration) *scenario.Cluster {
	const consolidateAfter = 30 * time.Second
	c := &scenario.Cluster{
		Pools: []scenario.Pool{{Name: "default", Disruption: apiv1.Disruption{
			ConsolidateAfter: apiv1.MustParseNillableDuration(consolidateAfter.String()), Budgets: []apiv1.Budget{{Nodes: "100%"}},
		}}},
		Types: []scenario.Type{
			{Name: "m.large", CPU: "2", Memory: "8Gi", Price: 0.1}, {Name: "m.xlarge", CPU: "4", Memory: "16Gi", Price: 0.2},
		},
	}
	for i := range 2 + restless {
		n := scenario.Node{Name: fmt.Sprint("n", i), Pool: "default", Type: "m.xlarge", Conditions: []string{"Initialized"},
			Pods: []scenario.Pod{{Name: fmt.Sprint("p", i), CPU: "500m"}}}
		since := consolidateAfter - moment
		if i < 2 {
			n.Conditions = append(n.Conditions, "Consolidatable")
			since = time.Second
		}
		n.Life.Since = metav1.Duration{Duration: since - later}
		c.Nodes = append(c.Nodes, n)
	}
	return c
}
