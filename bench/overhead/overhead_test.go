package overhead

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/pprof/profile"

	"github.com/karpenter-go/karpenter/bench/e2e"
)

// write writes a profile with one sample for each stack, whose frames are from the leaf to the root.
func write(t *testing.T, file, kind string, stacks map[string]int64) {
	t.Helper()
	p := &profile.Profile{SampleType: []*profile.ValueType{{Type: "count", Unit: "count"}, {Type: kind, Unit: "unit"}}}
	for name, value := range stacks {
		n := uint64(len(p.Function) + 1)
		f := &profile.Function{ID: n, Name: name}
		root := &profile.Function{ID: n + 1000, Name: "main.main"}
		leaf := &profile.Location{ID: n, Line: []profile.Line{{Function: f}, {Function: root}}}
		p.Function, p.Location = append(p.Function, f, root), append(p.Location, leaf)
		p.Sample = append(p.Sample, &profile.Sample{Location: []*profile.Location{leaf}, Value: []int64{1, value}})
	}
	for i, f := range p.Function {
		f.ID = uint64(i + 1)
	}
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := p.Write(out); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// The shares of the parts are those of the samples. Garbage collection is divided by what the parts allocated.
func TestOf(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "cpu-000.pb.gz"), "cpu", map[string]int64{
		module + "internal/ledger.(*Ledger).Observe":           30,
		module + "internal/telemetry.(*EventRecorder).Publish": 10,
		module + "internal/telemetry.NewMetrics":               10,
		module + "engine/pack.Solve":                           540,
		module + "internal/telemetry.(*byCause).WithAttrs":     10,
		"runtime.gcBgMarkWorker":                               200,
	})
	write(t, filepath.Join(dir, "cpu-001.pb.gz"), "cpu", map[string]int64{module + "engine/pack.Solve": 200})
	write(t, filepath.Join(dir, e2e.Allocations), "alloc_space", map[string]int64{
		module + "internal/ledger.(*Ledger).Observe": 100, module + "engine/pack.Solve": 900,
	})
	put(t, filepath.Join(dir, e2e.Metrics), "# HELP go_threads Threads.\ngo_threads 5\nkarpenter_nodes_allocatable{node_name=\"a b\"} 1\n"+
		"karpenter_pods_bound_duration_seconds_bucket{le=\"1\"} 1\nkarpenter_idle_dollars 2\n")
	put(t, filepath.Join(dir, e2e.Events), `{"items": [
		{"reason": "Nominated", "source": {"component": "karpenter"}}, {"reason": "Launched", "source": {"component": "karpenter"}},
		{"reason": "Steered", "source": {"component": "karpenter"}}, {"reason": "Scheduled", "source": {"component": "default-scheduler"}}
	]}`)
	names := filepath.Join(t.TempDir(), "names.md")
	put(t, names, "## Metrics\n\n| `karpenter_nodes_allocatable` | gauge |\n| `karpenter_pods_bound_duration_seconds` | histogram |\n"+
		"## Events\n| `Nominated` | Normal |\n## Conditions\n| `Launched` | NodeClaim |\n")
	n, err := ReadNames(names)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Of(dir, n)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][3]float64{ // CPU of the 800 without garbage collection, allocations, and all CPU with a fifth of it
		"logs": {0.0125, 0, 0.01}, "ledger": {0.0375, 0.1, 0.8*0.0375 + 0.2*0.1},
		"events that only this controller has": {0.0125 / 3, 0, 0.01 / 3}, "events that upstream has too": {0.025 / 3, 0, 0.02 / 3},
		"metrics that only this controller has": {0.0125 / 4, 0, 0.01 / 4}, "metrics that upstream has too": {0.0375 / 4, 0, 0.03 / 4},
	}
	sum := 0.0
	for _, s := range r.Shares {
		w := want[s.Name]
		for i, got := range []float64{s.CPU, s.Allocated, s.All} {
			if math.Abs(got-w[i]) > 1e-9 {
				t.Errorf("%s: %+v, want %v", s.Name, s, w)
			}
		}
		if s.Name != "logs" && !strings.Contains(s.Name, "upstream") {
			sum += s.All
		}
	}
	if math.Abs(r.Collection-0.2) > 1e-9 || math.Abs(r.Sum.All-sum) > 1e-9 {
		t.Errorf("garbage collection %v, sum %v", r.Collection, r.Sum)
	}
	if _, err := Of(t.TempDir(), n); err == nil {
		t.Error("a directory without profiles gives a result")
	}
}
