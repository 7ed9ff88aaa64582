package pack

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/bench/floor"
	"github.com/karpenter-go/karpenter/bench/ours"
	"github.com/karpenter-go/karpenter/bench/result"
	"github.com/karpenter-go/karpenter/bench/workload"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
)

var options = pack.Options{Labels: ours.Labels}

// catalogue returns the name of the catalogue for a profile: synthetic types for profiles with many constraints, as in
// upstream's benchmark.
func catalogue(p workload.Profile) string {
	if p == workload.Diverse || p == workload.Prefs {
		return "synthetic400"
	}
	return "cmr6"
}

func cluster(tb testing.TB, p workload.Profile, n int, seed uint64) *workload.Cluster {
	tb.Helper()
	c, err := workload.New(p, n, seed, catalogue(p))
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// BenchmarkSolve measures the time from decoded objects to the finished plan, and the ratio of the plan's price and the lower
// bound.
func BenchmarkSolve(b *testing.B) {
	for _, profile := range workload.Profiles {
		for _, n := range []int{1000, 10_000} {
			if profile == workload.Large && n > 1000 {
				continue // nearly every pod is a class of its own; the table of bench peers has a row for it
			}
			b.Run(fmt.Sprintf("%s/%d", profile, n), func(b *testing.B) {
				c := cluster(b, profile, n, 7)
				d, err := c.Delta()
				if err != nil {
					b.Fatal(err)
				}
				least, err := floor.Price(c, apiv1.CapacityTypeOnDemand)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportAllocs()
				var plan *model.Plan
				for b.Loop() {
					plan = pack.Solve(model.Compile(d), options)
				}
				b.ReportMetric(plan.Price/least, "price/floor")
				b.ReportMetric(float64(len(plan.Nodes)), "nodes")
				b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "pods/s")
			})
		}
	}
}

// BenchmarkFleet measures batches of pods over 1,000 full nodes. The first round reads the whole fleet, the second only the
// changes.
func BenchmarkFleet(b *testing.B) {
	types, err := workload.Catalogue("noburst")
	if err != nil {
		b.Fatal(err)
	}
	fleet, err := workload.Fleet{Nodes: 1000, Keep: 1, Seed: 7}.Cluster(types)
	if err != nil {
		b.Fatal(err)
	}
	batches := make([][]*corev1.Pod, 2)
	for i := range batches {
		batches[i] = workload.Pods(workload.Micro, 500, uint64(i))
		for _, p := range batches[i] {
			p.Name = fmt.Sprintf("b%d-%s", i, p.Name)
		}
	}
	var first, later float64
	for b.Loop() {
		rounds, err := ours.Rounds(fleet, batches, options)
		if err != nil {
			b.Fatal(err)
		}
		first, later = first+rounds[0].Seconds, later+rounds[1].Seconds
	}
	b.ReportMetric(1000*first/float64(b.N), "first-ms")
	b.ReportMetric(1000*later/float64(b.N), "later-ms")
}

// Package verify accepts every plan of the benchmarks. Each pod occurs in it once, its nodes have capacity for their pods, and
// its price is not below either lower bound.
func TestPlansHold(t *testing.T) {
	for _, profile := range workload.Profiles {
		for seed := range uint64(2) {
			c := cluster(t, profile, 200, seed)
			run, err := ours.Solve(c, options)
			if err != nil {
				t.Fatal(err)
			}
			if len(run.Violations) > 0 {
				t.Errorf("%s seed %d: %v", profile, seed, run.Violations)
			}
			judge, err := result.NewJudge(c)
			if err != nil {
				t.Fatal(err)
			}
			score, err := judge.Score(run)
			if err != nil {
				t.Errorf("%s seed %d: %v", profile, seed, err)
			}
			if score.Placed+score.Unplaced != 200 {
				t.Errorf("%s seed %d: %d placed and %d unplaced of 200", profile, seed, score.Placed, score.Unplaced)
			}
			if len(run.Unplaced) == 0 {
				compareFloors(t, c, run, score.Price)
			}
		}
	}
}

// compareFloors checks that the price of a plan that places all pods is not below either lower bound. It also checks that the
// engine's bound, which considers labels, is not below the plain one. Only the plain one considers pods that must not share a
// host.
func compareFloors(t *testing.T, c *workload.Cluster, run *result.Run, price float64) {
	t.Helper()
	least, err := floor.Price(c, apiv1.CapacityTypeOnDemand)
	if err != nil {
		t.Fatal(err)
	}
	const rounding = 1 + 1e-9
	if price*rounding < run.Floor || price*rounding < least {
		t.Errorf("price %v is below a floor: the engine's is %v, the plain one %v", price, run.Floor, least)
	}
	if run.Floor*(1+1e-6) < least && floor.Hosts(c) == 0 {
		t.Errorf("the engine's floor %v is below the plain one %v", run.Floor, least)
	}
}

// The nodes and pods that one round plans exist in the next round. So no pod is planned twice, and verify accepts every round.
func TestRoundsGoOn(t *testing.T) {
	types, err := workload.Catalogue("cmr6")
	if err != nil {
		t.Fatal(err)
	}
	fleet, err := workload.Fleet{Nodes: 50, Keep: 1, Seed: 1}.Cluster(types)
	if err != nil {
		t.Fatal(err)
	}
	fleet.Daemons = workload.Daemons()
	batches := [][]*corev1.Pod{workload.Pods(workload.Micro, 100, 1), workload.Pods(workload.Micro, 100, 2)}
	for _, p := range batches[1] {
		p.Name = "second-" + p.Name
	}
	rounds, err := ours.Rounds(fleet, batches, options)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range rounds {
		if r.Pods != 100 || r.Unplaced > 0 || len(r.Violations) > 0 || r.Existing+r.Nodes == 0 {
			t.Errorf("round %d: %+v", i, r)
		}
	}
}
