package consolidate

import (
	"testing"

	"github.com/karpenter-go/karpenter/engine/scenario"
)

// Sets are wide only while nodes leave more than a tenth of a commitment.
func TestFirstStrategy(t *testing.T) {
	for _, tt := range []struct {
		units int64 // of a commitment of which the nodes use nine units
		want  strategy
	}{{0, plain}, {9, plain}, {10, plain}, {11, wide}} {
		c := tight(1, 9)
		c.Commitments = nil
		if tt.units > 0 {
			use := map[string]int64{}
			for _, x := range c.Types {
				use[x.Name] = 1
			}
			c.Commitments = []scenario.Commitment{{Name: "ri", Units: tt.units, Use: use}}
		}
		s, err := c.Snapshot()
		if err != nil {
			t.Fatal(err)
		}
		if got := firstStrategy(s); got != tt.want {
			t.Errorf("%d units: %+v, want %+v", tt.units, got, tt.want)
		}
	}
}
