package disrupt

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/bench/workload"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/verify"
)

func options() disrupt.Options {
	return disrupt.Options{Simulate: true, Pack: pack.Options{Labels: apiv1.CoreLabels()}}
}

func newFleet(tb testing.TB, w workload.Fleet, budget string) *Fleet {
	tb.Helper()
	types, err := workload.Catalogue("noburst")
	if err != nil {
		tb.Fatal(err)
	}
	c, err := w.Cluster(types)
	if err != nil {
		tb.Fatal(err)
	}
	for _, p := range c.Pools {
		p.Spec.Disruption.Budgets = []apiv1.Budget{{Nodes: budget}}
		p.Spec.Disruption.ConsolidateAfter = apiv1.MustParseNillableDuration("0s")
	}
	d, err := c.Delta()
	if err != nil {
		tb.Fatal(err)
	}
	d.PDBs = c.Budgets
	return &Fleet{Snapshot: model.Compile(d)}
}

// floorOf returns a lower bound on the price of nodes for the pods of the fleet.
func floorOf(s *model.Snapshot) float64 {
	return pack.Solve(s.Without(s.Nodes()...), options().Pack).Floor
}

// BenchmarkPass measures a full pass over a fleet of full nodes with disruption budgets, from decoded objects. The pass finds
// all nodes that may be disrupted at the same time, and a verdict for every other node.
func BenchmarkPass(b *testing.B) {
	for _, nodes := range []int{500, 2000, 10_000} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			if nodes > workload.Most() {
				b.Skip("more than BENCH_MOST")
			}
			f := newFleet(b, workload.Fleet{Nodes: nodes, Pools: 5, Keep: 1, Budgets: true, Seed: 7}, "100%")
			b.ReportAllocs()
			var d disrupt.Decision
			start := cpu()
			for b.Loop() {
				d = disrupt.Decide(f.Snapshot, options(), disrupt.Cursor{})
			}
			b.ReportMetric((cpu()-start).Seconds()/float64(b.N), "cpu-s")
			report(b, d)
		})
	}
}

// BenchmarkSettled measures a pass over a fleet that cannot become cheaper. Each node is evaluated on its own.
func BenchmarkSettled(b *testing.B) {
	for _, nodes := range []int{500, 2000} {
		b.Run(fmt.Sprint(nodes), func(b *testing.B) {
			if nodes > workload.Most() {
				b.Skip("more than BENCH_MOST")
			}
			f := newFleet(b, workload.Fleet{Nodes: nodes, Pools: 5, Keep: 1, Seed: 7}, "100%")
			for range 6 {
				d := disrupt.Decide(f.Snapshot, options(), disrupt.Cursor{})
				if f.CarryOut(d); len(d.Commands) == 0 {
					break
				}
			}
			b.ReportAllocs()
			var d disrupt.Decision
			start := cpu()
			for b.Loop() {
				d = disrupt.Decide(f.Snapshot, options(), disrupt.Cursor{})
			}
			b.ReportMetric((cpu()-start).Seconds()/float64(b.N), "cpu-s")
			report(b, d)
			b.ReportMetric(float64(len(f.Nodes())), "nodes")
		})
	}
}

// cpu returns the CPU time that the process has used on all cores, including garbage collection. On a busy machine it is more
// exact than elapsed time.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// resident returns the peak resident memory of the process, in MB.
func resident() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return float64(u.Maxrss) / 1024
}

func report(b *testing.B, d disrupt.Decision) {
	gone := 0
	for i := range d.Commands {
		gone += len(d.Commands[i].Nodes)
	}
	skipped := 0
	for _, x := range d.Blocked {
		if x.Verdict.Rule == model.RuleEffort {
			skipped++
		}
	}
	b.ReportMetric(float64(gone), "gone")
	b.ReportMetric(float64(len(d.Blocked)), "blocked")
	b.ReportMetric(float64(skipped), "skipped")
	b.ReportMetric(float64(d.Stats.WhatIfs), "what-ifs")
	b.ReportMetric(float64(d.Stats.Screened), "screened")
	b.ReportMetric(resident(), "max-MB")
}

