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
	table   *table
	counts  []int64        // by class, the number of nodes
	classOf map[string]int // by node name
	filled  filled
	rank    map[string]int64 // by node name, how many nodes of its class are covered before it
	// ending is by how much commitments reduce the prices of nodes that are being deleted, by node name, in dollars per hour.
	// endingUse is how many units these nodes use, by index of the commitment.
	ending    map[string]float64
	endingUse []int64
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
	c := &Coverage{
		table: newTable(commitments, classes), counts: make([]int64, len(classes)), classOf: map[string]int{}, rank: map[string]int64{},
		ending: map[string]float64{},
	}
	for _, n := range nodes {
		if !n.Ending {
			c.classOf[n.Name], c.rank[n.Name] = n.Class, c.counts[n.Class]
			c.counts[n.Class]++
		}
	}
	c.filled = c.table.fill(c.counts)
	left := slices.Clone(c.filled.left)
	for _, n := range nodes {
		if n.Ending {
			c.end(n, left)
		}
	}
	for i := range left {
		c.endingUse = append(c.endingUse, c.filled.left[i]-left[i])
	}
	return c
}

// end covers a node that is being deleted with the units that are left, by commitment, and subtracts what it uses.
func (c *Coverage) end(n Node, left []int64) {
	class, open := &c.table.classes[n.Class], int64(whole)
	for i, x := range c.table.commitments {
		if use := UseOf(class.Covers, x.ID); use > 0 && !x.Deducted {
			part, used := partOf(open, use, left[i])
			left[i] -= used
			open -= part
		}
	}
	c.ending[n.Name] = class.Saves * float64(whole-open) / whole
}

// Left returns how many units of the commitment with the ID are left by the nodes that are not being deleted. It is 0 if
// there is no such commitment.
func (c *Coverage) Left(id string) int64 {
	if c != nil {
		for i, x := range c.table.commitments {
			if x.ID == id {
				return c.filled.left[i]
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
	_, ok := c.classOf[node]
	return ok
}

// Class returns a number that is equal for nodes of one offering. Ending one of them has the same effect on the bill as
// ending another. Has must be true for the node.
func (c *Coverage) Class(node string) int { return c.classOf[node] }

// Saves returns by how much commitments reduce the price of the node, in dollars per hour. It is 0 for a node that no
// commitment could cover. c must not be nil.
func (c *Coverage) Saves(node string) float64 {
	k, ok := c.classOf[node]
	if !ok {
		return c.ending[node]
	}
	covered := min(max(c.filled.covered[k]-c.rank[node]*whole, 0), whole)
	return c.table.classes[k].Saves * float64(covered) / whole
}

// Released returns by how much the bill falls, in dollars per hour, if the nodes end. Nodes that no commitment could cover
// are ignored, and so are nodes that are being deleted: the bill does not include them. The result is less than the sum of
// the nodes' prices without commitments if they leave units that no other node uses.
func (c *Coverage) Released(nodes ...string) float64 {
	if c == nil {
		return 0
	}
	counts := slices.Clone(c.counts)
	for _, name := range nodes {
		if k, ok := c.classOf[name]; ok {
			counts[k]--
		}
	}
	return max(0, c.filled.bill-c.table.fill(counts).bill)
}

// Added returns by how much the bill rises, in dollars per hour, if one node of each of the classes is added. c must not be
// nil.
func (c *Coverage) Added(added ...Class) float64 {
	classes, counts := slices.Concat(c.table.classes, added), slices.Clone(c.counts)
	for range added {
		counts = append(counts, 1)
	}
	return newTable(c.table.commitments, classes).fill(counts).bill - c.filled.bill
}

// Usage returns how nodes use the commitments, in the order in which they apply.
func (c *Coverage) Usage() []Usage {
	if c == nil {
		return nil
	}
	out := make([]Usage, len(c.table.commitments))
	for i, x := range c.table.commitments {
		out[i] = Usage{
			ID: x.ID, Units: x.Units, Used: x.Units - c.filled.left[i] + c.endingUse[i], Saved: c.filled.saved[i],
			Covered: float64(c.filled.nodes[i]) / whole,
		}
		for _, on := range c.table.order[i] {
			out[i].Eligible += float64(c.counts[on.class])
		}
	}
	return out
}
