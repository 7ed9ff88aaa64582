package disrupt

import (
	"math/rand/v2"
	"testing"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/bench/floor"
	"github.com/karpenter-go/karpenter/bench/ours"
	"github.com/karpenter-go/karpenter/bench/workload"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/internal/catalogue"
)

// mostCPU is the size of the largest node, in millicores.
const mostCPU = 16_000

// scaledIn returns a fleet for 4,000 pods of which about a quarter are left, and the lower bound of the price for these.
func scaledIn(t *testing.T, seed uint64) (f *Fleet, lowest float64) {
	t.Helper()
	all, err := workload.Catalogue("noburst")
	if err != nil {
		t.Fatal(err)
	}
	var types []catalogue.Type
	for _, x := range all {
		room, err := x.Resources()
		if err != nil {
			t.Fatal(err)
		}
		if room[corev1.ResourceCPU] <= mostCPU {
			types = append(types, x)
		}
	}
	instanceTypes, err := catalogue.InstanceTypes(types)
	if err != nil {
		t.Fatal(err)
	}
	pool := workload.Pool("default")
	pool.Spec.Disruption = apiv1.Disruption{
		ConsolidateAfter: apiv1.MustParseNillableDuration("0s"), Budgets: []apiv1.Budget{{Nodes: "100%"}},
	}
	s := model.Compile(model.Delta{
		Pods: workload.Pods(workload.Micro, 4000, seed), Pools: []*apiv1.NodePool{pool},
		Types: map[string][]*model.InstanceType{pool.Name: instanceTypes},
	})
	f = &Fleet{Snapshot: s}
	f.Snapshot = f.Apply(f.land(pack.SolveChecked(s, pack.Options{Labels: ours.Labels}).Plan.Nodes))
	var change model.Delta
	var left []*corev1.Pod
	r := rand.New(rand.NewPCG(seed, 3))
	for _, p := range f.Pods.Values() {
		if r.IntN(4) > 0 {
			change.Gone = append(change.Gone, model.Ref{Kind: model.KindPod, Key: p.Key})
			continue
		}
		left = append(left, p.Unbound().Object)
	}
	f.Snapshot = f.Apply(change)
	lowest, err = floor.Price(&workload.Cluster{Catalogue: types, Pods: left}, "on-demand")
	if err != nil {
		t.Fatal(err)
	}
	return f, lowest
}

// After a scale-in, one decision brings the fleet within 1.5% of the lower bound, so each pod moves once at most.
func TestOneDecisionAfterScaleIn(t *testing.T) {
	for seed := range uint64(3) {
		f, lowest := scaledIn(t, 501+seed)
		before := f.Price() / lowest
		d := disrupt.Decide(f.Snapshot, disrupt.Options{Pack: pack.Options{Labels: ours.Labels}, Simulate: true}, disrupt.Cursor{})
		f.CarryOut(d)
		if after := f.Price() / lowest; before < 3 || after > 1.015 {
			t.Errorf("seed %d: %.3f of the lower bound after the decision, %.3f before", seed, after, before)
		}
	}
}
