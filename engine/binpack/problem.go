package binpack

import "github.com/karpenter-go/karpenter/engine/binpack/typeset"

// A Problem is the items to pack and the bin types to pack them into. Solve does not modify it.
//
// Amounts (demands, capacities, charges, budgets) lie between 0 and MaxAmount, so that sums over one bin never
// overflow. Only a budget may be negative. Bins with a charge to a negative budget cannot be opened.
type Problem struct {
	// Dimensions is the length of every demand and capacity vector.
	Dimensions int
	// Units is by dimension: the divisor that makes typical amounts near one (cores, GiB, tens of pods). It affects
	// only rounding. Nil means ones.
	Units []float64
	Items []Item
	// Catalogs are the catalogs of bin types. Each bin belongs to one catalog.
	Catalogs []Catalog
	// Shared are demands that several items may have in common. A bin provides each of them once.
	Shared []SharedDemand
	// Groups is the number of conflict groups. Counts and Bounds refer to them by index.
	Groups int
	// Supplies are the numbers of bins available of types with a bounded supply. All types with the same supply index
	// draw on it.
	Supplies []int
	// Fee is added to the price of each bin, in dollars per hour.
	Fee float64
}

// MaxAmount is the largest amount that a Problem may contain.
const MaxAmount = 1 << 61

// An Item is a number of identical copies to pack.
type Item struct {
	// Name is unique. Ties between items of equal priority are broken by the order of names.
	Name string
	// Demand is the demand of one copy by dimension, without the shared demands.
	Demand []int64
	Shared []int // indices into Problem.Shared, rising
	Copies int
	On     []Use   // by catalog
	Counts []Count // conflict groups that count each copy, and how often; rising by group
	Bounds []Bound // rising by group
	// Priority orders the items if budgets do not suffice for all. Items of higher priority are packed first.
	Priority int32
	// Restricted is set if some Use.Types omits types that have an offer in the set and capacity for a copy. Solve
	// then changes the type of a bin with the item only to types in its Use.Types.
	Restricted bool
}

// A Use is the offer set and the bin types that an item may use in one catalog.
type Use struct {
	Offers OfferSet    // NoOffers: the item must not use the catalog
	Types  typeset.Set // types that hold one copy by demand, offers and preloaded counts
}

// An OfferSet identifies a set of offers of one catalog. The catalog's Offers interprets it.
type OfferSet int32

// NoOffers is the empty set of offers.
const NoOffers OfferSet = -1

// A Count is a conflict group and a number. For an item, each copy counts N times in the group. For a bin type, each
// bin starts with N counted copies.
type Count struct{ Group, N int }

// A Bound limits a conflict group in each bin that holds the item. The bin holds at most Max counted copies of the
// group, including the item's own if the group counts them. A soft bound is checked only when the item is added, not
// for later items.
type Bound struct {
	Group, Max int
	Soft       bool
}

// A Catalog is a set of bin types with one budget.
type Catalog struct {
	Types []BinType // rising by Name, which breaks ties
	// Budget is the largest sum of charges of new bins, by budget dimension. Empty means no budget.
	Budget []int64
	Offers Offers
	// Index finds bin types of this catalog. If nil, Solve creates one. A caller that queries the same catalog may
	// share its own, see NewIndex.
	Index *Index
}

// A BinType is a kind of bin. Any number of bins of the type may be opened, unless its supply or a budget limits it.
type BinType struct {
	Name     string
	Capacity []int64 // by dimension; a negative amount counts as 0
	Charge   []int64 // the amount that one bin takes from the budget, by budget dimension
	Supply   int     // index into Problem.Supplies; -1: unbounded
	Includes []int   // shared demands already included in every bin of the type; rising
	Preload  []Count // counted copies in every new bin of the type; rising by group
}

// Offers computes with sets of offers of one catalog. Solve never calls its methods from two goroutines at a time.
type Offers interface {
	// Meet returns the intersection of both sets, and false if it contains no offer of any type.
	Meet(a, b OfferSet) (OfferSet, bool)
	// Prices returns the price of the cheapest offer of each type in the set, +Inf for a type without one.
	Prices(s OfferSet) []float64
	// Distinct returns the conditions on the option types of a bin with these offers, nil for none.
	Distinct(s OfferSet) []Distinct
}

// A Distinct is a condition on the option types of a bin. Option types are the bin types that hold the bin's contents
// and have an offer in its offer set. Together they must have at least Min distinct values.
type Distinct struct {
	Min    int
	Values [][]int32 // by type: its values
}

// A SharedDemand is a demand of one unit that several items may have in common. A bin spends capacity on it once,
// however many of its items have it.
type SharedDemand struct {
	Dimension int
	// Part is the share of the unit that each copy demands in the relaxation. It is at most one over the number of
	// copies with the demand. It is 0 if a bin type includes the demand.
	Part float64
}

// Options tunes Solve. The zero value is ready to use.
type Options struct {
	// Effort scales the work that improves the first solution. Default 1; a negative value disables improvement.
	Effort int
	// RelaxDistinct makes Solve ignore all Distinct conditions.
	RelaxDistinct bool
	// MaxSteps bounds the elementary steps of Solve (item types considered, rows of linear programs changed). At the
	// limit, Solve leaves the remaining copies without a bin and keeps the packed bins. It replaces a time limit: the
	// same problem has the same solution on a slow machine. Default 0: no limit.
	MaxSteps int64
}

// A Solution assigns every packed copy to a bin.
type Solution struct {
	Bins  []*Bin  // in order of opening; identical bins may share a pointer
	Left  []int   // by item: copies without a bin
	Cost  float64 // dollars per hour, fees included
	Steps int64   // elementary steps taken, see Options.MaxSteps
}

// A Bin is one opened bin, or several identical ones.
type Bin struct {
	Catalog, Type int
	Offers        OfferSet // the offers that all its items may use
	Parts         []Part
	Price         float64 // of the cheapest offer of Type in Offers, without the fee
	// Charge is the amount that one such bin takes from the budget. It exceeds that of the bin type if Distinct
	// conditions require further option types with larger charges.
	Charge []int64
}

// A Part is a number of copies of one item in one bin.
type Part struct{ Item, Copies int }
