package disrupt_test

import (
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/disrupt/budget"
	"github.com/karpenter-go/karpenter/engine/disrupt/status"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/repair"
	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/engine/scenario/random"
)

// competing changes the cluster so that nodes are due for every disruption reason at the same time, and budgets are too
// small for all of them.
func competing(c *scenario.Cluster) {
	restless(c)
	for i := range c.Nodes {
		if n := &c.Nodes[i]; i%5 == 1 {
			n.Life.Age, n.Life.Expires = metav1.Duration{Duration: 719*time.Hour + 59*time.Minute}, metav1.Duration{Duration: 720 * time.Hour}
		}
	}
	for i := range c.Pools {
		c.Pools[i].Disruption.Budgets = []apiv1.Budget{{Nodes: []string{"1", "2", "34%"}[i%3]}}
	}
}

// A shift is one of several successive decisions, with the snapshot on which it was made.
type shift struct {
	s     *model.Snapshot
	d     disrupt.Decision
	first apiv1.DisruptionReason // the reason whose method used the budgets first
}

// work makes decisions and carries out their commands until a decision has no commands. It calls look for each decision.
func work(s *model.Snapshot, look func(shift) *random.Breach) *random.Breach {
	o := options()
	o.Repair, _ = repair.Compile([]repair.Policy{{
		ConditionType: corev1.NodeReady, ConditionStatus: corev1.ConditionFalse, TolerationDuration: time.Minute,
		TerminationGracePeriod: new(time.Duration), Action: repair.ReplaceNode,
	}})
	var cursor disrupt.Cursor
	turns := []apiv1.DisruptionReason{
		apiv1.DisruptionReasonEmpty, apiv1.DisruptionReasonDrifted, apiv1.DisruptionReasonUnderutilized,
	}
	told := ""
	for range 4*len(s.Nodes()) + 4 {
		d := disrupt.Decide(s, o, cursor)
		if b := look(shift{s, d, turns[cursor.Turn]}); b != nil {
			return b
		}
		if len(d.Commands) == 0 {
			return nil
		}
		cursor, told = d.Cursor, told+d.String()+"--\n"
		s = carriedOut(s, d)
	}
	return breach("starved", "still at it\n%s", told)
}

// Forced commands come before all others. Expiry ignores budgets. Voluntary commands share what repair and expiry leave of
// the budgets.
func TestBudgetsAreShared(t *testing.T) {
	seen := map[apiv1.DisruptionReason]int{}
	crowded := 0 // decisions with forced and voluntary commands, in which budgets also kept some node
	random.Check(t, clusters, func(c *scenario.Cluster) *random.Breach {
		competing(c)
		s, err := c.Snapshot()
		if err != nil {
			return breach("snapshot", "%v", err)
		}
		return work(s.WithoutPending(), func(x shift) *random.Breach {
			forced, chosen := 0, 0
			for _, cmd := range x.d.Commands {
				seen[cmd.Reason]++
				if must(cmd.Reason) {
					forced++
				} else {
					chosen++
				}
			}
			if forced > 0 && chosen > 0 && len(waiting(x.d)) > 0 {
				crowded++
			}
			for _, check := range []func(shift) *random.Breach{mustGoes, withinBudgets, firstCall, restIsHeld} {
				if b := check(x); b != nil {
					return b
				}
			}
			return nil
		})
	})
	for _, reason := range append(budget.Reasons[:], status.ReasonExpired, status.ReasonUnhealthy) {
		if seen[reason] == 0 {
			t.Errorf("nothing went for the reason %s: %v", reason, seen)
		}
	}
	if crowded == 0 {
		t.Error("in no decision a node had to wait for both")
	}
}

func must(reason apiv1.DisruptionReason) bool {
	return reason == status.ReasonExpired || reason == status.ReasonUnhealthy
}

// waiting returns the nodes that stay only because of budgets.
func waiting(d disrupt.Decision) []*model.Node {
	var out []*model.Node
	for _, b := range d.Blocked {
		if b.Verdict.Rule == model.RuleBudget {
			out = append(out, b.Node)
		}
	}
	return out
}

