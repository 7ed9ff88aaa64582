package repair

import (
	"iter"
	"strconv"
	"strings"
	"time"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

const (
	// memory is the time for which the repairs of a claim are counted.
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
			word, stamp, _ := strings.Cut(text, "@")
			if at, err := time.Parse(time.RFC3339, stamp); err == nil && !yield(word, at) {
				return
			}
		}
	}
}

// Recorded returns the new value of RepairHistoryAnnotationKey: the repairs of the last 24 hours in the claim's History, and
// action at now.
func Recorded(claim *apiv1.NodeClaim, action Action, now time.Time) string {
	var words []string
	for _, e := range append(History(claim, now), Event{Action: action, At: now}) {
		words = append(words, string(e.Action)+"@"+e.At.UTC().Format(time.RFC3339))
	}
	return strings.Join(words, ",")
}

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

// Escalates reports whether the node is replaced although its policy requires a reboot. The last reboot has failed, or
// the node was rebooted twice in the last 24 hours.
func Escalates(claim *apiv1.NodeClaim, now time.Time) bool {
	if failed, _ := RebootFailed(claim); failed {
		return true
	}
	reboots := 0
	for _, e := range History(claim, now) {
		if e.Action == RebootNode {
			reboots++
		}
	}
	return reboots >= maxReboots
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
	pause := minPause
	for range failures - 1 {
		pause = min(2*pause, maxPause)
	}
	return pause
}
