package commitment_test

import (
	"math"
	"testing"

	"github.com/karpenter-go/karpenter/engine/commitment"
)

// fleet has two classes: nodes that use one and two units of one plan of three units, and save 0.1 and 0.4 dollars per hour.
func fleet(nodes ...commitment.Node) *commitment.Coverage {
	plan := &commitment.Commitment{ID: "plan", Units: 3}
	classes := []commitment.Class{
		{Name: "small a", Price: 0.1, Saves: 0.1, Covers: []commitment.Cover{{Commitment: plan, Use: 1}}},
		{Name: "large a", Price: 0.5, Saves: 0.4, Covers: []commitment.Cover{{Commitment: plan, Use: 2}}},
	}
	return commitment.CoverNodes([]*commitment.Commitment{plan}, classes, nodes)
}

func equal(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-9 {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

// A unit saves more on large nodes, so they are covered first. The second large node is covered by half, and small ones are not.
func TestUnitsGoWhereTheySaveMost(t *testing.T) {
	c := fleet(
		commitment.Node{Name: "small", Class: 0}, commitment.Node{Name: "first", Class: 1}, commitment.Node{Name: "second", Class: 1})
	equal(t, "saving on the first large node", c.Saves("first"), 0.4)
	equal(t, "saving on the second large node", c.Saves("second"), 0.2)
	equal(t, "saving on the small node", c.Saves("small"), 0)
	equal(t, "units left", float64(c.Left("plan")), 0)
	// All three nodes cost 1.1 - 0.6 = 0.5. Without the first, its units cover the second wholly and the small one: 0.6 - 0.5 = 0.1.
	equal(t, "fall of the bill without the first large node", c.Released("first"), 0.5-0.1)
	equal(t, "fall of the bill without the small node", c.Released("small"), 0.1)
	equal(t, "rise of the bill by a node that no commitment covers", c.Added(commitment.Class{Name: "other", Price: 0.7}), 0.7)
	if u := c.Usage(); len(u) != 1 || u[0].Used != 3 || u[0].Eligible != 3 || u[0].Covered != 1.5 {
		t.Errorf("usage is %+v", u)
	}
}

// A node that is being deleted gets only what the others leave, and its units are not counted as left to new nodes twice.
func TestEndingNodesGetTheRest(t *testing.T) {
	c := fleet(commitment.Node{Name: "ending", Class: 1, Ending: true}, commitment.Node{Name: "stays", Class: 1})
	equal(t, "saving on the node that stays", c.Saves("stays"), 0.4)
	equal(t, "saving on the node that ends", c.Saves("ending"), 0.2)
	equal(t, "units left to new nodes", float64(c.Left("plan")), 1)
	equal(t, "units in use", float64(c.Usage()[0].Used), 3)
	if c.Has("ending") || !c.Has("stays") {
		t.Error("Released must be given nodes that stay only")
	}
}
