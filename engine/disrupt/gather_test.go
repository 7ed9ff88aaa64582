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

// Where pods come and go all the time nodes wait for others, and then do not for as long: nothing is held up for ever.
func TestGatheringEnds(t *testing.T) {
	for _, tt := range []struct {
		name     string
		restless int           // nodes that come to rest in a moment, at any time
		moment   time.Duration // which is so long
		wait     int           // seconds
	}{
		{"for one that has come to rest, and only its condition lacks", 1, 0, 46},
		{"for one that comes to rest very soon", 1, 3 * time.Second, 43},
		{"for one that comes to rest soon", 1, 8 * time.Second, 8},
		{"for most of them", 4, 30 * time.Second, 91},
		{"for none that comes to rest late", 1, 30 * time.Second, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var cursor disrupt.Cursor
			for second := range 4 * max(tt.wait, 10) {
				s, err := stir(tt.restless, tt.moment, time.Duration(second)*time.Second).Snapshot()
				if err != nil {
					t.Fatal(err)
				}
				d := disrupt.Decide(s.At(s.Now.Add(time.Duration(second)*time.Second)), options(), cursor)
				cursor = d.Cursor
				waits := tt.wait > 0 && second%(2*tt.wait) < tt.wait
				if waits != (len(d.Commands) == 0) {
					t.Fatalf("after %d s, of which the first %d of %d are for waiting:\n%s", second, tt.wait, 2*tt.wait, d)
				}
			}
		})
	}
}

// A wait ends with those who wait: when they are restless again, later ones wait for themselves.
func TestGatheringIsForgotten(t *testing.T) {
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
			t.Errorf("after %d h they wait since %v:\n%s", i, cursor.Consolidation.WaitingSince, d)
		}
	}
}

// stir returns a cluster, as it is after some time, in which two nodes came to rest a second ago, and others will in a moment.
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
