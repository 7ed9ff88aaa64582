package repair

import (
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

const (
	// memory is the time for which the repairs of a claim are counted, and for which a failed reboot is remembered.
	memory = 24 * time.Hour
	// maxReboots is how many reboots of a node are tried within memory. Then it is replaced.
	maxReboots = 2
)

// An Event is a repair that was begun for a claim.
type Event struct {
	Action Action
	At     time.Time
}

// History returns the repairs of the last 24 hours that the annotation of the claim lists. Entries that cannot be
// parsed are omitted.
func History(claim *apiv1.NodeClaim, now time.Time) []Event {
	var events []Event
	for word, at := range stamped(claim, apiv1.RepairHistoryAnnotationKey) {
		if now.Sub(at) < memory {
			events = append(events, Event{Action: Action(word), At: at})
		}
	}
	return events
}

// stamped ranges over the entries "word@time" of an annotation of the claim, which may be nil. Entries that cannot be
// parsed are omitted.
func stamped(claim *apiv1.NodeClaim, annotation string) iter.Seq2[string, time.Time] {
	return func(yield func(string, time.Time) bool) {
		if claim == nil {
			return
		}
		for text := range strings.SplitSeq(claim.Annotations[annotation], ",") {
			word, text3339, _ := strings.Cut(text, "@")
			if at, err := time.Parse(time.RFC3339, text3339); err == nil && !yield(word, at) {
				return
			}
		}
	}
}

// sameRequest is the age below which an entry is that of the same repair: its request was written in part, failed, and is repeated. A
// repair that took place is not followed by another one as soon.
const sameRequest = time.Minute

// Recorded returns the new value of RepairHistoryAnnotationKey: the repairs of the last 24 hours in the claim's History, and
// action at now. An entry of the action that is younger than a minute is replaced.
func Recorded(claim *apiv1.NodeClaim, action Action, now time.Time) string {
	past := slices.DeleteFunc(History(claim, now), func(e Event) bool { return e.Action == action && now.Sub(e.At) < sameRequest })
	var entries []string
	for _, e := range append(past, Event{Action: action, At: now}) {
		entries = append(entries, stamp(string(e.Action), e.At))
	}
	return strings.Join(entries, ",")
}

// stamp returns an entry that stamped reads.
func stamp(word string, at time.Time) string { return word + "@" + at.UTC().Format(time.RFC3339) }

// Attempt returns how many times in a row repair has replaced a node, up to the launch of this claim. It is 0 if repair
// did not launch the claim, or more than 24 hours ago.
func Attempt(claim *apiv1.NodeClaim, now time.Time) int {
	if claim == nil || now.Sub(claim.CreationTimestamp.Time) >= memory {
		return 0
	}
	n, err := strconv.Atoi(claim.Annotations[apiv1.RepairAttemptAnnotationKey])
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// Escalates reports whether the node is replaced although its policy requires a reboot, because it was rebooted twice in the
// last 24 hours. Decide escalates after a failed reboot.
func Escalates(claim *apiv1.NodeClaim, now time.Time) bool {
	reboots := slices.DeleteFunc(History(claim, now), func(e Event) bool { return e.Action != RebootNode })
	return len(reboots) >= maxReboots
}

// The pause after the first failure of repair in a NodePool, and the longest one.
const (
	minPause = 10 * time.Minute
	maxPause = 8 * time.Hour
)

// Pause returns how long repair of a NodePool pauses after the given number of failures: 10 minutes, doubled with each
// further failure, at most 8 hours.
func Pause(failures int) time.Duration {
	if failures < 1 {
		return 0
	}
	return min(minPause<<min(failures-1, 10), maxPause) // the tenth doubling already exceeds maxPause
}

// recovery is how long a condition must be healthy until its earlier failure no longer counts.
const recovery = 5 * time.Minute

// UnhealthySince returns since when the condition fails, if the claim's annotation has an earlier time than the last
// transition. It has one if the condition was healthy for a short time in between. Otherwise ok is false.
func UnhealthySince(claim *apiv1.NodeClaim, c corev1.NodeCondition) (at time.Time, ok bool) {
	for what, at := range stamped(claim, apiv1.UnhealthySinceAnnotationKey) {
		if what == stateOf(c) && at.Before(c.LastTransitionTime.Time) {
			return at, true
		}
	}
	return time.Time{}, false
}

// stateOf returns the condition as it is written in the annotation: type=status.
func stateOf(c corev1.NodeCondition) string { return string(c.Type) + "=" + string(c.Status) }

// Observe returns the new value of the claim's annotation UnhealthySinceAnnotationKey. It lists each condition that
// matches a policy, and each entry of the annotation whose condition has another status since less than recovery.
func (p *Policies) Observe(node *corev1.Node, claim *apiv1.NodeClaim, now time.Time) string {
	var entries []string
	for _, c := range node.Status.Conditions {
		since, fails := c.LastTransitionTime.Time, p != nil && len(p.of(node, c)) > 0
		for what, at := range stamped(claim, apiv1.UnhealthySinceAnnotationKey) {
			kind, _, _ := strings.Cut(what, "=")
			switch {
			case kind != string(c.Type):
			case what != stateOf(c):
				if now.Sub(c.LastTransitionTime.Time) < recovery {
					entries = append(entries, stamp(what, at))
				}
			case fails && at.Before(since):
				since = at
			}
		}
		if fails {
			entries = append(entries, stamp(stateOf(c), since))
		}
	}
	slices.Sort(entries)
	return strings.Join(entries, ",")
}
