package report

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/explain"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// Pod says where a pod is, where it would go, or why it goes nowhere. It returns false if there is no such pod.
func (s Style) Pod(c *model.Snapshot, p *model.Plan, e *explain.Explainer, key string) (string, bool) {
	pod, ok := c.Pod(key)
	if !ok {
		return "", false
	}
	var b strings.Builder
	b.WriteString(s.bold("pod "+Class([]*model.Pod{pod})) + "\n")
	is := func(x *model.Pod) bool { return x.Key == key }
	for _, x := range p.Placements {
		if slices.ContainsFunc(x.Pods, is) {
			fmt.Fprintf(&b, "  would go to node %s, which has room\n", x.Node.Name)
			return b.String(), true
		}
	}
	for i := range p.Nodes {
		if n := &p.Nodes[i]; slices.ContainsFunc(n.Pods, is) {
			fmt.Fprintf(&b, "  would get a new node of NodePool %s, with %s\n", n.Pool.Name, Count(len(n.Pods)-1, "other pod"))
			for _, line := range e.Node(n) {
				b.WriteString("  " + line + "\n")
			}
			return b.String(), true
		}
	}
	for _, r := range p.Refusals {
		if slices.ContainsFunc(r.Pods, is) {
			b.WriteString("  " + s.red("would get no place") + "\n")
			for _, f := range e.Refusal(r) {
				s.finding(&b, f)
			}
			return b.String(), true
		}
	}
	b.WriteString("  " + standing(pod) + "\n")
	return b.String(), true
}

// standing says why no place is looked for.
func standing(p *model.Pod) string {
	switch {
	case p.Terminal():
		return "has ended"
	case p.Bound():
		return "runs on node " + p.Object.Spec.NodeName
	case p.Daemon():
		return "belongs to a DaemonSet: such pods come with a node and are no reason to have one"
	case p.Mirror():
		return "is a static pod of its node"
	case p.Terminating():
		return "is being deleted"
	}
	for _, c := range p.Object.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return fmt.Sprintf("waits, and not for a node: the scheduler says %s: %s", c.Reason, c.Message)
		}
	}
	return "the scheduler has not looked at it yet"
}

// Node says what a node is, and whether it would go or what keeps it. It returns false if there is no such node.
func (s Style) Node(c *model.Snapshot, d Disruption, name string) (string, bool) {
	n, ok := c.NodeByName(name)
	if !ok {
		return "", false
	}
	var b strings.Builder
	b.WriteString(s.bold("node "+name) + "\n")
	fmt.Fprintf(&b, "  %s in %s, %s\n", orUnknown(n.Labels[corev1.LabelInstanceTypeStable]),
		orUnknown(n.Labels[corev1.LabelTopologyZone]), orUnknown(n.Labels[apiv1.CapacityTypeLabelKey]))
	fmt.Fprintf(&b, "  %s; cpu %s, memory %s\n", Count(len(n.Pods), "pod"),
		s.bar(n.Used[corev1.ResourceCPU], n.Allocatable[corev1.ResourceCPU]),
		s.bar(n.Used[corev1.ResourceMemory], n.Allocatable[corev1.ResourceMemory]))
	switch {
	case n.Pool == "":
		b.WriteString("  belongs to no NodePool: it takes pods, and is never disrupted\n")
	case !n.Initialized:
		fmt.Fprintf(&b, "  of NodePool %s, and not up yet\n", n.Pool)
	default:
		fmt.Fprintf(&b, "  of NodePool %s\n", n.Pool)
	}
	s.fate(&b, d, n.Name)
	return b.String(), true
}

// fate says what disruption has in mind for a node.
func (s Style) fate(b *strings.Builder, d Disruption, name string) {
	for i := range d.Commands {
		c := &d.Commands[i]
		if !slices.Contains(c.Names(), name) {
			continue
		}
		with := ""
		if len(c.Nodes) > 1 {
			with = fmt.Sprintf(", with %s", Count(len(c.Nodes)-1, "other node"))
		}
		by := ""
		if len(c.Replacements) > 0 {
			by = ", by " + few((&model.Plan{Nodes: c.Replacements}).Mix())
		}
		fmt.Fprintf(b, "  would go now%s%s (%s): that saves $%.4f/h and moves %s\n", with, by, c.Reason, c.Saves, Count(c.Moves(), "pod"))
		return
	}
	for _, x := range d.Blocked {
		if x.Node.Name != name {
			continue
		}
		b.WriteString("  stays: " + x.Verdict.String())
		if x.Worth > 0.00005 {
			fmt.Fprintf(b, "; without that about $%.4f/h could be saved", x.Worth)
		}
		b.WriteString("\n")
	}
}

func orUnknown(text string) string {
	if text == "" {
		return "unknown"
	}
	return text
}

// Pool says what a pool can do, what it holds, and whom it refuses. It returns false if there is no such pool.
func (s Style) Pool(c *model.Snapshot, p *model.Plan, e *explain.Explainer, name string) (string, bool) {
	pool, ok := c.Pool(name)
	if !ok {
		return "", false
	}
	var b strings.Builder
	b.WriteString(s.bold("NodePool "+name) + "\n")
	if v := pool.Usable(); !v.OK() {
		b.WriteString("  " + s.red("launches nothing: ") + v.String() + "\n")
	}
	s.choice(&b, c, pool)
	used := c.Usage(name)
	fmt.Fprintf(&b, "  has %s\n", Count(int(used[model.Nodes]), "node"))
	for _, r := range pool.Limits.Names() {
		fmt.Fprintf(&b, "  limit of %s: %s of %s used\n", r, model.Amount(r, used[r]), model.Amount(r, pool.Limits[r]))
	}
	launched := 0
	for i := range p.Nodes {
		if p.Nodes[i].Pool.Name == name {
			launched++
		}
	}
	if launched > 0 {
		fmt.Fprintf(&b, "  would launch %s now\n", Count(launched, "node"))
	}
	for _, r := range p.Refusals[:min(len(p.Refusals), most)] {
		for _, f := range e.Refusal(r) {
			if f.Pool == name {
				b.WriteString("  refuses " + Class(r.Pods) + "\n")
				f.Pool = ""
				s.finding(&b, f)
			}
		}
	}
	return b.String(), true
}

// choice says which instance types a pool allows, and from which price.
func (s Style) choice(b *strings.Builder, c *model.Snapshot, pool *model.Pool) {
	types := c.Types(pool.Name)
	var fitting int
	cheapest, price := "", 0.0
	for _, t := range types {
		if _, ok := t.Requirements.Intersects(pool.Requirements); !ok {
			continue
		}
		o, ok := t.Cheapest(pool.Requirements)
		if !ok {
			continue
		}
		fitting++
		if cheapest == "" || o.Price < price {
			cheapest, price = t.Name, o.Price
		}
	}
	if fitting == 0 {
		b.WriteString("  " + s.red("its requirements leave no instance type: ") + firstImpossible(types, pool.Requirements) + "\n")
		return
	}
	fmt.Fprintf(b, "  allows %s of %s, from %s at $%.4f/h\n", Number(fitting), Count(len(types), "instance type"), cheapest, price)
}

// firstImpossible names the first requirement that no type meets, or all.
func firstImpossible(types []*model.InstanceType, reqs require.Set) string {
	for r := range reqs.All() {
		alone := require.NewSet(r)
		if !slices.ContainsFunc(types, func(t *model.InstanceType) bool { _, ok := t.Requirements.Intersects(alone); return ok }) {
			return "none has " + r.String()
		}
	}
	return "none has all of " + reqs.String()
}
