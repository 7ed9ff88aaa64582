package disrupt_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/repair"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

// gpu is the condition of unhealthy nodes in these tests, in the form type=status/reason.
const gpu = "GPU=False/XID79"

// sickPool returns a snapshot with a pool of 20 nodes and a budget of 10%. The first nodes, as many as unhealthy says, are
// unhealthy.
func sickPool(t *testing.T, unhealthy int) *model.Snapshot {
	t.Helper()
	c := &scenario.Cluster{
		Pools: []scenario.Pool{{Name: "default", Disruption: apiv1.Disruption{Budgets: []apiv1.Budget{{Nodes: "10%"}}}}},
		Types: []scenario.Type{{Name: "m.large", CPU: "2", Memory: "8Gi", Price: 0.1}},
	}
	for i := range 20 {
		n := scenario.Node{
			Name: fmt.Sprintf("n%02d", i), Pool: "default", Type: "m.large", Pods: []scenario.Pod{{Name: fmt.Sprint("p", i), CPU: "1500m"}},
		}
		if i < unhealthy {
			n.Health, n.HealthFor = []string{gpu}, metav1.Duration{Duration: time.Hour}
		}
		c.Nodes = append(c.Nodes, n)
	}
	s, err := c.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func repairing(t *testing.T) disrupt.Options {
	t.Helper()
	o := options()
	var err error
	o.Repair, err = repair.Compile([]repair.Policy{{
		ConditionType: "GPU", ConditionStatus: corev1.ConditionFalse, TolerationDuration: 10 * time.Minute,
		TerminationGracePeriod: new(time.Duration), Action: repair.ReplaceNode,
	}})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func countUnhealthy(s *model.Snapshot) (n int) {
	for _, node := range s.Nodes() {
		for _, c := range node.Object.Status.Conditions {
			if c.Type == "GPU" && c.Status == corev1.ConditionFalse {
				n++
			}
		}
	}
	return n
}

// Repair replaces all unhealthy nodes of a pool, whatever share of the pool they are. The budget of 10% allows two at a time.
// While more than 20% of the pool are unhealthy, only one is repaired at a time.
func TestPoolHeals(t *testing.T) {
	for _, tt := range []struct{ percent, passes int }{{5, 1}, {20, 2}, {60, 10}} {
		t.Run(fmt.Sprintf("%d%%", tt.percent), func(t *testing.T) {
			s, o, passes := sickPool(t, 20*tt.percent/100), repairing(t), 0
			for ; countUnhealthy(s) > 0; passes++ {
				d := disrupt.Decide(s, o, disrupt.Cursor{})
				most := 2
				if countUnhealthy(s) > 4 {
					most = 1
				}
				if len(d.Commands) != most && len(d.Commands) != countUnhealthy(s) {
					t.Fatalf("pass %d with %d unhealthy nodes:\n%s", passes, countUnhealthy(s), d)
				}
				s = carriedOut(s, d)
			}
			if passes != tt.passes {
				t.Errorf("healed in %d passes, want %d", passes, tt.passes)
			}
			if d := disrupt.Decide(s, o, disrupt.Cursor{}); len(d.Commands) > 0 {
				t.Errorf("a healthy pool is repaired:\n%s", d)
			}
		})
	}
}

// If the replacements that repair launches are unhealthy as well, as with a bad image, the pause between repairs of the
// pool becomes longer each time.
func TestBadReplacementsSlowDown(t *testing.T) {
	s, o := sickPool(t, 1), repairing(t)
	var gaps []time.Duration
	last := s.Now
	for range 24 * 60 {
		d := disrupt.Decide(s, o, disrupt.Cursor{})
		if len(d.Commands) > 0 {
			gaps, last = append(gaps, s.Now.Sub(last)), s.Now
			s = sicken(carriedOut(s, d), d)
		}
		s = s.At(s.Now.Add(time.Minute))
	}
	want := []time.Duration{0, 20, 30, 50, 90, 170, 330, 490}
	if len(gaps) != len(want) {
		t.Fatalf("repairs after %v, want minutes %v", gaps, want)
	}
	for i, minutes := range want {
		if gaps[i] != minutes*time.Minute {
			t.Errorf("repair %d came after %s, want %d minutes", i, gaps[i], minutes)
		}
	}
}

// sicken returns s, in which the replacements that the decision launched become unhealthy at s.Now.
func sicken(s *model.Snapshot, d disrupt.Decision) *model.Snapshot {
	var change model.Delta
	for _, cmd := range d.Commands {
		for i := range cmd.Replacements {
			n, _ := s.NodeByName(fmt.Sprintf("%s-x%d", cmd.Nodes[0].Name, i))
			node, claim := n.Object.DeepCopy(), n.Claim.DeepCopy()
			node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{
				Type: "GPU", Status: corev1.ConditionFalse, Reason: "XID79", LastTransitionTime: metav1.Time{Time: s.Now},
			})
			claim.CreationTimestamp = metav1.Time{Time: s.Now}
			claim.Annotations = map[string]string{apiv1.RepairAttemptAnnotationKey: fmt.Sprint(cmd.Repair.Attempt)}
			change.Nodes, change.Claims = append(change.Nodes, node), append(change.Claims, claim)
		}
	}
	return s.Apply(change)
}
