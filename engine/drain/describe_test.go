package drain

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// String returns one line for each pod and volume, for explanations and scenarios.
func (d Decision) String() string {
	var b strings.Builder
	for _, p := range d.Evict {
		fmt.Fprintf(&b, "evict %s (%s)\n", key(p), TierOf(p))
	}
	for _, f := range d.Delete {
		fmt.Fprintf(&b, "delete %s with %s to shut down\n", key(f.Pod), f.Grace)
	}
	for _, h := range d.Held {
		fmt.Fprintf(&b, "hold %s: %s%s\n", key(h.Pod), h.Cause, until(h.Until))
	}
	for _, p := range d.Leaving {
		fmt.Fprintf(&b, "leaving %s\n", key(p))
	}
	for _, p := range d.Later {
		if TierOf(p) == d.Tier {
			fmt.Fprintf(&b, "later %s (its new node is not open yet)\n", key(p))
			continue
		}
		fmt.Fprintf(&b, "later %s (%s, after %s)\n", key(p), TierOf(p), d.Tier)
	}
	for _, s := range d.Spared {
		fmt.Fprintf(&b, "leave %s: %s\n", key(s.Pod), s.Reason)
	}
	for _, v := range d.Detaching {
		fmt.Fprintf(&b, "wait for volume %s\n", v)
	}
	for _, v := range d.Abandoned {
		fmt.Fprintf(&b, "give up volume %s\n", v)
	}
	if d.Drained() {
		b.WriteString("drained\n")
	}
	if d.Again.IsZero() {
		b.WriteString("look again: on an event\n")
	} else {
		fmt.Fprintf(&b, "look again: at %s\n", d.Again.UTC().Format(time.RFC3339))
	}
	return b.String()
}

func until(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return " until " + t.UTC().Format(time.RFC3339)
}

// String returns the reason in words.
func (s Spare) String() string {
	switch s {
	case SpareNone:
		return "has to leave"
	case SpareTerminal:
		return "has run to its end"
	case SpareMirror:
		return "static pod"
	case SpareTolerates:
		return "tolerates the disrupted taint"
	case SpareStuck:
		return "stuck terminating"
	}
	return "unknown"
}

// String returns the cause in words.
func (c Cause) String() string {
	if c == CauseBudget {
		return "PodDisruptionBudget allows no disruption"
	}
	return "annotation " + apiv1.DoNotDisruptAnnotationKey
}

// String returns the name of the tier in explanations.
func (t Tier) String() string {
	switch t {
	case TierOrdinary:
		return "ordinary"
	case TierOrdinaryDaemon:
		return "ordinary daemon"
	case TierCritical:
		return "critical"
	case TierCriticalDaemon:
		return "critical daemon"
	}
	return "unknown"
}

func key(pod *corev1.Pod) string { return pod.Namespace + "/" + pod.Name }
