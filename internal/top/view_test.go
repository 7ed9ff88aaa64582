package top

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/karpenter-go/karpenter/internal/decisions"
	"github.com/karpenter-go/karpenter/internal/offline"
)

var update = flag.Bool("update", false, "rewrite the golden files")

var noon = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

// sample is a small cluster with one row of each kind.
func sample() Data {
	return Data{
		Time: noon, DollarsPerHour: 1.2345, FloorPerHour: 0.9876, Unpriced: 1, CPU: 0.72, Memory: 0.41, RunningPods: 41,
		Nodes: []Node{
			{Name: "ip-10-0-0-4.ec2.internal", Pool: "default", InstanceType: "m7a.2xlarge", Zone: "us-east-1a", CapacityType: "on-demand", State: "ready",
				Pods: 29, CPU: 0.97, Memory: 0.55, DollarsPerHour: 0.4637, Rule: "price", Created: noon.Add(-3 * time.Hour),
				Reason: "can't replace with a cheaper node: this node costs $0.4637/h, capacity for its 29 pods costs $0.4637/h at best elsewhere"},
			{Name: "ip-10-0-0-5.ec2.internal", Pool: "default", InstanceType: "c7a.large", Zone: "us-east-1b", CapacityType: "spot", State: "ready",
				Pods: 4, CPU: 0.31, Memory: 0.12, DollarsPerHour: 0.0391, Rule: "pdb", WastePerHour: 0.02, Created: noon.Add(-50 * time.Hour),
				Reason: "PodDisruptionBudget shop/db allows no further disruption (pod shop/db-0)", Fix: "run more replicas than the PodDisruptionBudget needs"},
			{Name: "default-x7k2p", Pool: "default", CapacityType: "spot", State: "launching", Reason: "", Created: noon},
			{Name: "system-1", State: "ready", Pods: 8, CPU: 0.5, Memory: 0.5, Reason: "not managed by a NodePool: never disrupted", Created: noon.Add(-90 * time.Minute)},
		},
		Pools: []Pool{
			{Name: "default", Nodes: 3, DollarsPerHour: 0.5028, LimitUsed: 0.92, Limits: []offline.LimitResult{
				{Resource: "cpu", Used: "920", Limit: "1k", UsedAmount: 920_000, LimitAmount: 1_000_000},
				{Resource: "memory", Used: "23891148Ki", Limit: "400Gi", UsedAmount: 23891148 << 10, LimitAmount: 400 << 30}}},
			{Name: "gpu", Problem: "is not ready: NodeClassReady=False", Fix: "see the conditions of the NodePool"},
		},
		Pending: []Pending{
			{Pod: "shop/train-0", Count: 3, Outcome: "refused", Reason: `NodePool "gpu": does not tolerate taint nvidia.com/gpu:NoSchedule; and 1 more NodePool`,
				Fix: "add the toleration {key: nvidia.com/gpu, operator: Exists, effect: NoSchedule} to the pod"},
			{Pod: "shop/web-0", Count: 1, Outcome: "new", Reason: "new node of NodePool default: c7a.large us-east-1b spot"},
		},
		Decisions: []decisions.Episode{
			{ID: "x-1", Time: noon.Add(-time.Hour), Kind: decisions.KindProvisioning, State: decisions.StateDone, Decision: "launch 2 nodes (2 x c7a.large)",
				Cause: "10 pending pods: Deployment shop/web (10)", DollarsAfter: 0.2},
			{ID: "x-3", Time: noon.Add(-30 * time.Minute), Kind: decisions.KindProvisioning, State: decisions.StateDone, Action: "refuse",
				Cause:   "1 pending pod: Pod shop/train-0 (1)",
				Refused: []decisions.Refusal{{Subject: "pod shop/train-0", Reason: "PersistentVolumeClaim shop/data does not exist"}}},
			{ID: "x-2", Time: noon.Add(-time.Minute), Kind: decisions.KindDisruption, State: decisions.StateCancelled, Decision: "delete ip-10-0-0-9 (Empty, saves $0.1000/h)",
				Cause: "1 node without pods that would have to move", DollarsBefore: 0.2, DollarsAfter: 0.1, EvictionsPlanned: 2,
				Effects: []decisions.Effect{{Time: noon, Kind: decisions.EffectCancelled, Object: "nodeclaim default-9"}}},
		},
	}
}

// start returns a model that has loaded the data, on a terminal of the given size.
func start(t *testing.T, d Data, width, height int) *Model {
	t.Helper()
	m := New(func() (Data, time.Duration, error) { return d, time.Hour, nil })
	m.Update(tea.WindowSizeMsg{Width: width, Height: height})
	m.Update(m.Init()())
	return m
}

// press types keys; names of keys are separated by spaces.
func press(m *Model, keys string) {
	for key := range strings.FieldsSeq(keys) {
		m.press(key)
	}
}

