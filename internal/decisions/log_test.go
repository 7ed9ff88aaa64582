package decisions

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

var noon = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// replacement is an episode in which claim old of node n1 is replaced by claim new.
func replacement() Episode {
	return Episode{
		Kind: KindDisruption, Reason: "Underutilized", Action: "replace", Cause: "the pods of 1 node cost less elsewhere",
		Decision: "replace n1 by small a spot", Pools: []string{"default"}, EvictionsPlanned: 2, DollarsBefore: 0.4, DollarsAfter: 0.1,
		Launches: []Launch{{Claim: "new", Pool: "default", InstanceType: "small", DollarsPerHour: 0.1, Pods: 2}},
		Removals: []Removal{{Node: "n1", Claim: "old", Pool: "default", InstanceType: "large", DollarsPerHour: 0.4, Pods: 2}},
	}
}

// states returns the state of each episode, with the numbers of its effects.
func states(l *Log) string {
	var lines []string
	for _, e := range l.Snapshot() {
		lines = append(lines, fmt.Sprintf("%s %d effects, %d evictions, %v", e.State, e.EffectsTotal, e.Evictions, e.Progress))
	}
	return strings.Join(lines, "\n")
}

func want(t *testing.T, got, want string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// An episode is open until its last effect. Each step of a NodeClaim is recorded once, even if it is observed several times.
func TestEffects(t *testing.T) {
	for _, tt := range []struct {
		name    string
		happens func(l *Log)
		want    string
	}{
		{"nothing yet", func(*Log) {}, "open 0 effects, 0 evictions, map[]"},
		{"repeated steps", func(l *Log) {
			for range 3 {
				l.Note("new", EffectLaunched, ClaimObject("new"), "")
				l.Note("new", EffectRegistered, ClaimObject("new"), "")
				l.Note("old", EffectTerminating, ClaimObject("old"), "")
			}
			l.Note("new", EffectLaunched, ClaimObject("new"), "")
		}, "open 3 effects, 0 evictions, map[launched:1 registered:1 terminating:1]"},
		{"all", func(l *Log) {
			l.Note("new", EffectInitialized, ClaimObject("new"), "")
			l.NoteNode("n1", EffectEvicted, "pod shop/a", "Evicted pod")
			l.NoteNode("n1", EffectEvicted, "pod shop/a", "Evicted pod")
			l.NoteNode("n1", EffectEvicted, "pod shop/b", "Evicted pod")
			l.NoteNode("n2", EffectEvicted, "pod shop/c", "Evicted pod")
			l.Note("old", EffectTerminated, ClaimObject("old"), "")
			l.Note("old", EffectTerminated, ClaimObject("old"), "")
		}, "done 4 effects, 2 evictions, map[evicted:2 initialized:1 terminated:1]"},
		{"rolled back", func(l *Log) {
			l.Note("new", EffectFailed, ClaimObject("new"), "no capacity")
			l.Note("old", EffectCancelled, ClaimObject("old"), "Disruption cancelled")
		}, "cancelled 2 effects, 0 evictions, map[cancelled:1 failed:1]"},
		{"a launch that ends before its node is ready", func(l *Log) {
			l.Note("new", EffectTerminated, ClaimObject("new"), "")
			l.Note("old", EffectTerminated, ClaimObject("old"), "")
		}, "failed 2 effects, 0 evictions, map[failed:1 terminated:2]"},
		{"other NodeClaims", func(l *Log) { l.Note("other", EffectTerminated, ClaimObject("other"), "") }, "open 0 effects, 0 evictions, map[]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := New(clocktesting.NewFakeClock(noon), nil)
			l.Begin(replacement())
			tt.happens(l)
			want(t, states(l), tt.want)
		})
	}
}

// A decision without launches and removals is done at once. So is a reboot.
func TestDoneAtOnce(t *testing.T) {
	l := New(clocktesting.NewFakeClock(noon), nil)
	l.Begin(Episode{Kind: KindProvisioning, Action: "refuse"})
	reboot := replacement()
	reboot.Action, reboot.Launches = "reboot", nil
	l.Begin(reboot)
	want(t, states(l), "done 0 effects, 0 evictions, map[]\ndone 0 effects, 0 evictions, map[]")
	if launches, removes := l.Expects("old"); launches || removes {
		t.Error("a finished episode expects effects")
	}
}

