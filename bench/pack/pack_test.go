package pack

import (
	"fmt"
	"testing"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/bench/workload"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/verify"
)

func delta(p workload.Profile, n int, seed uint64) model.Delta {
	pool := workload.Pool()
	return model.Delta{
		Pods: workload.Pods(p, n, seed), Pools: []*apiv1.NodePool{pool},
		Types: map[string][]*model.InstanceType{pool.Name: workload.Types()},
	}
}

var options = pack.Options{Labels: apiv1.CoreLabels()}

// BenchmarkSolve measures decoded objects to finished plan, and reports the plan's price against the floor.
func BenchmarkSolve(b *testing.B) {
	for _, profile := range workload.Profiles {
		for _, n := range []int{500, 1000, 5000, 50_000} {
			b.Run(fmt.Sprintf("%s/%d", profile, n), func(b *testing.B) {
				d := delta(profile, n, 7)
				b.ReportAllocs()
				var plan *model.Plan
				for b.Loop() {
					plan = pack.Solve(model.Compile(d), options)
				}
				b.ReportMetric(plan.Price/plan.Floor, "price/floor")
				b.ReportMetric(float64(len(plan.Nodes)), "nodes")
				b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "pods/s")
			})
		}
	}
}

// Every plan of the benchmarks is one that verify accepts, places every pod, and is no cheaper than its floor.
func TestPlansHold(t *testing.T) {
	for _, profile := range workload.Profiles {
		for seed := range uint64(5) {
			s := model.Compile(delta(profile, 400, seed))
			plan := pack.Solve(s, options)
			if v := verify.Plan(s, plan); len(v) > 0 {
				t.Errorf("%s seed %d: %v", profile, seed, v)
			}
			if len(plan.Refusals) > 0 {
				t.Errorf("%s seed %d: %d refusals", profile, seed, len(plan.Refusals))
			}
			if plan.Price < plan.Floor {
				t.Errorf("%s seed %d: price %v is below the floor %v", profile, seed, plan.Price, plan.Floor)
			}
			t.Logf("%s seed %d: %.3f over floor %.3f (%.4fx), %d nodes", profile, seed, plan.Price, plan.Floor,
				plan.Price/plan.Floor, len(plan.Nodes))
		}
	}
}
