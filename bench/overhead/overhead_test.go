package overhead

import (
	"math"
	"os"
	"path/filepath"
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
	r, err := Of(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][3]float64{ // CPU of the 800 without garbage collection, allocations, and all CPU with a fifth of it
		"logs, not in the sum": {0.0125, 0, 0.01}, "ledger": {0.0375, 0.1, 0.8*0.0375 + 0.2*0.1}, "events": {0.0125, 0, 0.01}, "metrics": {0.0125, 0, 0.01},
	}
	sum := 0.0
	for _, s := range r.Shares {
		w := want[s.Name]
		for i, got := range []float64{s.CPU, s.Allocated, s.All} {
			if math.Abs(got-w[i]) > 1e-9 {
				t.Errorf("%s: %+v, want %v", s.Name, s, w)
			}
		}
		if s.Name != Parts[0].Name {
			sum += s.All
		}
	}
	if math.Abs(r.Collection-0.2) > 1e-9 || math.Abs(r.Sum.All-sum) > 1e-9 {
		t.Errorf("garbage collection %v, sum %v", r.Collection, r.Sum)
	}
	if _, err := Of(t.TempDir()); err == nil {
		t.Error("a directory without profiles gives a result")
	}
}
