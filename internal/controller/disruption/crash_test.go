package disruption

import (
	"slices"
	"strings"
	"testing"
	"time"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// A roll of four pods from two nodes to four, undisturbed, launches what it needs and no more. The new nodes are opened one
// after the other, and no pod ever waits.
func TestRollWithoutCrash(t *testing.T) {
	o := newColony(t, 0)
	o.settle()
	if wrong := o.wrong(); wrong != "" || o.made != 4 {
		t.Errorf("%d claims were made, want 4; %s", o.made, wrong)
	}
	want := []string{"4 closed, 0 wait", "3 closed, 0 wait", "2 closed, 0 wait", "1 closed, 0 wait", "0 closed, 0 wait"}
	if !slices.Equal(o.stages, want) {
		t.Errorf("the nodes were opened in stages %q, want %q", o.stages, want)
	}
}

// paces are how fast nodes come up: before the controller looks again, or when it has looked some more times.
var paces = []time.Duration{0, 5 * poll / 2}

// After whichever write the controller is killed, the next one finishes the command or rolls it back. No node remains
// without a claim for it, no node stays marked or tainted, and no pod is evicted before its destination is open. Replacements
// of a command that was begun in full are used.
func TestKilledAfterEachWrite(t *testing.T) {
	for name, tt := range map[string]struct {
		colony func(testing.TB, time.Duration) *colony
		most   int // claims that may be made: those that are needed, and one of two that were asked for
	}{
		"two nodes by four": {newColony, 5}, "one node by a new one and room that is there": {newRoomyColony, 2},
	} {
		t.Run(name, func(t *testing.T) {
			for _, boots := range paces {
				const many = 1000
				o := tt.colony(t, boots)
				o.left = many
				o.settle()
				for writes := range many - o.left {
					o := tt.colony(t, boots)
					o.settle(writes)
					if wrong := o.wrong(); wrong != "" {
						t.Errorf("nodes boot in %v, killed after %d writes: %s", boots, writes, wrong)
					}
					if o.made > tt.most {
						t.Errorf("nodes boot in %v, killed after %d writes: %d claims were made", boots, writes, o.made)
					}
					if slices.ContainsFunc(o.stages, func(s string) bool { return !strings.HasSuffix(s, " 0 wait") }) {
						t.Errorf("nodes boot in %v, killed after %d writes: pods lost their places: %q", boots, writes, o.stages)
					}
				}
			}
		})
	}
}

// newRoomyColony returns a colony of a drifted node with two pods and of another, which has room for one of them.
func newRoomyColony(t testing.TB, boots time.Duration) *colony {
	o := newEmptyColony(t, boots)
	o.drifted(0, "default")
	o.node(1, "default", machine("large", 2, 0))
	o.start()
	return o
}

// Room that is there is closed and opened like what is launched, and before it.
func TestRollIntoRoom(t *testing.T) {
	o := newRoomyColony(t, 0)
	o.settle()
	if wrong := o.wrong(); wrong != "" || o.made != 1 {
		t.Errorf("%d claims were made, want 1; %s", o.made, wrong)
	}
	want := []string{"1 closed, 0 wait", "2 closed, 0 wait", "1 closed, 0 wait", "0 closed, 0 wait"}
	if !slices.Equal(o.stages, want) {
		t.Errorf("the nodes were opened in stages %q, want %q", o.stages, want)
	}
}

// The same for controllers that are killed again and again.
func TestKilledAgainAndAgain(t *testing.T) {
	for first := 2; first < 14; first += 3 {
		for second := 1; second < 16; second += 4 {
			o := newColony(t, paces[1])
			o.settle(first, second, first)
			if wrong := o.wrong(); wrong != "" {
				t.Errorf("killed after %d, %d and again %d writes: %s", first, second, first, wrong)
			}
		}
	}
}

// A controller that is started again knows where the pods of marked nodes go, though the one before took that with it.
func TestRecallsPlaces(t *testing.T) {
	o := newColony(t, 5*poll/2)
	o.pass()
	o.start()
	if known := len(o.c.Cluster.Snapshot().Promises); known != 0 {
		t.Fatalf("%d promises outlived the controller", known)
	}
	o.pass()
	replacements := map[string]bool{}
	for _, c := range o.claims() {
		replacements[c.Name] = c.Annotations[apiv1.ReplacesAnnotationKey] != ""
	}
	places := map[string]int{}
	for pod, node := range o.c.Cluster.Snapshot().Promises {
		if places[node]++; !replacements[node] {
			t.Errorf("pod %s is expected on %s, which is no replacement", pod, node)
		}
	}
	if len(places) != 4 {
		t.Errorf("pods are expected on %v, want one on each of four replacements", places)
	}
}
