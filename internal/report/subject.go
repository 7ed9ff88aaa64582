package report

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/offline"
)

// Pod writes where a pod is, where it would go or why it is refused, and the controller's events about it.
func (s Style) Pod(a offline.PodAnswer) string {
	var b strings.Builder
	b.WriteString(s.bold("pod "+Class([]*model.Pod{a.Of})) + "\n")
	switch a.Outcome {
	case offline.OnExisting:
		fmt.Fprintf(&b, "  would go to node %s, which has room\n", a.Node)
	case offline.OnNew:
		fmt.Fprintf(&b, "  would get a new node of NodePool %s, with %s\n", a.NewNode.Pool, Count(len(a.NewNode.Pods)-1, "other pod"))
	case offline.Refused:
		b.WriteString("  " + s.red("would get no place") + "\n")
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
		fmt.Fprintf(&b, "  the controller told at %s (%s%s): %s\n", e.Last.Format(time.RFC3339), e.Reason, times, e.Message)
	}
	return b.String()
}

// Node says what a node is, and whether it would go or what keeps it.
func (s Style) Node(a offline.NodeAnswer) string {
	var b strings.Builder
	n := a.Of
	b.WriteString(s.bold("node "+a.Node) + "\n")
	fmt.Fprintf(&b, "  %s in %s, %s\n", orUnknown(a.InstanceType), orUnknown(a.Zone), orUnknown(a.CapacityType))
	fmt.Fprintf(&b, "  %s; cpu %s, memory %s\n", Count(a.Pods, "pod"),
		s.bar(n.Used[corev1.ResourceCPU], n.Allocatable[corev1.ResourceCPU]),
		s.bar(n.Used[corev1.ResourceMemory], n.Allocatable[corev1.ResourceMemory]))
	switch {
	case a.Pool == "":
		b.WriteString("  belongs to no NodePool: it takes pods, and is never disrupted\n")
	case !a.Initialized:
		fmt.Fprintf(&b, "  of NodePool %s, and not up yet\n", a.Pool)
	default:
		fmt.Fprintf(&b, "  of NodePool %s\n", a.Pool)
	}
	s.fate(&b, a)
	return b.String()
}

// fate writes what disruption would do with a node.
func (s Style) fate(b *strings.Builder, a offline.NodeAnswer) {
	if c := a.Doing; c != nil {
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
	if a.Reason == "" {
		return
	}
	b.WriteString("  stays: " + a.Reason)
	if a.LostPerHour > 0.00005 {
		fmt.Fprintf(b, "; without that about $%.4f/h could be saved", a.LostPerHour)
	}
	b.WriteString("\n")
}

func orUnknown(text string) string {
	if text == "" {
		return "unknown"
	}
	return text
}

// Pool says what a pool can do, what it holds, and whom it refuses.
func (s Style) Pool(a offline.PoolAnswer) string {
	var b strings.Builder
	b.WriteString(s.bold("NodePool "+a.Pool) + "\n")
	if a.Problem != "" {
		b.WriteString("  " + s.red("launches nothing: ") + a.Problem + "\n")
	}
	if a.Allowed == 0 {
		b.WriteString("  " + s.red("its requirements leave no instance type: ") + a.Impossible + "\n")
	} else {
		fmt.Fprintf(&b, "  allows %s of %s, from %s at $%.4f/h\n", Number(a.Allowed), Count(a.Offered, "instance type"), a.Cheapest, a.CheapestPerHour)
	}
	fmt.Fprintf(&b, "  has %s\n", Count(a.Nodes, "node"))
	for _, l := range a.Limits {
		fmt.Fprintf(&b, "  limit of %s: %s of %s used\n", l.Resource, l.Used, l.Limit)
	}
	if a.Launches > 0 {
		fmt.Fprintf(&b, "  would launch %s now\n", Count(a.Launches, "node"))
	}
	for _, r := range a.Refuses[:min(len(a.Refuses), most)] {
		b.WriteString("  refuses " + Class(r.Of) + "\n")
		s.finding(&b, r.Finding)
	}
	return b.String()
}
