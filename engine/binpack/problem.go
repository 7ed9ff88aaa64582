package binpack

import "github.com/karpenter-go/karpenter/engine/binpack/typeset"

// A Problem is the input of Solve: the items to pack and the bin types to pack them into. Solve does not modify it.
//
// Amounts (demands, capacities, charges, budgets) are integers from 0 to MaxAmount. The caller chooses them so that sums
// over one bin do not overflow. Capacities and budgets can also be negative. A negative capacity means 0. With a negative
// budget, no bin of the catalog can be opened.
type Problem struct {
	// Dimensions is the length of every demand and capacity vector.
	Dimensions int
	// Units[d] is a divisor of the amounts in dimension d, for floating-point work. It makes typical amounts near one
	// (cores, GiB, tens of pods), to keep rounding errors small. Nil means that all divisors are one.
	Units []float64
	Items []Item
	// Catalogs are the catalogs of bin types. Each bin belongs to one catalog.
	Catalogs []Catalog
	// Groups is the number of conflict groups. A bin has a counter per group. Item.Counts add to it, Item.Bounds limit it.
	Groups int
	// Supplies[i] is how many units all bins of the types with BinType.Supply i may use. A bin uses BinType.Draw units.
	Supplies []int
	// Fee is added to the price of each bin, in dollars per hour.
	Fee float64
}

// MaxAmount is the largest amount that a Problem may contain.
const MaxAmount = 1 << 61

// An Item is a number of identical copies to pack.
type Item struct {
	// Name is unique. The order of names breaks ties between items of equal priority.
	Name string
	// Demand[d] is the demand of one copy in dimension d.
	Demand []int64
	Copies int
	Uses   []Use   // Uses[c] are the offers and types of Catalogs[c] that the item may use
	Counts []Count // what each copy adds to the counters of conflict groups; rising by group
	Bounds []Bound // limits on the counters of a bin that holds the item; rising by group
	// Priority matters if budgets and supplies do not suffice for all items. Items of higher priority are then packed first.
	Priority int32
}

// A Use is what an item may use in one catalog: an offer set and bin types.
type Use struct {
	Offers OfferSet    // NoOffers: the item must not use the catalog
	Types  typeset.Set // the bin types that may hold a copy; each has capacity for one and an offer in Offers
}

// An OfferSet identifies a set of offers of one catalog. Catalog.Offers gives its prices and intersections.
type OfferSet int32

// NoOffers is the empty set of offers.
const NoOffers OfferSet = -1

// A Count adds N, at least 1, to the counter of a conflict group in a bin, for each copy of the item in the bin.
type Count struct{ Group, N int }

// A Bound limits the counter of a conflict group to Max in each bin that holds the item. The item's own copies are
// included if its Counts name the group. For example, anti-affinity of pods to each other is a Count of 1 and a Max of
// 1. A soft bound is checked only when a copy of the item is added, not when other items are added later.
type Bound struct {
	Group, Max int
	Soft       bool
}

// A Catalog is a set of bin types with one budget.
type Catalog struct {
	Types []BinType // in rising order of Name
	// Budget[b] is the largest sum of Bin.Charge[b] over all bins of the catalog. An empty Budget means no limit.
	Budget []int64
	Offers Offers
	// Index finds bin types of this catalog, see NewIndex. If it is nil, Solve creates one. A caller with an index of the
	// same catalog may pass it, to share its cache.
	Index *Index
}

// A BinType is a kind of bin. Any number of bins of the type may be opened, unless its supply or a budget limits it.
type BinType struct {
	Name     string
	Capacity []int64 // by dimension; a negative amount means 0
	Charge   []int64 // Charge[b] is what one bin uses of Catalog.Budget[b]
	Supply   int     // index in Problem.Supplies; -1: no supply limits the number of bins
	Draw     int     // how many units of the supply one bin uses; 0 means 1
	// Paid says that the supply is paid for. Some type without a supply should hold whatever this type holds, because dual
	// prices need an unpaid bin. The linear relaxation has a dual price for a unit of the supply: the price of the other
	// bins that the unit saves. If some catalog has a budget, the relaxation has no Paid types.
	Paid bool
}

// Offers gives the prices, intersections and conditions of a catalog's offer sets. Solve calls it from one goroutine.
type Offers interface {
	// Meet returns the intersection of both sets, and false if no type has an offer in it.
	Meet(a, b OfferSet) (OfferSet, bool)
	// Prices returns, for each bin type, the price of its cheapest offer in the set: more than zero, +Inf if it has none.
	Prices(s OfferSet) []float64
	// Distinct returns the conditions on the option types of a bin whose offer set is s, nil for none.
	Distinct(s OfferSet) []Distinct
}

// A Distinct is a condition on the option types of a bin: the bin types of the same supply that may hold its contents and
// have an offer in its offer set. All of them together must have at least Min distinct values of some property. In
// Kubernetes the property is a node label, and Min its minValues.
type Distinct struct {
	Min    int
	Values [][]int32 // Values[t] are the values that bin type t has
}

// Options are the parameters of Solve. The zero value is valid.
type Options struct {
	// Fast says that Solve omits steps 4, 5 and 7 of the package comment: it does not improve the bins that construction
	// opens.
	Fast bool
	// RelaxDistinct makes Solve ignore all Distinct conditions.
	RelaxDistinct bool
}

// A Solution is the result of Solve: the opened bins with their contents, and the copies that are in no bin.
type Solution struct {
	Bins []*Bin  // in order of opening; identical bins may share a pointer
	Left []int   // Left[i] is the number of copies of item i that are in no bin
	Cost float64 // the sum of all prices and fees, in dollars per hour
}

// A Bin is one opened bin, or several identical ones. Catalog is an index in Problem.Catalogs, Type one in
// Catalog.Types.
type Bin struct {
	Catalog, Type int
	Offers        OfferSet // the intersection of the offer sets of all its items
	Parts         []Part
	Price         float64 // of the cheapest offer of Type in Offers, in dollars per hour, without the fee
	// Charge[b] is what one such bin uses of Catalog.Budget[b]. It exceeds BinType.Charge if Distinct conditions require
	// further option types with larger charges.
	Charge []int64
}

// A Part is the copies of one item in one bin: the index of the item in Problem.Items, and the number of copies.
type Part struct{ Item, Copies int }
