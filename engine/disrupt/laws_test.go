package disrupt_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/disrupt/budget"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/engine/scenario/random"
	"github.com/karpenter-go/karpenter/engine/verify"
)

// clusters is the number of random clusters for each test. The flag -seeds requests more.
const clusters = 250

func options() disrupt.Options {
	return disrupt.Options{Pack: pack.Options{Labels: apiv1.CoreLabels()}, SpotToSpot: true}
}

// crowd adds two copies of each node with its pods, so that consolidation can remove nodes. If the number of nodes is even,
// it also removes the pending pods and the NodeClaims without a node.
func crowd(c *scenario.Cluster) {
	if len(c.Nodes)%2 == 0 {
		c.Pods, c.Claims = nil, nil
	}
	for _, suffix := range []string{"-b", "-c"} {
		for _, n := range slices.Clone(c.Nodes) {
			if strings.Contains(n.Name, "-") || n.Deleting {
				continue
			}
			n.Name += suffix
			n.Pods = slices.Clone(n.Pods)
			for i := range n.Pods {
				n.Pods[i].Name += suffix
			}
			c.Nodes = append(c.Nodes, n)
		}
	}
}

// restless calls crowd and makes the cluster subject to disruption. Every node is consolidatable, every third one has
// drifted. At most two groups of pods with an equal label get a PodDisruptionBudget, and each pool gets a disruption
// budget.
func restless(c *scenario.Cluster) {
	crowd(c)
	budgets := map[string]bool{}
	for i := range c.Nodes {
		n := &c.Nodes[i]
		n.Conditions = append(n.Conditions, apiv1.ConditionTypeConsolidatable)
		if i%3 == 2 {
			n.Conditions = append(n.Conditions, apiv1.ConditionTypeDrifted)
		}
		for _, p := range n.Pods {
			for key, v := range p.Labels {
				if name := strings.ToLower(key + "-" + v); !budgets[name] && len(budgets) < 2 {
					budgets[name] = true
					c.Budgets = append(c.Budgets, scenario.Budget{
						Name: name, Space: p.Space, Labels: map[string]string{key: v}, Allowed: int32(len(budgets)),
					})
				}
			}
		}
	}
	for i := range c.Pools {
		c.Pools[i].Disruption = apiv1.Disruption{
			ConsolidateAfter: apiv1.MustParseNillableDuration("0s"),
			Budgets:          []apiv1.Budget{{Nodes: []string{"100%", "1", "50%"}[i%3]}},
		}
	}
}

func breach(rule, format string, args ...any) *random.Breach {
	return &random.Breach{Rule: rule, Detail: fmt.Sprintf(format, args...)}
}

// verify, which shares no code with Decide, accepts all commands. The commands exceed no budget of a NodePool and no
// PodDisruptionBudget.
func TestCommandsHold(t *testing.T) {
	random.Check(t, clusters, func(c *scenario.Cluster) *random.Breach {
		restless(c)
		s, err := c.Snapshot()
		if err != nil {
			return breach("snapshot", "%v", err)
		}
		d := disrupt.Decide(s, options(), disrupt.Cursor{})
		for _, v := range verify.Commands(s, d.Expected, d.Commands, apiv1.CoreLabels()) {
			switch v.Rule {
			case verify.RuleSpread, verify.RuleAffinity, verify.RuleAntiAffinity:
				continue // rules between pods are the packer's task, and its own tests check them
			}
			return breach(string(v.Rule), "%s\n%s", v, d)
		}
		if b := keepsBudgets(s, d); b != nil {
			return b
		}
		if b := keepsPDBs(c, d); b != nil {
			return b
		}
		if b := changesSomething(d); b != nil {
			return b
		}
		return accounts(s, d)
	})
}