// plainly returns the screen without colours, and checks its size.
func plainly(t *testing.T, m *Model) string {
	t.Helper()
	screen := ansi.Strip(m.View().Content)
	lines := strings.Split(screen, "\n")
	if len(lines) != m.height {
		t.Errorf("%d lines on a terminal of %d:\n%s", len(lines), m.height, screen)
	}
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, " ")
		if n := utf8.RuneCountInString(line); n > m.width {
			t.Errorf("line %d has %d cells on a terminal of %d: %s", i, n, m.width, line)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// The golden files have the screens of all pages in two widths, and the text for scripts.
func TestViews(t *testing.T) {
	for name, keys := range map[string]string{
		"nodes": "", "nodes_selected": "j", "pods": "2", "nodepools": "3 j", "decisions": "4", "search": "/ p d b enter",
		"sorted_by_price": "s s s s s s r", "help": "?", "paused": "p",
	} {
		for _, width := range []int{80, 140} {
			t.Run(fmt.Sprint(name, width), func(t *testing.T) {
				m := start(t, sample(), width, 18)
				press(m, keys)
				golden(t, fmt.Sprintf("%s_%d", name, width), plainly(t, m))
			})
		}
	}
	golden(t, "once_80", Text(sample(), 80))
	golden(t, "once_200", Text(sample(), 200))
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("(-want +got; go test -update rewrites it):\n%s", diff)
	}
}

// With 5,000 nodes, only the rows that fit are drawn, and the selected row is always one of them.
func TestLarge(t *testing.T) {
	d := sample()
	d.Nodes = nil
	for i := range 5000 {
		d.Nodes = append(d.Nodes, Node{Name: fmt.Sprintf("node-%04d", i), State: "ready", CPU: float64(i%100) / 100, DollarsPerHour: 0.1})
	}
	m := start(t, d, 80, 24)
	for _, tt := range []struct{ keys, first, place string }{
		{"", "node-0000", "1/5000"},
		{"pgdown", "node-0001", "14/5000"},
		{"G", "node-4987", "5000/5000"},
		{"up up", "node-4987", "4998/5000"},
		{"g", "node-0000", "1/5000"},
		{"r g", "node-4999", "1/5000"},
		{"/ 4 2 4 2 enter", "node-4242", "1/1"},
		{"esc", "node-4242", "758/5000"},
	} {
		press(m, tt.keys)
		lines := strings.Split(plainly(t, m), "\n")
		if !strings.HasPrefix(lines[4], tt.first) && tt.keys != "esc" || !strings.HasPrefix(lines[23], tt.place+" ") {
			t.Errorf("after %q the first row is %q and the place %q, want %s and %s", tt.keys, lines[4], lines[23], tt.first, tt.place)
		}
	}
}

// The selection is kept when the data change. While the view is paused, the screen does not change, and the Source is not
// called. After an error, the last data are shown.
func TestNewData(t *testing.T) {
	m := start(t, sample(), 80, 18)
	press(m, "j")
	chosen := m.views[0].selected
	next := sample()
	next.Nodes = append([]Node{{Name: "a-new-node", State: "ready"}}, next.Nodes...)
	m.Update(fetched{data: next, wait: time.Hour})
	if m.views[0].selected != chosen || len(m.views[0].rows) != 5 {
		t.Errorf("selected %s of %d rows, want %s of 5", m.views[0].selected, len(m.views[0].rows), chosen)
	}
	press(m, "p")
	m.Update(fetched{data: sample(), wait: time.Hour})
	if len(m.views[0].rows) != 5 || m.fetching {
		t.Error("a paused view changes, or fetches")
	}
	press(m, "p")
	m.Update(fetched{err: errors.New("connection refused"), wait: time.Hour})
	if screen := plainly(t, m); !strings.Contains(screen, "not current: connection refused") || len(m.views[0].rows) != 5 {
		t.Errorf("after an error:\n%s", screen)
	}
}

// Before the first data, the screen says so. The screen can be drawn in any size.
func TestSizes(t *testing.T) {
	m := New(func() (Data, time.Duration, error) { return Data{}, time.Hour, errors.New("no route to host") })
	m.Update(tea.WindowSizeMsg{Width: 80, Height: 12})
	if screen := plainly(t, m); !strings.Contains(screen, "reading the cluster") {
		t.Errorf("before data:\n%s", screen)
	}
	m.Update(m.Init()())
	if screen := plainly(t, m); !strings.Contains(screen, "no route to host") {
		t.Errorf("without a cluster:\n%s", screen)
	}
	for width := 1; width < 160; width += 7 {
		m := start(t, sample(), width, 12)
		for page := range m.pages {
			m.show(page)
			plainly(t, m)
		}
	}
}