// Virtual times of a round of commands: until a replacement is initialized, and until the pods of the old node have ended.
const (
	boot  = 60 * time.Second
	drain = 30 * time.Second
)

// BenchmarkFragmented measures the consolidation of a fleet after a scale-in by 75%, with a budget of 100% and of 10%. A greedy
// drain is measured for comparison.
func BenchmarkFragmented(b *testing.B) {
	for _, nodes := range []int{500, 2000} {
		for _, budget := range []string{"100%", "10%"} {
			b.Run(fmt.Sprintf("%d/%s", nodes, budget), func(b *testing.B) {
				if nodes > workload.Most() {
					b.Skip("more than BENCH_MOST")
				}
				for b.Loop() {
					f := newFleet(b, workload.Fleet{Nodes: nodes, Pools: 1, Keep: .25, Seed: 7}, budget)
					before, floor := f.Price(), floorOf(f.Snapshot)
					greedy := Greedy(f.Snapshot)
					run := settle(b, f)
					b.ReportMetric(f.Price()/floor, "price/floor")
					b.ReportMetric(float64(run.moved), "moved")
					b.ReportMetric(float64(run.moved)/(before-f.Price()), "moved/$")
					b.ReportMetric(float64(run.commands), "commands")
					b.ReportMetric(run.peak, "peak$")
					b.ReportMetric(run.took.Minutes(), "virtual-min")
					b.ReportMetric(greedy.Price/floor, "greedy-price/floor")
					b.ReportMetric(float64(greedy.Moved), "greedy-moved")
					b.ReportMetric(float64(greedy.Moved)/(before-greedy.Price), "greedy-moved/$")
				}
			})
		}
	}
}

// A run has the counts of a consolidation until no further command was found.
type run struct {
	moved, commands int
	peak            float64 // maximum price of the replacements of one round, in dollars per hour
	took            time.Duration
}

// settle decides and carries out commands until there are none. Every decision is checked.
func settle(tb testing.TB, f *Fleet) (r run) {
	tb.Helper()
	for range 100 {
		d := disrupt.Decide(f.Snapshot, options(), disrupt.Cursor{})
		if len(d.Commands) == 0 {
			return r
		}
		if v := verify.Commands(f.Snapshot, d.Expected, d.Commands, apiv1.CoreLabels()); len(v) > 0 {
			tb.Fatalf("refused: %v", v[0])
		}
		extra, replaces := 0.0, false
		for i := range d.Commands {
			c := &d.Commands[i]
			r.moved += c.Moves()
			for k := range c.Replacements {
				extra, replaces = extra+c.Replacements[k].Price(), true
			}
		}
		r.commands += len(d.Commands)
		r.peak = max(r.peak, extra)
		if r.took += drain; replaces {
			r.took += boot
		}
		f.CarryOut(d)
	}
	tb.Fatal("the fleet does not come to rest in 100 rounds")
	return r
}

// After consolidation, the price of a fragmented fleet is at most 5% above the lower bound. It is below the price that the
// fleet has after a greedy drain.
func TestFragmentedFleetGetsCheap(t *testing.T) {
	f := newFleet(t, workload.Fleet{Nodes: 100, Pools: 2, Keep: .25, Seed: 7}, "20%")
	floor, greedy := floorOf(f.Snapshot), Greedy(f.Snapshot)
	settle(t, f)
	if got := f.Price() / floor; got > 1.05 {
		t.Errorf("price is %.3f of the floor, want 1.05 at most", got)
	}
	if f.Price() >= greedy.Price {
		t.Errorf("price is $%.2f, a greedy drain leaves $%.2f", f.Price(), greedy.Price)
	}
}
