package sim

import (
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// inBubble runs f in a bubble of package synctest. After f, all goroutines of the bubble must end, except those that controller-runtime
// leaves behind, see mayRemain.
func inBubble(t *testing.T, f func()) {
	before := bubbles()
	defer func() {
		if cause := recover(); cause != nil && !onlyQueuesRemain(before) {
			panic(cause)
		}
	}()
	synctest.Test(t, func(*testing.T) { f() })
}

// mayRemain is a function of controller-runtime v0.24. If a work queue is shut down at the moment at which a key becomes ready, it waits
// forever for the worker that was to take the key. A real process ends nevertheless.
const mayRemain = ").handleReadyItems("

// onlyQueuesRemain reports whether goroutines are left in bubbles, other than those before, and all of them are in the function mayRemain.
func onlyQueuesRemain(before map[string][]string) bool {
	remain := false
	for bubble, left := range bubbles() {
		if before[bubble] != nil {
			continue
		}
		if remain = true; slices.ContainsFunc(left, func(stack string) bool { return !strings.Contains(stack, mayRemain) }) {
			return false
		}
	}
	return remain
}

// inBubbleNumber is the part of the first line of a stack that names the bubble.
var inBubbleNumber = regexp.MustCompile(`^goroutine [^\n]*synctest bubble (\d+)`)

// bubbles returns the stacks of the goroutines that are in bubbles, by bubble.
func bubbles() map[string][]string {
	all := map[string][]string{}
	for stack := range strings.SplitSeq(stacks(), "\n\n") {
		if m := inBubbleNumber.FindStringSubmatch(stack); m != nil {
			all[m[1]] = append(all[m[1]], stack)
		}
	}
	return all
}

// stacks returns the stacks of all goroutines.
func stacks() string {
	for size := 1 << 20; ; size *= 2 {
		b := make([]byte, size)
		if n := runtime.Stack(b, true); n < size {
			return string(b[:n])
		}
	}
}