// The log keeps the newest episodes within its bounds of number and size. It keeps no index entries of removed episodes.
func TestBounds(t *testing.T) {
	for _, size := range []int{10, 20_000} {
		l := New(clocktesting.NewFakeClock(noon), nil)
		for i := range MaxEpisodes + 100 {
			e := replacement()
			e.Launches[0].Claim, e.Removals[0].Claim, e.Removals[0].Node = fmt.Sprint("new", i), fmt.Sprint("old", i), fmt.Sprint("n", i)
			for range size / 1000 {
				e.Refused = append(e.Refused, Refusal{Subject: "node x", Reason: strings.Repeat("x", 1000)})
			}
			l.Begin(e)
		}
		held := l.Snapshot()
		if len(held) > MaxEpisodes || l.bytes > MaxBytes || len(l.claims) != 2*len(held) || len(l.nodes) != len(held) {
			t.Errorf("size %d: %d episodes of %d bytes, %d claims, %d nodes", size, len(held), l.bytes, len(l.claims), len(l.nodes))
		}
		if last := held[len(held)-1]; last.Launches[0].Claim != fmt.Sprint("new", MaxEpisodes+99) {
			t.Errorf("the newest episode launches %s", last.Launches[0].Claim)
		}
		text, _ := l.Encode()
		stored, err := Decode(text)
		if err != nil || len(text) > MaxStored || len(stored) == 0 {
			t.Fatalf("%d bytes stored, %d episodes, error %v", len(text), len(stored), err)
		}
		if diff := cmp.Diff(held[len(held)-len(stored):], stored); diff != "" {
			t.Errorf("stored (-want +got):\n%s", diff)
		}
	}
}

// The index of nodes has a node as long as an open episode removes it, also nodes that are cut from the list of a large episode.
func TestNodesOfEpisodes(t *testing.T) {
	l := New(clocktesting.NewFakeClock(noon), nil)
	l.Begin(replacement())
	again := replacement()
	again.Launches = nil
	l.Begin(again)
	l.Note("new", EffectFailed, ClaimObject("new"), "no capacity")
	l.Note("old", EffectCancelled, ClaimObject("old"), "rolled back")
	l.Begin(replacement())
	l.NoteNode("n1", EffectEvicted, "pod shop/a", "Evicted pod")
	if got := l.Snapshot()[2]; got.Evictions != 1 {
		t.Errorf("the episode that is open has %d evictions of the node", got.Evictions)
	}

	l = New(clocktesting.NewFakeClock(noon), nil)
	large := Episode{Kind: KindDisruption, Action: "delete"}
	for i := range 10 * maxList {
		large.Removals = append(large.Removals, Removal{Node: fmt.Sprint("n", i), Claim: fmt.Sprint("c", i)})
	}
	l.Begin(large)
	for i := range 10 * maxList {
		l.Note(fmt.Sprint("c", i), EffectTerminated, ClaimObject(fmt.Sprint("c", i)), "")
	}
	if got := l.Snapshot()[0]; got.State != StateDone || len(l.nodes) > 0 || len(l.claims) > 0 {
		t.Errorf("the episode is %s, and the index has %d nodes and %d claims", got.State, len(l.nodes), len(l.claims))
	}
}

// Restored episodes and those of the process together keep the bounds. An episode without the name of its node changes no index.
func TestRestoreKeepsBounds(t *testing.T) {
	var earlier []Episode
	for i := range MaxEpisodes {
		e := replacement()
		e.ID, e.State, e.Removals[0].Node = fmt.Sprint("e", i), StateOpen, ""
		earlier = append(earlier, e)
	}
	l := New(clocktesting.NewFakeClock(noon), nil)
	id := l.Begin(Episode{Kind: KindProvisioning, Action: "refuse"})
	l.Restore(earlier)
	held := l.Snapshot()
	if len(held) != MaxEpisodes || held[len(held)-1].ID != id || len(l.nodes) > 0 {
		t.Errorf("%d episodes, the last is %s, and %d nodes are in the index", len(held), held[len(held)-1].ID, len(l.nodes))
	}
}

