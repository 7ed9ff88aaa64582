package disruption

import (
	"slices"
	"strings"
	"testing"
	"time"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// Four pods move from two nodes to four new ones without a crash. No other nodes are launched. The new nodes are opened one after
// another, and no pod is ever pending.
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

// paces are the times until a new node is initialized: at once, or after some passes of the controller.
var paces = []time.Duration{0, 5 * poll / 2}

// The controller is killed after each write in turn. The next controller completes the command or rolls it back. No node remains
// without a claim, marked or tainted. No pod is evicted before its destination is open. The replacements of a command that was
// begun completely are used.
func TestKilledAfterEachWrite(t *testing.T) {
	for name, tt := range map[string]struct {
		colony func(testing.TB, time.Duration) *colony
		most   int // claims that may be created: those that are needed, and one that was created before the kill
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

// newRoomyColony returns a colony with a drifted node of two pods, and with another node that has room for one of them.
func newRoomyColony(t testing.TB, boots time.Duration) *colony {
	o := newEmptyColony(t, boots)
	o.drifted(0, "default")
	o.node(1, "default", machine("large", 2, 0))
	o.start()
	return o
}

// An existing destination node is closed and opened like a launched one, and it is opened first.
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

// The result is the same if several controllers are killed one after another.
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

// A new controller recomputes the destinations of the pods of marked nodes, which the previous one had in memory.
func TestRecallsPlaces(t *testing.T) {
	o := newColony(t, 5*poll/2)
	o.pass()
	o.start()
	if known := len(o.c.Cluster.Snapshot().Targets); known != 0 {
		t.Fatalf("%d promises outlived the controller", known)
	}
	o.pass()
	replacements := map[string]bool{}
	for _, c := range o.claims() {
		replacements[c.Name] = c.Annotations[apiv1.ReplacesAnnotationKey] != ""
	}
	places := map[string]int{}
	for pod, node := range o.c.Cluster.Snapshot().Targets {
		if places[node]++; !replacements[node] {
			t.Errorf("pod %s is expected on %s, which is no replacement", pod, node)
		}
	}
	if len(places) != 4 {
		t.Errorf("pods are expected on %v, want one on each of four replacements", places)
	}
}
