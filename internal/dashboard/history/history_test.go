package history

import (
	"fmt"
	"testing"
	"time"

	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/internal/dashboard/view"
)

// tiles returns the tiles of n nodes. Calls with equal arguments return equal tiles.
func tiles(t *testing.T, n int) []*view.Tile {
	t.Helper()
	c := scenario.Cluster{Types: []scenario.Type{{Name: "m", CPU: "2", Memory: "8Gi"}}, Pools: []scenario.Pool{{Name: "p"}}}
	for i := range n {
		c.Nodes = append(c.Nodes, scenario.Node{Name: fmt.Sprintf("n%04d", i), Pool: "p", Type: "m"})
	}
	s, err := c.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	out := make([]*view.Tile, n)
	for i, node := range s.Nodes() {
		out[i] = view.NewTile(node, view.Price{}, view.Fate{})
	}
	return out
}

// The number, the bytes and the age of moments are bounded. The newest moment and the oldest one within the bounds are kept.
// The time between two moments grows with their age.
func TestMomentsAreBounded(t *testing.T) {
	start := scenario.Epoch()
	fleet := tiles(t, 500)
	var m Moments
	changed := tiles(t, 500)
	for i := range 3000 {
		now := fleet
		if i%2 == 1 {
			now = changed
		}
		m.Add(start.Add(time.Duration(i)*15*time.Second), view.Strip{Nodes: i}, now)
		if len(m.list) > maxMoments || m.bytes > maxBytes {
			t.Fatalf("%d moments of %d bytes", len(m.list), m.bytes)
		}
	}
	times := m.Times()
	if got := m.Last(); !got.Equal(start.Add(2999 * 15 * time.Second)) {
		t.Errorf("the newest moment is %s", got)
	}
	if !times[0].Equal(start) {
		t.Errorf("the oldest moment is %s after the first", times[0].Sub(start))
	}
	n := len(times)
	early, late := times[n/4].Sub(times[0]), times[n-1].Sub(times[n-1-n/4])
	if early <= late {
		t.Errorf("the oldest quarter covers %s, the newest %s", early, late)
	}
	sum := 0
	for i := range m.list {
		sum += m.list[i].bytes
	}
	if sum != m.bytes {
		t.Errorf("%d bytes are counted, want %d", m.bytes, sum)
	}
	m.Add(start.Add(40*time.Hour), view.Strip{}, fleet)
	if got := m.Times(); len(got) != 1 {
		t.Errorf("%d moments are older than a day", len(got)-1)
	}
}

// Moments between which no node has changed share their tiles, so each of them needs memory only for its list.
func TestMomentsShareTiles(t *testing.T) {
	fleet := tiles(t, 100)
	var m Moments
	m.Add(scenario.Epoch(), view.Strip{}, fleet)
	whole := m.Bytes()
	m.Add(scenario.Epoch().Add(time.Minute), view.Strip{}, fleet)
	if more := m.Bytes() - whole; more > whole/10 {
		t.Errorf("the same fleet again uses %d bytes, the first time %d", more, whole)
	}
}

// At returns the last moment before a time. For a time before all moments, it returns the first.
func TestAt(t *testing.T) {
	var m Moments
	if _, ok := m.At(scenario.Epoch()); ok {
		t.Error("an empty history has a moment")
	}
	for i := range 5 {
		m.Add(scenario.Epoch().Add(time.Duration(i)*time.Minute), view.Strip{Nodes: i}, nil)
	}
	for after, want := range map[time.Duration]int{-time.Hour: 0, 0: 0, 90 * time.Second: 1, 2 * time.Minute: 2, time.Hour: 4} {
		if got, _ := m.At(scenario.Epoch().Add(after)); got.Strip.Nodes != want {
			t.Errorf("%s after the first: moment %d, want %d", after, got.Strip.Nodes, want)
		}
	}
}

// Steps without a sample are null. The oldest samples are removed.
func TestTrends(t *testing.T) {
	var trends Trends
	price := 2.5
	trends.Add(scenario.Epoch(), view.Strip{Nodes: 3, DollarsPerHour: &price, Requested: view.Amounts{CPU: 1}, Allocatable: view.Amounts{CPU: 4}})
	trends.Add(scenario.Epoch().Add(time.Second), view.Strip{Nodes: 99})
	trends.Add(scenario.Epoch().Add(3*time.Minute), view.Strip{Nodes: 4})
	v := trends.View()
	if len(v.Time) != 4 || v.Nodes[1] != nil || *v.Nodes[0] != 3 || *v.Nodes[3] != 4 || *v.CPU[0] != 0.25 || v.Memory[0] != nil || v.DollarsPerHour[3] != nil {
		t.Errorf("%d samples: %v", len(v.Time), v)
	}
	for i := range 2 * maxSamples {
		trends.Add(scenario.Epoch().Add(time.Hour+time.Duration(i)*Step), view.Strip{})
	}
	if n := len(trends.samples); n != maxSamples {
		t.Errorf("%d samples", n)
	}
}