// The lists of a large episode are cut. Its totals count all entries.
func TestLargeEpisode(t *testing.T) {
	l := New(clocktesting.NewFakeClock(noon), nil)
	e := Episode{Kind: KindProvisioning, Action: "launch"}
	for i := range 1000 {
		e.Launches = append(e.Launches, Launch{Claim: fmt.Sprint("c", i)})
		e.Refused = append(e.Refused, Refusal{Subject: fmt.Sprint("pod shop/p", i), Reason: strings.Repeat("é", 2000)})
	}
	l.Begin(e)
	for i := range 1000 {
		for _, kind := range []EffectKind{EffectLaunched, EffectRegistered, EffectInitialized} {
			l.Note(fmt.Sprint("c", i), kind, ClaimObject(fmt.Sprint("c", i)), "")
		}
	}
	got := l.Snapshot()[0]
	if len(got.Launches) != maxList || got.LaunchedNodes != 1000 || len(got.Refused) != maxRefused || got.RefusedTotal != 1000 ||
		len(got.Effects) != maxEffects || got.EffectsTotal != 3000 || got.State != StateDone {
		t.Errorf("%d of %d launches, %d of %d refusals, %d of %d effects, %s", len(got.Launches), got.LaunchedNodes,
			len(got.Refused), got.RefusedTotal, len(got.Effects), got.EffectsTotal, got.State)
	}
	if text := got.Refused[0].Reason; len(text) > maxText || strings.Trim(text, "é") != "" {
		t.Errorf("a text has %d bytes, or ends within a character", len(text))
	}
}

// A subscriber gets the episodes and all changes after them. A subscriber that does not read is dropped and does not delay the
// log.
func TestSubscribe(t *testing.T) {
	l := New(clocktesting.NewFakeClock(noon), nil)
	l.Begin(Episode{Kind: KindProvisioning, Action: "refuse"})
	before, reader := l.Subscribe(10)
	_, slow := l.Subscribe(1)
	l.Begin(replacement())
	l.Note("new", EffectLaunched, ClaimObject("new"), "")
	var types []string
	for range 2 {
		types = append(types, (<-reader.Changes()).Type)
	}
	want(t, fmt.Sprint(len(before), types), "1 [begin effect]")
	if c := <-slow.Changes(); c.Type != "begin" {
		t.Errorf("the slow reader got %q first", c.Type)
	}
	if _, open := <-slow.Changes(); open {
		t.Error("the slow reader was not dropped")
	}
	slow.Close()
	reader.Close()
	if _, open := <-reader.Changes(); open || len(l.readers) != 0 {
		t.Error("a closed subscription is open")
	}
}

// The output has one JSON object per line. Later changes of an episode do not change a Change that a subscriber received.
func TestLines(t *testing.T) {
	var out bytes.Buffer
	l := New(clocktesting.NewFakeClock(noon), &out)
	id := l.Begin(replacement())
	_, reader := l.Subscribe(10)
	l.Note("new", EffectInitialized, ClaimObject("new"), "")
	l.Note("old", EffectTerminated, ClaimObject("old"), "")
	var got []string
	for line := range strings.Lines(out.String()) {
		var c Change
		if err := json.Unmarshal([]byte(line), &c); err != nil || c.ID != id {
			t.Fatalf("%v: %s", err, line)
		}
		state := State("")
		if c.Episode != nil {
			state = c.Episode.State
		}
		got = append(got, strings.TrimSpace(c.Type+" "+string(state)))
	}
	want(t, strings.Join(got, ", "), "begin open, effect, effect, end done")
	if first := <-reader.Changes(); first.Effect.Kind != EffectInitialized {
		t.Errorf("the first change is %s", first.Effect.Kind)
	}
}

