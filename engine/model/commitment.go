package model

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
)

// A Commitment is capacity that is paid for whether nodes use it or not, such as reserved instances or a Savings Plan.
// It is measured in units. A node that it covers costs nothing more than Offering.CoveredPrice. Once no units are left, a
// node costs Offering.Price.
type Commitment struct {
	// ID is its name for users. Commitments with equal IDs are one commitment.
	ID string
	// Order is its place among the commitments. Commitments apply in rising Order, then by ID.
	Order int
	// Units is how many units nodes can use at once, from 0 to MaxUnits.
	Units int64
	// Deducted says that the units of existing nodes are already subtracted from Units. Nodes then use none.
	Deducted bool
}

// MaxUnits is the largest number of units of a Commitment, and the largest Cover.Use.
const MaxUnits = 1e12

// A Cover says that a commitment covers the nodes of an offering. A node uses Use units, 1 to MaxUnits.
type Cover struct {
	Commitment *Commitment
	Use        int64
}

// coveredShare is the price of a covered offering as a share of what the commitment saves. It is nearly zero, because the commitment
// is paid for in any case. It is not zero, so that smaller instances are preferred to larger ones.
const coveredShare = 1e-7

// CoveredBy returns o at the price of a node that the commitment covers wholly.
func (o Offering) CoveredBy(c *Commitment) Offering {
	saves := o.saves()
	o.Price, o.Commitment = o.Price-saves+saves*coveredShare, c.ID
	return o
}

// saves returns by how much a commitment that covers a node wholly reduces its price, in dollars per hour.
func (o *Offering) saves() float64 { return max(0, o.Price-o.CoveredPrice) }

// UseOf returns the units that a node of the offering uses of the commitment with the ID, 0 if it does not cover the node.
func (o Offering) UseOf(id string) int64 {
	for _, c := range o.Covers {
		if c.Commitment.ID == id {
			return c.Use
		}
	}
	return 0
}

// whole is one node in millionths.
const whole = 1_000_000

// A Coverage is how commitments cover the nodes of a snapshot. The commitments apply in their order. Each covers those
// nodes first on which one unit saves most, then in the order of types, then the oldest. The last node may be covered in
// part. Nodes that are being deleted get what the others leave, because they end soon. A nil Coverage has no commitments.
type Coverage struct {
	commitments []*Commitment
	classes     []class
	counts      []int64        // by class, the number of nodes
	classOf     map[string]int // by node name
	covers      [][]coverOf    // by commitment, the classes that it can cover, in the order in which it does
	filled      filled
	rank        map[string]int64 // by node name, how many nodes of its class are covered before it
	// ending is by how much commitments reduce the prices of nodes that are being deleted, by name, in dollars per hour, and
	// endingUse how many units these nodes use, by commitment.
	ending    map[string]float64
	endingUse []int64
}

// A class is the nodes of one offering. Their prices and covers are equal.
type class struct {
	offering *Offering
	name     string // instance type, zone
}

// A coverOf is a class that a commitment can cover, with the units that one node uses.
type coverOf struct {
	class int
	use   int64
}

// A filled is what the commitments cover for some numbers of nodes.
type filled struct {
	covered []int64   // by class, in millionths of a node
	left    []int64   // by commitment, in units
	nodes   []int64   // by commitment, what it covers in millionths of a node
	saved   []float64 // by commitment, in dollars per hour
	bill    float64   // what all nodes cost, in dollars per hour
}

// CommitmentUsage is how much of a commitment nodes use.
type CommitmentUsage struct {
	ID string
	// Units can be used at once, and Used are in use, those of nodes that are being deleted included.
	Units, Used int64
	// Eligible is how many nodes it could cover, Covered how many it covers, with parts of nodes. Nodes that are being deleted
	// do not count.
	Eligible, Covered float64
	// Saved is what the nodes would cost more without it, in dollars per hour.
	Saved float64
}

// Coverage returns how commitments cover the nodes of s, nil if there are no commitments. It is computed once.
func (s *Snapshot) Coverage() *Coverage {
	if s.derived.coverage == nil {
		return nil
	}
	return s.derived.coverage.of(s)
}

// A lazyCoverage computes the Coverage of a snapshot when it is first needed.
type lazyCoverage struct {
	once  sync.Once
	value *Coverage
}

func (l *lazyCoverage) of(s *Snapshot) *Coverage {
	l.once.Do(func() { l.value = newCoverage(s) })
	return l.value
}

