package disrupt

import (
	"testing"

	"github.com/karpenter-go/karpenter/bench/workload"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
)

// BenchmarkWhatIf measures the what-if of the removal of one node of a fleet.
func BenchmarkWhatIf(b *testing.B) {
	cat, err := workload.Catalogue("noburst")
	if err != nil {
		b.Fatal(err)
	}
	cl, err := workload.Fleet{Nodes: 2000, Pools: 5, Keep: 1, Seed: 7}.Cluster(cat)
	if err != nil {
		b.Fatal(err)
	}
	d, err := cl.Delta()
	if err != nil {
		b.Fatal(err)
	}
	s := model.Compile(d)
	nodes := s.Nodes()
	i := 0
	for b.Loop() {
		i++
		pack.Solve(s.Without(nodes[i%len(nodes)]), options().Pack)
	}
}