// After a restart, the log has the earlier episodes. Those that are open take later effects.
func TestRestore(t *testing.T) {
	clock := clocktesting.NewFakeClock(noon)
	l := New(clock, nil)
	l.Begin(replacement())
	l.Note("new", EffectInitialized, ClaimObject("new"), "")
	text, _ := l.Encode()
	stored, err := Decode(text)
	if err != nil {
		t.Fatal(err)
	}
	clock.Step(time.Minute)
	next := New(clock, nil)
	next.Begin(Episode{Kind: KindProvisioning, Action: "refuse"})
	next.Restore(stored)
	next.Restore(stored)
	next.NoteNode("n1", EffectEvicted, "pod shop/a", "Evicted pod")
	next.Note("old", EffectTerminated, ClaimObject("old"), "")
	want(t, states(next), "done 3 effects, 1 evictions, map[evicted:1 initialized:1 terminated:1]\ndone 0 effects, 0 evictions, map[]")
	ids := map[string]bool{}
	for _, e := range next.Snapshot() {
		ids[e.ID] = true
	}
	if len(ids) != 2 {
		t.Errorf("IDs are not unique: %v", ids)
	}
	if _, err := Decode("{\"id\":1}\n"); err == nil {
		t.Error("a text that is no log is decoded")
	}
}

// A nil Log ignores all calls and has no episodes.
func TestNilLog(t *testing.T) {
	var l *Log
	l.Begin(replacement())
	l.Note("new", EffectLaunched, ClaimObject("new"), "")
	l.NoteNode("n1", EffectEvicted, "pod shop/a", "")
	l.Restore(nil)
	text, version := l.Encode()
	l.OnChange(func() {})
	launches, removes := l.Expects("new")
	if text != "" || version != 0 || launches || removes || len(l.Snapshot()) != 0 || l.Err() != nil || l.OpenClaims() != nil ||
		!l.RemovedSince("new").IsZero() {
		t.Error("a nil Log has content")
	}
}

type recorder []telemetry.Event

func (r *recorder) Publish(events ...telemetry.Event) { *r = append(*r, events...) }

// Events that are effects are added to the log with their message. All events are published.
func TestTee(t *testing.T) {
	next := &recorder{}
	l := New(clocktesting.NewFakeClock(noon), nil)
	l.Begin(replacement())
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a"}, Spec: corev1.PodSpec{NodeName: "n1"}}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1"}}
	claim := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: "new"}}
	tee := Tee{Next: next, Log: l}
	tee.Publish(
		telemetry.Event{Object: pod, Reason: telemetry.EventEvicted, Message: "Evicted pod"},
		telemetry.Event{Object: pod, Reason: telemetry.EventNominated, Message: "Pod should schedule on"},
		telemetry.Event{Object: node, Reason: telemetry.EventFailedDraining, Message: "a PDB blocks"},
		telemetry.Event{Object: claim, Reason: telemetry.EventNodeJoinDelayed, Message: "no route"},
		telemetry.Event{Object: claim, Reason: telemetry.EventInsufficientCapacityError, Message: "no capacity"},
		telemetry.Event{Object: &apiv1.NodePool{}, Reason: telemetry.EventDisruptionBlocked, Message: "budget"},
	)
	var got []string
	for _, f := range l.Snapshot()[0].Effects {
		got = append(got, fmt.Sprintf("%s %s: %s", f.Kind, f.Object, f.Message))
	}
	want(t, strings.Join(got, "\n"), "evicted pod shop/a: Evicted pod\nnote node n1: a PDB blocks\nnote nodeclaim new: no route\nfailed nodeclaim new: no capacity")
	if len(*next) != 6 {
		t.Errorf("%d events published, want 6", len(*next))
	}
}

// The time of Note does not grow with the number of episodes and NodeClaims.
func BenchmarkNote(b *testing.B) {
	l := New(clocktesting.NewFakeClock(noon), nil)
	for i := range MaxEpisodes {
		e := replacement()
		e.Launches[0].Claim, e.Removals[0].Claim = fmt.Sprint("new", i), fmt.Sprint("old", i)
		l.Begin(e)
	}
	for b.Loop() {
		l.Note("new500", EffectLaunched, ClaimObject("new500"), "")
	}
}

func BenchmarkEncode(b *testing.B) {
	l := New(clocktesting.NewFakeClock(noon), nil)
	for i := range MaxEpisodes {
		e := replacement()
		e.Launches[0].Claim, e.Removals[0].Claim = fmt.Sprint("new", i), fmt.Sprint("old", i)
		l.Begin(e)
	}
	for b.Loop() {
		l.Note("new999", EffectNote, ClaimObject("new999"), "")
		l.Encode()
	}
}
