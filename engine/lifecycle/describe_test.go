package lifecycle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// String prints one line per item.
func (j Judgement) String() string {
	var b strings.Builder
	for _, a := range j.Actions {
		fmt.Fprintln(&b, a)
	}
	for _, c := range j.Conditions {
		fmt.Fprintf(&b, "condition %s=%s %s", c.Type, c.Status, c.Reason)
		if c.Message != "" {
			fmt.Fprintf(&b, ": %s", c.Message)
		}
		b.WriteByte('\n')
	}
	if j.NodeName != "" {
		fmt.Fprintf(&b, "node name %s\n", j.NodeName)
	}
	if j.Requeue > 0 {
		fmt.Fprintf(&b, "requeue after %s\n", j.Requeue)
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}

func (a Launch) String() string {
	return "launch by " + a.Deadline.UTC().Format(time.RFC3339)
}

func (a Register) String() string {
	var b strings.Builder
	if a.Complete {
		fmt.Fprintf(&b, "register node %s", a.Node)
	} else {
		fmt.Fprintf(&b, "prepare node %s", a.Node)
	}
	fmt.Fprintf(&b, "\n  owner %s %s\n  finalizer %s", a.Owner.Kind, a.Owner.Name, a.Finalizer)
	writePairs(&b, "label", a.Labels)
	writePairs(&b, "claim label", a.ClaimLabels)
	writePairs(&b, "annotation", a.Annotations)
	for _, t := range a.AddTaints {
		fmt.Fprintf(&b, "\n  taint %s", t.ToString())
	}
	if a.Soften {
		fmt.Fprintf(&b, "\n  soften taint %s", apiv1.UnregisteredTaintKey)
	}
	for _, t := range a.RemoveTaints {
		fmt.Fprintf(&b, "\n  untaint %s", t.ToString())
	}
	return b.String()
}

func (a Initialize) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "initialize node %s", a.Node)
	writePairs(&b, "label", a.Labels)
	for _, t := range a.AddTaints {
		fmt.Fprintf(&b, "\n  taint %s", t.ToString())
	}
	return b.String()
}

func (a Delete) String() string { return "delete claim: " + string(a.Reason) }

func (a SetDeadline) String() string { return "set deadline " + a.At.UTC().Format(time.RFC3339) }

func (a DeleteNodes) String() string { return "delete nodes " + strings.Join(a.Names, " ") }

func (a EndInstance) String() string { return "end instance" }

func (a Release) String() string { return "release claim" }

func (a Warn) String() string { return "warn " + a.Reason + ": " + a.Message }

// writePairs prints one line per entry of m, in key order.
func writePairs(b *strings.Builder, what string, m map[string]string) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(b, "\n  %s %s=%s", what, k, m[k])
	}
}
