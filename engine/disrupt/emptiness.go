package disrupt

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/drain"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A Decision is what disruption would do now, and a verdict for every node of ours that it leaves alone.
type Decision struct {
	Commands []model.Command
	Blocked  []model.Blocked
	// Budgets are as they stand once the commands are done.
	Budgets *Budgets
}

// String renders the decision for tests.
func (d Decision) String() string {
	var b strings.Builder
	for _, c := range d.Commands {
		b.WriteString(c.String() + "\n")
	}
	for _, x := range d.Blocked {
		b.WriteString("blocked " + x.Node.Name + ": " + x.Verdict.String() + "\n")
	}
	return b.String()
}

// Decide looks at every node of ours: empty ones go, dearest first, as far as budgets allow.
func Decide(s *model.Snapshot) Decision {
	d := Decision{Budgets: BudgetsOf(s)}
	promised := promisedNodes(s)
	var empty []candidate
	for _, n := range s.Nodes() {
		if !n.Managed() || n.Pool == "" {
			continue
		}
		if v := Empty(s, n, promised); !v.OK() {
			d.Blocked = append(d.Blocked, model.Blocked{Node: n, Verdict: v})
			continue
		}
		empty = append(empty, candidate{node: n, price: Price(s, n)})
	}
	slices.SortFunc(empty, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(b.price, a.price), strings.Compare(a.node.Name, b.node.Name))
	})
	for _, c := range empty {
		if v := d.Budgets.Take(c.node.Pool, apiv1.DisruptionReasonEmpty); !v.OK() {
			d.Blocked = append(d.Blocked, model.Blocked{Node: c.node, Verdict: v})
			continue
		}
		d.Commands = append(d.Commands, model.Command{
			Reason: apiv1.DisruptionReasonEmpty, Nodes: []*model.Node{c.node}, Saves: c.price,
		})
	}
	slices.SortStableFunc(d.Blocked, func(a, b model.Blocked) int { return strings.Compare(a.Node.Name, b.Node.Name) })
	return d
}

type candidate struct {
	node  *model.Node
	price float64
}

// Empty is a yes if n may go because it is empty, budgets aside. promised holds the names of nodes and claims that pods
// are on their way to.
func Empty(s *model.Snapshot, n *model.Node, promised map[string]bool) model.Verdict {
	switch {
	case n.Deleting || n.Disrupted():
		return model.Verdict{Rule: model.RuleDisrupted}
	case !n.Initialized:
		return model.Verdict{Rule: model.RuleNotReady}
	}
	if v := allowedByPool(s, n); !v.OK() {
		return v
	}
	if !condition.IsTrue(n.Claim, apiv1.ConditionTypeConsolidatable) {
		return model.Verdict{Rule: model.RuleRecent}
	}
	return stillEmpty(s, n, promised)
}

// StillEmpty is a yes if a node that was marked to go as empty may go now that no new pods come: nothing has been put on
// it in between.
func StillEmpty(s *model.Snapshot, n *model.Node) model.Verdict {
	return stillEmpty(s, n, promisedNodes(s))
}

func stillEmpty(s *model.Snapshot, n *model.Node, promised map[string]bool) model.Verdict {
	if n.Object != nil && n.Object.Annotations[apiv1.DoNotDisruptAnnotationKey] == "true" {
		return model.Verdict{Rule: model.RuleAnnotation, Subject: "the node"}
	}
	for _, p := range n.Pods {
		if active, _, _ := drain.DoNotDisrupt(p.Object, s.Now); active && !p.Terminating() {
			return model.Verdict{Rule: model.RuleAnnotation, Subject: "pod " + p.Key}
		}
	}
	if pods := n.Reschedulable(); len(pods) > 0 {
		return model.Verdict{Rule: model.RuleInUse, Subject: "pod " + pods[0].Key}
	}
	if promised[n.Name] || (n.Claim != nil && promised[n.Claim.Name]) {
		return model.Verdict{Rule: model.RuleNominated}
	}
	return model.Verdict{}
}

// allowedByPool is a yes if the pool's own settings let an empty node go.
func allowedByPool(s *model.Snapshot, n *model.Node) model.Verdict {
	p, ok := s.Pool(n.Pool)
	switch {
	case !ok:
		return model.Verdict{Rule: model.RulePolicy, Subject: "its NodePool does not exist"}
	case p.Static():
		return model.Verdict{Rule: model.RulePolicy, Subject: "its NodePool keeps a fixed number of nodes"}
	case p.Object.Spec.Disruption.ConsolidateAfter.Duration == nil:
		return model.Verdict{Rule: model.RulePolicy, Subject: "consolidateAfter of its NodePool is Never"}
	}
	return model.Verdict{}
}

// promisedNodes returns the nodes and claims that were planned for pods that wait, or that will when their node is gone.
func promisedNodes(s *model.Snapshot) map[string]bool {
	out := map[string]bool{}
	for _, p := range append(s.Pending(), s.Displaced()...) {
		if node := s.PromiseOf(p); node != "" {
			out[node] = true
		}
	}
	return out
}

// Price returns what n costs, in dollars per hour, by the instance types of its pool; zero if they do not tell.
func Price(s *model.Snapshot, n *model.Node) float64 {
	for _, t := range s.Types(n.Pool) {
		if t.Name != n.Labels[corev1.LabelInstanceTypeStable] {
			continue
		}
		for _, o := range t.Offerings {
			if o.Zone == n.Labels[corev1.LabelTopologyZone] && o.CapacityType == n.Labels[apiv1.CapacityTypeLabelKey] {
				return o.Price
			}
		}
	}
	return 0
}
