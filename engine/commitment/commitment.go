// Package commitment computes how capacity that is paid for in advance, such as reserved instances or a Savings Plan, covers nodes.
//
// Its input is commitments, classes of nodes with equal prices and covers, and the nodes of each class. CoverNodes returns a
// Coverage. It says what a node costs beyond commitments, by how much the bill falls if nodes end or rises if nodes are added, and
// how many units are left. Package model makes the input from a snapshot.
package commitment

import (
	"cmp"
	"slices"
	"strings"
)

// A Commitment is capacity that is paid for whether nodes use it or not, such as reserved instances or a Savings Plan. It is
// measured in units. A node that it covers costs only model.Offering.CoveredPrice. A node for which no units are left costs
// model.Offering.Price.
type Commitment struct {
	// ID is its name for users. Commitments with equal IDs are one commitment.
	ID string
	// Order is its place among the commitments. Commitments apply in rising Order, then by ID.
	Order int
	// Units is how many units nodes can use at the same time, from 0 to MaxUnits.
	Units int64
	// Deducted says that Units is what the existing nodes leave over. CoverNodes then lets the commitment cover none of its
	// nodes, so Coverage.Left is Units. Planned nodes can use these units.
	Deducted bool
}

// MaxUnits is the largest number of units of a Commitment, and the largest Cover.Use.
const MaxUnits = 1e12

// A Cover says that a commitment covers the nodes of an offering. A node uses Use units, 1 to MaxUnits.
type Cover struct {
	Commitment *Commitment
	Use        int64
}

// UseOf returns the units that a node with the covers uses of the commitment with the ID, 0 if it does not cover the node.
func UseOf(covers []Cover, id string) int64 {
	for _, c := range covers {
		if c.Commitment.ID == id {
			return c.Use
		}
	}
	return 0
}

// Sort sorts commitments in the order in which they apply.
func Sort(list []*Commitment) {
	slices.SortFunc(list, func(a, b *Commitment) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), strings.Compare(a.ID, b.ID))
	})
}

// whole is one node in millionths.
const whole = 1_000_000

// A Class is the nodes of one offering. Their prices and covers are equal.
type Class struct {
	// Name orders classes of equal savings: instance type and zone.
	Name string
	// Price is the price of a node without commitments. Saves is by how much a commitment that covers the node wholly
	// reduces it. Both are in dollars per hour.
	Price, Saves float64
	Covers       []Cover
}

// A table has commitments and the classes that they can cover. Each commitment covers those nodes first on which one unit saves
// most, then in the order of class names. The last node may be covered in part.
type table struct {
	commitments []*Commitment // in the order in which they apply
	units       []int64       // by commitment, how many nodes can use
	classes     []Class
	order       [][]place // by commitment, the classes that it can cover, in the order in which it does
}

// A place is a class that a commitment can cover, with the units that one node uses.
type place struct {
	class int
	use   int64
}

// filled is what the commitments cover for some numbers of nodes.
type filled struct {
	covered []int64   // by class, in millionths of a node
	left    []int64   // by commitment, in units
	nodes   []int64   // by commitment, what it covers in millionths of a node
	saved   []float64 // by commitment, in dollars per hour
	bill    float64   // what all nodes cost, in dollars per hour
}

// newTable returns the table of the commitments, which are sorted, and the classes.
func newTable(commitments []*Commitment, classes []Class) *table {
	t := &table{commitments: commitments, classes: classes}
	for _, x := range commitments {
		var list []place
		for k := range classes {
			if use := UseOf(classes[k].Covers, x.ID); use > 0 && !x.Deducted {
				list = append(list, place{k, use})
			}
		}
		slices.SortStableFunc(list, func(a, b place) int {
			p, q := classes[a.class], classes[b.class]
			return cmp.Or(cmp.Compare(q.Saves/float64(b.use), p.Saves/float64(a.use)), strings.Compare(p.Name, q.Name))
		})
		t.order, t.units = append(t.order, list), append(t.units, min(max(x.Units, 0), MaxUnits))
	}
	return t
}

// fill returns what units of the commitments cover if there are counts[k] nodes of each class k.
func (t *table) fill(counts, units []int64) filled {
	n := len(t.commitments)
	f := filled{covered: make([]int64, len(counts)), left: make([]int64, n), nodes: make([]int64, n), saved: make([]float64, n)}
	for i, left := range units {
		for _, on := range t.order[i] {
			part, used := partOf(counts[on.class]*whole-f.covered[on.class], on.use, left)
			left -= used
			f.covered[on.class] += part
			f.nodes[i] += part
			f.saved[i] += t.classes[on.class].Saves * float64(part) / whole
		}
		f.left[i] = left
	}
	for k, count := range counts {
		c := &t.classes[k]
		f.bill += c.Price*float64(count) - float64(c.Saves*float64(f.covered[k])/whole)
	}
	return f
}

// partOf covers nodes of one class with the units that a commitment has left. The parameter open is how much of the
// nodes is not covered yet, in millionths of a node. The parameter use is the number of units per node. The parameter
// left is the number of units that remain. partOf returns how much it covers, in millionths of a node, and how many
// units that takes.
func partOf(open, use, left int64) (part, used int64) {
	most := left * whole / use // left is at most MaxUnits, so no product overflows
	if open <= most {
		return open, (open*use + whole - 1) / whole
	}
	return most, left
}
