package commitment

import "slices"

// A Node is a node that some commitment could cover. Class is the index of its class. An Ending node is being deleted.
type Node struct {
	Name   string
	Class  int
	Ending bool
}

// A Coverage is how commitments cover nodes. Nodes that are being deleted are covered last, because they end soon. A nil
// Coverage has no commitments.
type Coverage struct {
	table *table
	// alive are the nodes that are not being deleted. ending are the others, covered with the units that alive leaves.
	alive, ending group
}

// A group is nodes and what commitments cover of them.
type group struct {
	filled
	counts  []int64          // by class, the number of nodes
	classOf map[string]int   // by node name
	rank    map[string]int64 // by node name, how many nodes of its class are covered before it
}

// Usage is how much of a commitment nodes use.
type Usage struct {
	ID string
	// Units is how many units nodes can use at the same time. Used is how many they use, nodes that are being deleted
	// included.
	Units, Used int64
	// Eligible is how many nodes the commitment could cover. Covered is how many it covers; a node that is covered in part
	// adds a fraction. Nodes that are being deleted do not count.
	Eligible, Covered float64
	// Saved is by how much the commitment reduces the prices of the nodes that it covers, in dollars per hour.
	Saved float64
}

// CoverNodes returns how the commitments, which are sorted, cover the nodes of the classes. Of the nodes of one class those that
// come first in nodes are covered first.
func CoverNodes(commitments []*Commitment, classes []Class, nodes []Node) *Coverage {
	c := &Coverage{table: newTable(commitments, classes)}
	c.alive = c.table.cover(nodes, false, c.table.units)
	c.ending = c.table.cover(nodes, true, c.alive.left)
	return c
}

// cover returns the nodes that are being deleted, or the others, and what units of the commitments cover of them.
func (t *table) cover(nodes []Node, ending bool, units []int64) group {
	g := group{counts: make([]int64, len(t.classes)), classOf: map[string]int{}, rank: map[string]int64{}}
	for _, n := range nodes {
		if n.Ending == ending {
			g.classOf[n.Name], g.rank[n.Name] = n.Class, g.counts[n.Class]
			g.counts[n.Class]++
		}
	}
	g.filled = t.fill(g.counts, units)
	return g
}

// Left returns how many units of the commitment with the ID are left by the nodes that are not being deleted. It is 0 if
// there is no such commitment.
func (c *Coverage) Left(id string) int64 {
	if c != nil {
		for i, x := range c.table.commitments {
			if x.ID == id {
				return c.alive.left[i]
			}
		}
	}
	return 0
}

// Has reports whether a commitment could cover the node with the name, which is not being deleted.
func (c *Coverage) Has(node string) bool {
	if c == nil {
		return false
	}
	_, ok := c.alive.classOf[node]
	return ok
}

// Class returns a number that is equal for nodes of one offering. Ending one of them has the same effect on the bill as
// ending another. Has must be true for the node.
func (c *Coverage) Class(node string) int { return c.alive.classOf[node] }

// Saves returns by how much commitments reduce the price of the node, in dollars per hour. It is 0 for a node that no
// commitment could cover. c must not be nil.
func (c *Coverage) Saves(node string) float64 {
	g := &c.alive
	if !c.Has(node) {
		g = &c.ending
	}
	k, ok := g.classOf[node]
	if !ok {
		return 0
	}
	covered := min(max(g.covered[k]-g.rank[node]*whole, 0), whole)
	return c.table.classes[k].Saves * float64(covered) / whole
}

// Released returns by how much the bill falls, in dollars per hour, if the nodes end. Nodes that no commitment could cover
// are ignored, and so are nodes that are being deleted: the bill does not include them. The result is less than the sum of
// the nodes' prices without commitments if they leave units that no other node uses.
func (c *Coverage) Released(nodes ...string) float64 {
	if c == nil {
		return 0
	}
	counts := slices.Clone(c.alive.counts)
	for _, name := range nodes {
		if k, ok := c.alive.classOf[name]; ok {
			counts[k]--
		}
	}
	return max(0, c.alive.bill-c.table.fill(counts, c.table.units).bill)
}

// Added returns by how much the bill rises, in dollars per hour, if one node of each of the classes is added. c must not be
// nil.
func (c *Coverage) Added(added ...Class) float64 {
	classes, counts := slices.Concat(c.table.classes, added), slices.Clone(c.alive.counts)
	for range added {
		counts = append(counts, 1)
	}
	return newTable(c.table.commitments, classes).fill(counts, c.table.units).bill - c.alive.bill
}

// Usage returns how nodes use the commitments, in the order in which they apply.
func (c *Coverage) Usage() []Usage {
	if c == nil {
		return nil
	}
	out := make([]Usage, len(c.table.commitments))
	for i, x := range c.table.commitments {
		out[i] = Usage{
			ID: x.ID, Units: x.Units, Used: x.Units - c.ending.left[i], Saved: c.alive.saved[i],
			Covered: float64(c.alive.nodes[i]) / whole,
		}
		for _, on := range c.table.order[i] {
			out[i].Eligible += float64(c.alive.counts[on.class])
		}
	}
	return out
}