// mustGoes checks that every node that has expired is in a command, and also those that expire soon whose pods have another place. A
// node that is unhealthy as well may be reported for its budgets instead. Forced commands come before voluntary ones.
func mustGoes(x shift) *random.Breach {
	goes, asked := map[string]bool{}, false
	for _, cmd := range x.d.Commands {
		if asked && must(cmd.Reason) {
			return breach("order", "what must go comes after what may\n%s", x.d)
		}
		asked = asked || !must(cmd.Reason)
		for _, n := range cmd.Nodes {
			goes[n.Name] = true
		}
	}
	homeless := map[string]bool{}
	for _, b := range x.d.Blocked {
		homeless[b.Node.Name] = b.Verdict.Rule == model.RuleNoPlace || b.Verdict.Rule == model.RuleBudget
	}
	for _, n := range x.s.Nodes() {
		if n.Claim == nil || n.Deleting || !n.Initialized || goes[n.Name] {
			continue
		}
		if expiry, ok := model.ExpiresAt(n.Claim); ok && x.s.Now.Before(expiry) && homeless[n.Name] {
			continue
		}
		p, known := x.s.Pool(n.Pool)
		if at, ok := status.ReplaceAt(n.Claim); ok && !x.s.Now.Before(at) && known && !p.Static() {
			return breach("expiry", "node %s stays\n%s", n.Name, x.d)
		}
	}
	return nil
}

// withinBudgets checks that voluntary commands and repairs do not exceed the budgets of any pool. Nodes that were being
// disrupted before the decision count.
func withinBudgets(x shift) *random.Breach {
	before, goes, repaired := budget.Of(x.s, false), map[string]int{}, map[string]int{}
	for _, cmd := range x.d.Commands {
		for _, n := range cmd.Nodes {
			a := before.Of(n.Pool)
			if n.Initialized && cmd.Reason == status.ReasonUnhealthy {
				repaired[n.Pool]++
				if out := a.Consuming(cmd.Reason) + repaired[n.Pool]; out > a.Allowed[cmd.Reason] {
					return breach("repair", "%d nodes of pool %s are repaired with %s\n%s", out, n.Pool, n.Name, x.d)
				}
			}
			if n.Initialized && isReady(n) { // other nodes are in Consuming already
				goes[n.Pool]++
			}
			if out := a.Consuming(cmd.Reason) + goes[n.Pool]; !must(cmd.Reason) && out > a.Allowed[cmd.Reason] {
				return breach("budget", "%d nodes of pool %s are out with %s, %d may be\n%s", out, n.Pool, n.Name, a.Allowed[cmd.Reason], x.d)
			}
		}
	}
	return nil
}

func isReady(n *model.Node) bool {
	return slices.ContainsFunc(n.Object.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// firstCall checks the turns of the methods: if the method whose turn it is has a node that stays only because of the
// budget, no other method has used the budget of that pool. It does not check turns of consolidation, because it does not
// know which nodes consolidation would disrupt.
func firstCall(x shift) *random.Breach {
	takes := map[string]map[apiv1.DisruptionReason]bool{}
	for _, cmd := range x.d.Commands {
		for _, n := range cmd.Nodes {
			if takes[n.Pool] == nil {
				takes[n.Pool] = map[apiv1.DisruptionReason]bool{}
			}
			takes[n.Pool][cmd.Reason] = true
		}
	}
	for _, n := range waiting(x.d) {
		drifted := condition.IsTrue(n.Claim, apiv1.ConditionTypeDrifted)
		due := x.first == apiv1.DisruptionReasonDrifted && drifted ||
			x.first == apiv1.DisruptionReasonEmpty && len(n.Reschedulable()) == 0 && !drifted
		if !due || takes[n.Pool][x.first] {
			continue
		}
		for _, other := range budget.Reasons {
			if other != status.ReasonUnhealthy && takes[n.Pool][other] { // repair always comes first
				return breach("turn", "it is the turn of %s, and %s waits for %s\n%s", x.first, n.Name, other, x.d)
			}
		}
	}
	return nil
}

// restIsHeld checks the last decision, which has no commands: no node stays because of a budget that allows another node.
func restIsHeld(x shift) *random.Breach {
	if len(x.d.Commands) > 0 {
		return nil
	}
	before := budget.Of(x.s, false)
	for _, n := range waiting(x.d) {
		if before.Of(n.Pool).Left(apiv1.DisruptionReasonDrifted) > 0 {
			return breach("waits", "node %s waits for a budget that is open\n%s", n.Name, x.d)
		}
	}
	return nil
}