// keepsBudgets checks that the commands remove no more nodes of a pool than its budgets allow. It counts them by itself.
func keepsBudgets(s *model.Snapshot, d disrupt.Decision) *random.Breach {
	before, goes := budget.Of(s, false), map[string]int{}
	for _, c := range d.Commands {
		for _, n := range c.Nodes {
			goes[n.Pool]++
			if left := before.Of(n.Pool).Left(c.Reason); goes[n.Pool] > left {
				return breach("budget", "%d nodes of pool %s go, %d may\n%s", goes[n.Pool], n.Pool, left, d)
			}
		}
	}
	return nil
}

// changesSomething checks that consolidation replaces no single node by one of the same instance type and capacity type.
func changesSomething(d disrupt.Decision) *random.Breach {
	for _, cmd := range d.Commands {
		if cmd.Reason != apiv1.DisruptionReasonUnderutilized || len(cmd.Nodes) != 1 {
			continue
		}
		old := cmd.Nodes[0].Labels
		for _, r := range cmd.Replacements {
			same := r.Offering.CapacityType == old[apiv1.CapacityTypeLabelKey]
			for _, o := range r.Options {
				if same && o.Name == old[corev1.LabelInstanceTypeStable] {
					return breach("equal", "%s may be replaced by its equal\n%s", cmd.Nodes[0].Name, d)
				}
			}
		}
	}
	return nil
}

// keepsPDBs checks, for each PodDisruptionBudget, the number of its pods on removed nodes. It may exceed the allowed number
// only if all of these pods are on one node, and if that number is not 0.
func keepsPDBs(c *scenario.Cluster, d disrupt.Decision) *random.Breach {
	for _, b := range c.Budgets {
		pods, nodes := 0, 0
		for _, cmd := range d.Commands {
			for _, n := range cmd.Nodes {
				here := 0
				for _, p := range n.Pods {
					if p.Object.Namespace == spaceOf(b) && matches(b.Labels, p.Object.Labels) && p.Reschedulable() {
						here++
					}
				}
				if pods += here; here > 0 {
					nodes++
				}
			}
		}
		if nodes > 1 && pods > int(b.Allowed) || pods > 0 && b.Allowed == 0 {
			return breach("pdb", "%d pods of budget %s go from %d nodes, %d may\n%s", pods, b.Name, nodes, b.Allowed, d)
		}
	}
	return nil
}

func spaceOf(b scenario.Budget) string {
	if b.Space == "" {
		return "default"
	}
	return b.Space
}

func matches(want, have map[string]string) bool {
	for key, v := range want {
		if have[key] != v {
			return false
		}
	}
	return true
}

// accounts checks that every managed node is either in one command or blocked, and only once.
func accounts(s *model.Snapshot, d disrupt.Decision) *random.Breach {
	times := map[string]int{}
	for _, c := range d.Commands {
		for _, n := range c.Nodes {
			times[n.Name]++
		}
	}
	for _, b := range d.Blocked {
		times[b.Node.Name]++
		if b.Verdict.OK() || b.Waste < 0 {
			return breach("verdict", "node %s is blocked by %q, worth %v", b.Node.Name, b.Verdict, b.Waste)
		}
	}
	for _, n := range s.Nodes() {
		if want := 0; n.Managed() && n.Pool != "" {
			want = 1
			if times[n.Name] != want {
				return breach("account", "node %s has %d verdicts\n%s", n.Name, times[n.Name], d)
			}
		}
	}
	return nil
}

// Two decisions on the same snapshot are equal, so a decision does not depend on the random order of Go maps.
func TestDecideIsDeterministic(t *testing.T) {
	random.Check(t, clusters/4, func(c *scenario.Cluster) *random.Breach {
		restless(c)
		s, err := c.Snapshot()
		if err != nil {
			return breach("snapshot", "%v", err)
		}
		first := disrupt.Decide(s, options(), disrupt.Cursor{}).String()
		if again := disrupt.Decide(s, options(), disrupt.Cursor{}).String(); again != first {
			return breach("determinism", "%s\nthen\n%s", first, again)
		}
		return nil
	})
}