func newCoverage(s *Snapshot) *Coverage {
	c := &Coverage{classOf: map[string]int{}, rank: map[string]int64{}, ending: map[string]float64{}}
	number := map[*Offering]int{}
	byClass, ending := [][]*Node{}, []*Node{}
	for _, n := range s.Nodes() {
		o, name := s.coverable(n)
		if o == nil {
			continue
		}
		if n.Deleting {
			ending = append(ending, n)
			continue
		}
		k, known := number[o]
		if !known {
			k = len(c.classes)
			number[o] = k
			c.classes, byClass = append(c.classes, class{o, name}), append(byClass, nil)
		}
		c.classOf[n.Name] = k
		byClass[k] = append(byClass[k], n)
	}
	c.counts = make([]int64, len(c.classes))
	for k, nodes := range byClass {
		c.counts[k] = int64(len(nodes))
		slices.SortFunc(nodes, oldestFirst)
		for i, n := range nodes {
			c.rank[n.Name] = int64(i)
		}
	}
	c.commitments = commitmentsOf(s)
	c.order()
	c.filled = c.fill(c.counts)
	c.end(s, ending)
	return c
}

// end covers the nodes that are being deleted with what the others leave.
func (c *Coverage) end(s *Snapshot, nodes []*Node) {
	slices.SortFunc(nodes, oldestFirst)
	left := slices.Clone(c.filled.left)
	for _, n := range nodes {
		o, _ := s.coverable(n)
		open := int64(whole)
		for i, x := range c.commitments {
			if use := o.UseOf(x.ID); use > 0 && !x.Deducted {
				part := min(open, mulDiv(left[i], whole, use))
				left[i] -= min(left[i], mulDivUp(part, use, whole))
				open -= part
			}
		}
		c.ending[n.Name] = o.saves() * float64(whole-open) / whole
	}
	for i := range left {
		c.endingUse = append(c.endingUse, c.filled.left[i]-left[i])
	}
}

func oldestFirst(a, b *Node) int {
	return cmp.Or(a.created().Compare(b.created()), strings.Compare(a.Name, b.Name))
}

// coverable returns the offering of the node if a commitment can cover it, else nil. name is its instance type and zone.
// A claim that is not launched counts as its cheapest offering.
func (s *Snapshot) coverable(n *Node) (o *Offering, name string) {
	index, ok := s.derived.committed.get(n.Pool)
	if !ok {
		return nil, ""
	}
	t := index.byName[n.Labels[corev1.LabelInstanceTypeStable]]
	switch {
	case t != nil:
		o = t.offeringOf(n)
	case !n.Launched():
		t, o = index.wished(n)
	}
	if o == nil || len(o.Covers) == 0 {
		return nil, ""
	}
	return o, t.Name + " " + o.Zone
}

// commitmentsOf returns the commitments of s in the order in which they apply.
func commitmentsOf(s *Snapshot) (out []*Commitment) {
	seen := map[string]bool{}
	for _, index := range s.derived.committed.values() {
		for _, x := range index.commitments {
			if !seen[x.ID] {
				seen[x.ID] = true
				out = append(out, x)
			}
		}
	}
	slices.SortFunc(out, func(a, b *Commitment) int {
		return cmp.Or(cmp.Compare(a.Order, b.Order), strings.Compare(a.ID, b.ID))
	})
	return out
}

// order sets, for each commitment, the order of the classes that it can cover.
func (c *Coverage) order() {
	c.covers = nil
	for _, x := range c.commitments {
		var list []coverOf
		for k := range c.classes {
			if use := c.classes[k].offering.UseOf(x.ID); use > 0 && !x.Deducted {
				list = append(list, coverOf{k, use})
			}
		}
		slices.SortStableFunc(list, func(a, b coverOf) int {
			p, q := c.classes[a.class], c.classes[b.class]
			return cmp.Or(cmp.Compare(q.offering.saves()/float64(b.use), p.offering.saves()/float64(a.use)), strings.Compare(p.name, q.name))
		})
		c.covers = append(c.covers, list)
	}
}

// fill returns what the commitments cover if there are counts[k] nodes of each class k.
func (c *Coverage) fill(counts []int64) filled {
	n := len(c.commitments)
	f := filled{covered: make([]int64, len(counts)), left: make([]int64, n), nodes: make([]int64, n), saved: make([]float64, n)}
	for i, x := range c.commitments {
		left := min(max(x.Units, 0), MaxUnits)
		for _, on := range c.covers[i] {
			open := counts[on.class]*whole - f.covered[on.class]
			used := mulDivUp(open, on.use, whole)
			if used > left {
				open, used = mulDiv(left, whole, on.use), left
			}
			left -= used
			f.covered[on.class] += open
			f.nodes[i] += open
			f.saved[i] += c.classes[on.class].offering.saves() * float64(open) / whole
		}
		f.left[i] = left
	}
	for k, count := range counts {
		o := c.classes[k].offering
		f.bill += o.Price*float64(count) - float64(o.saves()*float64(f.covered[k])/whole)
	}
	return f
}

// mulDiv returns a*b/c rounded down, and mulDivUp rounded up. The result must fit into an int64. No amount is negative.
func mulDiv(a, b, c int64) int64 {
	high, low := bits.Mul64(uint64(a), uint64(b))
	if high >= uint64(c) {
		return 1<<63 - 1
	}
	q, _ := bits.Div64(high, low, uint64(c))
	return int64(min(q, 1<<63-1))
}

