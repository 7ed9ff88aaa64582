package binpack

// A Problem is what to pack and into what. Solve does not modify it.
//
// Amounts (demands, capacities, charges, budgets) lie between 0 and MaxAmount, so that sums over one bin never overflow.
// Only a budget may be negative: then nothing that is charged to it may be opened.
type Problem struct {
	// Dimensions is the length of every demand and capacity vector.
	Dimensions int
	// Units scales each dimension so that typical amounts are near one (cores, GiB, tens of pods). It decides only how
	// numbers are rounded. Nil stands for ones.
	Units []float64
	Items []Item
	// Catalogs are the bin types on offer. A bin belongs to one catalog.
	Catalogs []Catalog
	// Shared are demands that several items have in common: a bin pays for each of them once.
	Shared []SharedDemand
	// Groups is the number of conflict groups that Counts and Bounds refer to.
	Groups int
	// Supplies are the numbers of bins left of types with a bounded supply. All types that name a supply draw from it.
	Supplies []int
	// Fee is what each bin costs besides the price of its offer, in dollars per hour.
	Fee float64
}

// MaxAmount is the largest amount that a Problem may contain.
const MaxAmount = 1 << 61

// An Item is a number of identical copies to pack.
type Item struct {
	// Name is unique. Items of one priority are ordered by name, and this order breaks ties.
	Name string
	// Demand is that of one copy, by dimension, without the shared demands.
	Demand []int64
	Shared []int // indices into Problem.Shared, rising
	Copies int
	On     []Use   // by catalog
	Counts []Count // conflict groups that count the item, and how often they count one copy; rising by group
	Bounds []Bound // rising by group
	// Priority decides who is served where budgets do not suffice for all: items of higher priority come first.
	Priority int32
	// Restricted says that some Use.Types leaves out types that have room for a copy and an offer in the set. A bin with the
	// item then only moves to types that its Use.Types contains.
	Restricted bool
}

// A Use says how an item may be used in one catalog.
type Use struct {
	Offers OfferSet // NoOffers: not in this catalog
	Types  Bits     // types that hold one copy, as far as demand, offers and preloaded counts go
}

// An OfferSet names a set of offers of one catalog. What it contains is known to the catalog's Offers.
type OfferSet int32

// NoOffers is the set of no offer.
const NoOffers OfferSet = -1

// A Count says how often a conflict group counts one copy of an item, or what a bin type holds from the start.
type Count struct{ Group, N int }

// A Bound limits a conflict group: a bin that holds the item holds at most Max counted copies of the group, its own copies
// included if the group counts them. A soft bound is checked when the item is added and not for what is added later.
type Bound struct {
	Group, Max int
	Soft       bool
}

// A Catalog is bin types that are bought under one budget.
type Catalog struct {
	Types []BinType // rising by Name; this order breaks ties
	// Budget is the sum that charges of new bins may reach, by budget dimension. Empty: no budget.
	Budget []int64
	Offers Offers
	// Index looks up types of this catalog. Nil: Solve makes one. A caller that has further questions about the same catalog
	// may share its own, see NewIndex.
	Index *Index
}

// A BinType is a kind of bin of which any number may be opened, unless its supply or a budget limits it.
type BinType struct {
	Name     string
	Capacity []int64 // by dimension; a negative amount is no capacity
	Charge   []int64 // of one bin, by budget dimension
	Supply   int     // index into Problem.Supplies; -1: unbounded
	Includes []int   // shared demands that every bin of the type holds already and does not pay for; rising
	Preload  []Count // counted copies that every bin of the type holds from the start; rising by group
}

// Offers is the algebra of sets of offers of one catalog. Its methods are called by one goroutine at a time.
type Offers interface {
	// Meet returns the offers that are in both sets, and false if no type has one.
	Meet(a, b OfferSet) (OfferSet, bool)
	// Prices returns the price of the cheapest offer of each type in the set, +Inf for a type without one.
	Prices(s OfferSet) []float64
	// Distinct returns the conditions on the types that a bin of the set keeps as options, nil for none.
	Distinct(s OfferSet) []Distinct
}

// A Distinct is a condition on the option types of a bin, those that hold what it holds, under its offers: together they
// have at least Min distinct values.
type Distinct struct {
	Min    int
	Values [][]int32 // by type
}

// A SharedDemand is one unit of a dimension that a bin needs once, however many of its items share it.
type SharedDemand struct {
	Dimension int
	// Part is the share of the unit that each item stands for in the relaxation: at most one over the number of copies that
	// share it, and 0 if a bin type includes the demand.
	Part float64
}

// Options tunes Solve. The zero value is ready to use.
type Options struct {
	// MaxBins is how many bins Solve may open at most. Default 1,000,000.
	MaxBins int
	// Effort scales how long Solve looks for a cheaper solution once it has one. Default 1; a negative value: not at all.
	Effort int
	// RelaxDistinct ignores all Distinct conditions.
	RelaxDistinct bool
	// MaxSteps bounds the elementary steps of Solve (item types looked at, rows of linear programs changed). When it is used
	// up, the remaining copies are left out; bins that are packed stay valid. It replaces a time limit: the same problem
	// gives the same solution on a slow machine. Default 0: no bound.
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
	Offers        OfferSet // those that all its items may use
	Parts         []Part
	Price         float64 // of the cheapest offer of Type in Offers, without the fee
	// Charge is what one such bin takes out of the budget: that of its type, raised where Distinct calls for further options
	// with larger charges.
	Charge []int64
}

// A Part is a number of copies of one item in one bin.
type Part struct{ Item, Copies int }