// The random clusters exercise what the tests check: every method and every kind of verdict occurs in some cluster. Some are
// rare, so the test draws clusters until all have occurred.
func TestLawsSeeEverything(t *testing.T) {
	const most = 10 * clusters
	missing := map[string]bool{}
	for _, what := range []string{
		"empty delete", "drift delete", "drift replace", "single delete", "single replace", "multi replace",
		"budget", "pdb", "no_capacity", "price", "nominated",
	} {
		missing[what] = true
	}
	for seed := uint64(0); seed < most && len(missing) > 0; seed++ {
		c := random.Cluster(seed)
		restless(c)
		s, err := c.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		d := disrupt.Decide(s, options(), disrupt.Cursor{})
		for i := range d.Commands {
			delete(missing, d.Commands[i].Method+" "+d.Commands[i].Decision())
		}
		for _, b := range d.Blocked {
			delete(missing, b.Verdict.Rule.Word())
		}
	}
	for _, what := range slices.Sorted(maps.Keys(missing)) {
		t.Errorf("no %s in %d clusters", what, most)
	}
}

// If each decision is carried out and another one is made, then after at most twelve rounds a decision has no commands.
func TestClustersSettle(t *testing.T) {
	const rounds = 12
	random.Check(t, clusters/2, func(c *scenario.Cluster) *random.Breach {
		restless(c)
		s, err := c.Snapshot()
		if err != nil {
			return breach("snapshot", "%v", err)
		}
		s = s.WithoutPending()
		told := ""
		for range rounds {
			d := disrupt.Decide(s, options(), disrupt.Cursor{})
			if len(d.Commands) == 0 {
				return nil
			}
			told += d.String() + "--\n"
			s = carriedOut(s, d)
		}
		return breach("unrest", "still moving after %d rounds\n%s", rounds, told)
	})
}

// carriedOut returns the snapshot after all commands: nodes are gone, replacements are initialized, pods are bound, and
// consolidateAfter of every node has passed.
func carriedOut(s *model.Snapshot, d disrupt.Decision) *model.Snapshot {
	for i := range d.Commands {
		c := &d.Commands[i]
		var nodes []*model.Node
		for _, n := range c.Nodes {
			o, _ := s.NodeByName(n.Name)
			nodes = append(nodes, o)
		}
		s = s.Without(nodes...)
		placements := slices.Clone(c.Placements)
		var change model.Delta
		for k := range c.Replacements {
			r := &c.Replacements[k]
			node, claim := launched(r, fmt.Sprintf("%s-x%d", c.Nodes[0].Name, k))
			change.Nodes, change.Claims = append(change.Nodes, node), append(change.Claims, claim)
		}
		s = s.Apply(change)
		for k, node := range change.Nodes {
			n, _ := s.NodeByName(node.Name)
			placements = append(placements, model.Placement{Node: n, Pods: c.Replacements[k].Pods})
		}
		s = s.Bound(placements).WithoutPending()
	}
	return s
}

// launched returns the initialized Node of a replacement, of its cheapest type, and its NodeClaim.
func launched(r *model.PlannedNode, name string) (*corev1.Node, *apiv1.NodeClaim) {
	labels := maps.Clone(r.Pool.Labels)
	t := r.Options[0]
	maps.Copy(labels, t.Requirements.Labels())
	maps.Copy(labels, r.Requirements.Labels())
	labels[corev1.LabelHostname], labels[corev1.LabelInstanceTypeStable] = name, t.Name
	labels[corev1.LabelTopologyZone], labels[apiv1.CapacityTypeLabelKey] = r.Offering.Zone, r.Offering.CapacityType
	labels[apiv1.NodeRegisteredLabelKey], labels[apiv1.NodeInitializedLabelKey] = "true", "true"
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	node.Spec.ProviderID, node.Spec.Taints = "test:///"+name, r.Pool.Taints
	node.Status.Capacity, node.Status.Allocatable = t.Capacity.List(), t.Allocatable.List()
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	claim := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: name + "-claim", Labels: labels}}
	claim.Status.ProviderID = node.Spec.ProviderID
	claim.Status.Conditions = []metav1.Condition{
		{Type: apiv1.ConditionTypeConsolidatable, Status: metav1.ConditionTrue},
	}
	return node, claim
}