func mulDivUp(a, b, c int64) int64 {
	high, low := bits.Mul64(uint64(a), uint64(b))
	low, carry := bits.Add64(low, uint64(c-1), 0)
	if high += carry; high >= uint64(c) {
		return 1<<63 - 1
	}
	q, _ := bits.Div64(high, low, uint64(c))
	return int64(min(q, 1<<63-1))
}

// Left returns how many units of the commitment with the ID are left by the nodes that are not being deleted.
func (c *Coverage) Left(id string) int64 {
	if c != nil {
		for i, x := range c.commitments {
			if x.ID == id {
				return c.filled.left[i]
			}
		}
	}
	return 0
}

// Open reports whether the units that are left cover one more node of some offering of the type.
func (c *Coverage) Open(t *InstanceType) bool {
	if c == nil {
		return false
	}
	for i := range t.Offerings {
		for _, x := range t.Offerings[i].Covers {
			if x.Use <= c.Left(x.Commitment.ID) {
				return true
			}
		}
	}
	return false
}

// Has reports whether a commitment could cover the node with the name.
func (c *Coverage) Has(node string) bool {
	if c == nil {
		return false
	}
	_, ok := c.classOf[node]
	return ok
}

// Class returns a number that is equal for nodes of one offering. Ending one of them has the same effect on the bill as ending
// another. A commitment can cover the node.
func (c *Coverage) Class(node string) int { return c.classOf[node] }

// saves returns by how much commitments reduce the price of the node, in dollars per hour.
func (c *Coverage) saves(node string) float64 {
	k, ok := c.classOf[node]
	if !ok {
		return c.ending[node]
	}
	covered := min(max(c.filled.covered[k]-c.rank[node]*whole, 0), whole)
	return c.classes[k].offering.saves() * float64(covered) / whole
}

// Released returns by how much the bill falls, in dollars per hour, if the nodes end. Nodes that no commitment could cover
// must be left out. It is less than the sum of the nodes' list prices if they leave units that no other node uses.
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
	return max(0, c.filled.bill-c.fill(counts).bill)
}

// IDs returns the commitments in the order in which they apply.
func (c *Coverage) IDs() []string {
	if c == nil {
		return nil
	}
	ids := make([]string, len(c.commitments))
	for i, x := range c.commitments {
		ids[i] = x.ID
	}
	return ids
}

// Added returns by how much the bill rises, in dollars per hour, if one node of each of the offerings is added.
func (c *Coverage) Added(offerings ...Offering) float64 {
	more := Coverage{commitments: c.commitments, classes: slices.Clone(c.classes)}
	counts := slices.Clone(c.counts)
	for i := range offerings {
		more.classes, counts = append(more.classes, class{&offerings[i], offerings[i].Zone}), append(counts, 1)
	}
	more.order()
	return more.fill(counts).bill - c.filled.bill
}

// Usage returns how nodes use the commitments, in the order in which they apply.
func (c *Coverage) Usage() []CommitmentUsage {
	if c == nil {
		return nil
	}
	out := make([]CommitmentUsage, len(c.commitments))
	for i, x := range c.commitments {
		u := CommitmentUsage{ID: x.ID, Units: x.Units, Used: x.Units - c.filled.left[i] + c.endingUse[i], Saved: c.filled.saved[i]}
		u.Covered = float64(c.filled.nodes[i]) / whole
		for _, on := range c.covers[i] {
			u.Eligible += float64(c.counts[on.class])
		}
		out[i] = u
	}
	return out
}

// A typeIndex has the instance types of a pool of which commitments cover some offering.
type typeIndex struct {
	byName      map[string]*InstanceType
	types       []*InstanceType
	commitments []*Commitment // each once
}

// indexCovered returns the index of the types, nil if no commitment covers any of their offerings.
func indexCovered(types []*InstanceType) *typeIndex {
	var x *typeIndex
	seen := map[*Commitment]bool{}
	for _, t := range types {
		for i := range t.Offerings {
			for _, c := range t.Offerings[i].Covers {
				if x == nil {
					x = &typeIndex{byName: make(map[string]*InstanceType, len(types)), types: types}
				}
				if !seen[c.Commitment] {
					seen[c.Commitment] = true
					x.commitments = append(x.commitments, c.Commitment)
				}
			}
		}
	}
	if x != nil {
		for _, t := range types {
			x.byName[t.Name] = t
		}
	}
	return x
}

// wished returns the cheapest type and offering that the claim of the node, which is not launched, allows.
func (x *typeIndex) wished(n *Node) (best *InstanceType, o *Offering) {
	wishes := n.Wishes()
	for _, t := range x.types {
		if _, ok := t.Requirements.Intersects(wishes); !ok {
			continue
		}
		for i := range t.Offerings {
			p := &t.Offerings[i]
			if _, ok := wishes.Intersects(p.Requirements); ok && p.Launchable() && (o == nil || p.Compare(*o) < 0) {
				best, o = t, p
			}
		}
	}
	return best, o
}
