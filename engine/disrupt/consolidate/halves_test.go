package consolidate

import (
	"testing"

	"github.com/karpenter-go/karpenter/engine/disrupt/problem"
)

// No command removes a node that an earlier command of the same decision removes or moves pods to. Sets are halved, so
// several commands come from one set.
func TestHalvesAreDisjoint(t *testing.T) {
	for seed := range uint64(60) {
		s, err := tight(seed, 12).Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		st := problem.Compile(s, problem.Options{})
		used := map[string]bool{}
		for _, cmd := range newSearch(st, st.Problem.Candidates, extending, Cursor{}).run().st.Commands {
			for _, n := range cmd.Nodes {
				if used[n.Name] {
					t.Errorf("seed %d: %s is removed by %s, after another command has used it", seed, n.Name, cmd)
				}
				used[n.Name] = true
			}
			for _, pl := range cmd.Placements {
				used[pl.Node.Name] = true
			}
		}
	}
}
