package repair

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

const (
	// memory is the time for which the repairs of a claim are counted, and for which a failed reboot counts.
	memory = 24 * time.Hour
	// maxReboots is how many reboots of a node are tried within memory. Then it is replaced.
	maxReboots = 2
)

// An Event is a repair that was begun for a claim.
type Event struct {
	Action Action
	At     time.Time
}

// History returns the repairs of the last 24 hours that the annotation of the claim, which may be nil, lists. Entries that
// cannot be parsed are omitted.
func History(claim *apiv1.NodeClaim, now time.Time) []Event {
	if claim == nil {
		return nil
	}
	var events []Event
	for text := range strings.SplitSeq(claim.Annotations[apiv1.RepairHistoryAnnotationKey], ",") {
		action, at, _ := strings.Cut(text, "@")
		if at, err := time.Parse(time.RFC3339, at); err == nil && now.Sub(at) < memory {
			events = append(events, Event{Action: Action(action), At: at})
		}
	}
	return events
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

// stamp returns an entry of an annotation: word@time.
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

// A failure is an entry of UnhealthySinceAnnotationKey.
type failure struct {
	// state is the type and the status of the condition, see stateOf.
	state string
	// since is when the failure began. seen is the last transition of the condition that Observe has read: to this status, or to
	// another one.
	since, seen time.Time
}

// failures returns the entries of the claim's annotation. Entries that cannot be parsed are omitted.
func failures(claim *apiv1.NodeClaim) []failure {
	if claim == nil {
		return nil
	}
	var list []failure
	for text := range strings.SplitSeq(claim.Annotations[apiv1.UnhealthySinceAnnotationKey], ",") {
		state, times, _ := strings.Cut(text, "@")
		first, last, _ := strings.Cut(times, "/")
		since, err := time.Parse(time.RFC3339, first)
		seen, err2 := time.Parse(time.RFC3339, cmp.Or(last, first))
		if err == nil && err2 == nil {
			list = append(list, failure{state, since, seen})
		}
	}
	return list
}

// String returns the entry as failures reads it: type=status@since/seen, without seen if it is equal to since.
func (f failure) String() string {
	entry := stamp(f.state, f.since)
	if seen := f.seen.UTC().Format(time.RFC3339); !strings.HasSuffix(entry, seen) {
		entry += "/" + seen
	}
	return entry
}

// continues reports whether the condition was certainly healthy for less than recovery until its last transition.
// seen is the time up to which its failure is recorded.
func continues(c corev1.NodeCondition, seen time.Time) bool {
	return c.LastTransitionTime.Sub(seen) < recovery
}

// stateOf returns the condition as it is written in the annotation: type=status.
func stateOf(c corev1.NodeCondition) string { return string(c.Type) + "=" + string(c.Status) }

// UnhealthySince returns since when the condition fails, if the claim's annotation has an earlier time than the last
// transition. It has one if the condition was healthy for a short time in between. Otherwise ok is false.
func UnhealthySince(claim *apiv1.NodeClaim, c corev1.NodeCondition) (at time.Time, ok bool) {
	for _, f := range failures(claim) {
		if f.state == stateOf(c) && continues(c, f.seen) && f.since.Before(c.LastTransitionTime.Time) {
			return f.since, true
		}
	}
	return time.Time{}, false
}

// Observe returns the new value of the claim's annotation UnhealthySinceAnnotationKey. It lists each condition that
// matches a policy, and each entry of the annotation whose condition has another status since less than recovery.
//
// An entry is omitted if its condition may have been healthy for longer between two calls of Observe. last is when the former
// call was, zero if this is the first one.
func (p *Policies) Observe(node *corev1.Node, claim *apiv1.NodeClaim, last, now time.Time) string {
	var entries []string
	for _, c := range node.Status.Conditions {
		at, fails := c.LastTransitionTime.Time, p != nil && len(p.of(node, c)) > 0
		current := failure{state: stateOf(c), since: at, seen: at}
		for _, f := range failures(claim) {
			kind, _, _ := strings.Cut(f.state, "=")
			switch {
			case kind != string(c.Type) || !continues(c, model.Later(f.seen, last)):
			case f.state != current.state:
				if now.Sub(at) < recovery {
					entries = append(entries, failure{f.state, f.since, at}.String())
				}
			case f.since.Before(at):
				current.since = f.since
			}
		}
		if fails {
			entries = append(entries, current.String())
		}
	}
	slices.Sort(entries)
	return strings.Join(entries, ",")
}
