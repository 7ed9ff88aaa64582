package model

import (
	"cmp"
	"slices"
	"strings"

	"github.com/karpenter-go/karpenter/engine/commitment"
)

// coveredShare is the share of a commitment's saving that CoveredBy leaves in the price of an offering. It is nearly zero, because
// the commitment is paid for in any case. It is not zero, so that smaller instances are preferred to larger ones.
const coveredShare = 1e-7

// CoveredBy returns o for a node that c covers wholly: at the CoveredPrice plus coveredShare of the saving. If an overlay
// sets a price below the CoveredPrice, the price stays.
func (o Offering) CoveredBy(c *commitment.Commitment) Offering {
	saves := o.saves()
	o.Price, o.Commitment = o.Price-saves+saves*coveredShare, c.ID
	return o
}

// saves returns by how much a commitment that covers a node wholly reduces its price, in dollars per hour.
func (o *Offering) saves() float64 { return max(0, o.Price-o.CoveredPrice) }

// UseOf returns the units that a node of the offering uses of the commitment with the ID, 0 if it does not cover the node.
func (o Offering) UseOf(id string) int64 { return commitment.UseOf(o.Covers, id) }

// Class returns the commitment class of a node of the offering. name orders classes of equal savings.
func (o *Offering) Class(name string) commitment.Class {
	return commitment.Class{Name: name, Price: o.Price, Saves: o.saves(), Covers: o.Covers}
}

// Coverage returns how commitments cover the nodes of s, nil if no commitment covers an offering of any pool. Of the
// nodes of one offering the oldest are covered first. The result is computed at the first call.
func (s *Snapshot) Coverage() *commitment.Coverage {
	if s.derived.coverage == nil {
		return nil
	}
	return s.derived.coverage()
}

func newCoverage(s *Snapshot) *commitment.Coverage {
	commitments := commitmentsOf(s)
	if len(commitments) == 0 {
		return nil
	}
	number := map[*Offering]int{}
	var classes []commitment.Class
	var nodes []commitment.Node
	for _, n := range slices.SortedFunc(slices.Values(s.Nodes()), oldestFirst) {
		o, name := s.coverable(n)
		if o == nil {
			continue
		}
		k, known := number[o]
		if !known {
			k = len(classes)
			number[o] = k
			classes = append(classes, o.Class(name))
		}
		nodes = append(nodes, commitment.Node{Name: n.Name, Class: k, Ending: n.Deleting})
	}
	return commitment.CoverNodes(commitments, classes, nodes)
}

func oldestFirst(a, b *Node) int {
	return cmp.Or(a.created().Compare(b.created()), strings.Compare(a.Name, b.Name))
}

// coverable returns the offering of the node if a commitment can cover it, else nil. name is its instance type and zone.
// A claim that is not launched and has no instance type label counts as its cheapest offering (see wished).
func (s *Snapshot) coverable(n *Node) (o *Offering, name string) {
	if types, _ := s.types.Get(n.Pool); len(types.commitments) == 0 {
		return nil, ""
	}
	t := s.typeOf(n)
	switch {
	case t != nil:
		o = t.OfferingOf(n)
	case !n.Launched():
		t, o = wished(s, n)
	}
	if o == nil || len(o.Covers) == 0 {
		return nil, ""
	}
	return o, t.Name + " " + o.Zone
}

// commitmentsOf returns the commitments of s in the order in which they apply.
func commitmentsOf(s *Snapshot) (out []*commitment.Commitment) {
	seen := map[string]bool{}
	for _, types := range s.types.Values() {
		for _, x := range types.commitments {
			if !seen[x.ID] {
				seen[x.ID] = true
				out = append(out, x)
			}
		}
	}
	commitment.Sort(out)
	return out
}

// BillAdded returns by how much the bill rises, in dollars per hour, if one node of each of the offerings is added. c must
// not be nil.
func BillAdded(c *commitment.Coverage, offerings ...*Offering) float64 {
	var classes []commitment.Class
	for _, o := range offerings {
		classes = append(classes, o.Class(o.Zone))
	}
	return c.Added(classes...)
}

// CoveredNext reports whether the units that c leaves cover one more node of some offering of t. It is false if c is nil.
func (t *InstanceType) CoveredNext(c *commitment.Coverage) bool {
	for i := range t.Offerings {
		for _, x := range t.Offerings[i].Covers {
			if c != nil && x.Use <= c.Left(x.Commitment.ID) {
				return true
			}
		}
	}
	return false
}

// covering returns the commitments that cover some offering of the types, each once.
func covering(types []*InstanceType) (out []*commitment.Commitment) {
	for _, t := range types {
		for i := range t.Offerings {
			for _, c := range t.Offerings[i].Covers {
				if !slices.Contains(out, c.Commitment) {
					out = append(out, c.Commitment)
				}
			}
		}
	}
	return out
}

// wished returns the cheapest launchable offering that the claim of the node allows, among the types of its pool, with its
// type. Both are nil if there is none. The claim is not launched.
func wished(s *Snapshot, n *Node) (best *InstanceType, o *Offering) {
	wishes := Wishes(s, n)
	for _, t := range s.Types(n.Pool) {
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
