package report

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/internal/offline"
)

// Pod describes on which node a pod runs or would run, or why it is unschedulable, and the controller's events about it.
func (s Style) Pod(a offline.PodAnswer) string {
	var b strings.Builder
	b.WriteString(s.bold("pod "+Class([]*model.Pod{a.Of})) + "\n")
	switch a.Outcome {
	case offline.OnExisting:
		fmt.Fprintf(&b, "  fits on existing node %s\n", a.Node)
	case offline.OnNew:
		fmt.Fprintf(&b, "  fits on a new node of NodePool %s, with %s\n", a.NewNode.Pool, units.Counted(len(a.NewNode.Pods)-1, "other pod"))
	case offline.Refused:
		b.WriteString("  " + s.red("unschedulable") + "\n")
	}
	for _, line := range a.Notes {
		b.WriteString("  " + line + "\n")
	}
	for _, f := range a.Reasons {
		s.finding(&b, f)
	}
	for _, e := range a.Told[max(0, len(a.Told)-most):] {
		times := ""
		if e.Count > 1 {
			times = fmt.Sprintf(", %d times", e.Count)
		}
		fmt.Fprintf(&b, "  event at %s (%s%s): %s\n", e.Last.UTC().Format(time.RFC3339), e.Reason, times, e.Message)
	}
	return b.String()
}

// Node describes a node, and whether it would be disrupted or what prevents that.
func (s Style) Node(a offline.NodeAnswer) string {
	var b strings.Builder
	n := a.Of
	b.WriteString(s.bold("node "+a.Node) + "\n")
	fmt.Fprintf(&b, "  %s in %s, %s\n", orUnknown(a.InstanceType), orUnknown(a.Zone), orUnknown(a.CapacityType))
	fmt.Fprintf(&b, "  %s; cpu %s, memory %s\n", units.Counted(a.Pods, "pod"),
		s.bar(n.Used[corev1.ResourceCPU], n.Allocatable[corev1.ResourceCPU]),
		s.bar(n.Used[corev1.ResourceMemory], n.Allocatable[corev1.ResourceMemory]))
	switch {
	case a.Pool == "":
		b.WriteString("  not managed by a NodePool: never disrupted\n")
	case !a.Initialized:
		fmt.Fprintf(&b, "  NodePool %s, not initialized\n", a.Pool)
	default:
		fmt.Fprintf(&b, "  NodePool %s\n", a.Pool)
	}
	s.fate(&b, a)
	return b.String()
}

// fate writes what disruption would do with a node, or why the node is kept.
func (s Style) fate(b *strings.Builder, a offline.NodeAnswer) {
	if c := a.Doing; c != nil {
		what := "deleted"
		if len(c.Replacements) > 0 {
			what = "replaced by " + few((&model.Plan{Nodes: c.Replacements}).Mix())
		}
		if len(c.Nodes) > 1 {
			what += fmt.Sprintf(", with %s", units.Counted(len(c.Nodes)-1, "other node"))
		}
		fmt.Fprintf(b, "  would be %s (%s, saves $%.4f/h, moves %s)", what, c.Reason, c.Saves, units.Counted(c.Moves(), "pod"))
		if a.Withheld != "" {
			fmt.Fprintf(b, "; NodePool %s is in enforcement mode %s", a.Pool, a.Withheld)
		}
		b.WriteString("\n")
		return
	}
	if a.Reason == "" {
		return
	}
	b.WriteString("  not disrupted: " + a.Reason)
	if a.LostPerHour > 0.00005 {
		fmt.Fprintf(b, "; the node costs up to $%.4f/h more than its pods need", a.LostPerHour)
	}
	b.WriteString("\n")
	if a.Fix != "" {
		s.advice(b, "    ", "fix", a.Fix)
	}
}

func orUnknown(text string) string {
	if text == "" {
		return "unknown"
	}
	return text
}

// Pool describes what a pool allows and has, and the pods for which it launches no node.
func (s Style) Pool(a offline.PoolAnswer) string {
	var b strings.Builder
	b.WriteString(s.bold("NodePool "+a.Pool) + "\n")
	if a.Problem != "" {
		b.WriteString("  " + s.red(a.Problem) + "\n")
		s.advice(&b, "    ", "fix", a.Fix)
	}
	if a.Allowed == 0 {
		b.WriteString("  " + s.red("no instance type matches spec.template.spec.requirements: ") + a.Impossible + "\n")
	} else {
		fmt.Fprintf(&b, "  allows %s of %s, from %s at $%.4f/h\n", units.Grouped(a.Allowed), units.Counted(a.Offered, "instance type"), a.Cheapest, a.CheapestPerHour)
	}
	fmt.Fprintf(&b, "  has %s\n", units.Counted(a.Nodes, "node"))
	for _, l := range a.Limits {
		fmt.Fprintf(&b, "  spec.limits.%s: %s of %s used\n", l.Resource,
			units.Amount(corev1.ResourceName(l.Resource), l.UsedAmount, units.Nearest),
			units.Amount(corev1.ResourceName(l.Resource), l.LimitAmount, units.Nearest))
	}
	if a.Launches > 0 {
		fmt.Fprintf(&b, "  would launch %s now\n", units.Counted(a.Launches, "node"))
	}
	for _, r := range a.Refuses[:min(len(a.Refuses), most)] {
		b.WriteString("  cannot launch a node for " + Class(r.Of) + "\n")
		s.finding(&b, r.Finding)
	}
	return b.String()
}
