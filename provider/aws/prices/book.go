package prices

import (
	"maps"
	"sync"
	"sync/atomic"

	"github.com/karpenter-go/karpenter/provider/aws/shipped"
)

// fallbackRegion lends its list prices to regions that the shipped table does not know.
const fallbackRegion = "us-east-1"

// A Book answers what an instance costs. It is safe for concurrent use.
type Book struct {
	products Products
	history  History
	region   string
	isolated bool

	write sync.Mutex // serialises changes; readers do not take it
	table atomic.Pointer[table]
}

// table is immutable once stored.
type table struct {
	onDemand map[string]float64
	// spot is by type and zone, nil until the first history came.
	spot map[place]float64
	// guess is the shipped average of spot prices, used until then.
	guess    map[string]float64
	revision uint64
}

type place struct{ instanceType, zone string }

// Config names what a Book needs.
type Config struct {
	Products Products
	History  History
	Region   string
	// Isolated means that the Pricing API cannot be reached.
	Isolated bool
	Shipped  *shipped.Catalog
}

// New returns a Book with the shipped prices.
func New(c Config) *Book {
	b := &Book{products: c.Products, history: c.History, region: c.Region, isolated: c.Isolated}
	t := &table{onDemand: map[string]float64{}, guess: map[string]float64{}, revision: 1}
	r, ok := c.Shipped.Region(c.Region)
	if !ok {
		r, _ = c.Shipped.Region(fallbackRegion)
	}
	for _, o := range r.Offers {
		name := c.Shipped.Types[o.Type].Name
		if o.OnDemand > 0 {
			t.onDemand[name] = o.OnDemand
		}
		if o.Spot > 0 {
			t.guess[name] = o.Spot
		}
	}
	b.table.Store(t)
	return b
}

// OnDemand returns the list price of a type, and false if it is not known.
func (b *Book) OnDemand(instanceType string) (float64, bool) {
	p, ok := b.table.Load().onDemand[instanceType]
	return p, ok
}

// Spot returns the spot price of a type in a zone, and false if it is not known. Until the first price history came it is
// the shipped average, or else the list price: too high, but an upper bound.
func (b *Book) Spot(instanceType, zone string) (float64, bool) {
	t := b.table.Load()
	if t.spot != nil {
		p, ok := t.spot[place{instanceType, zone}]
		return p, ok
	}
	if p, ok := t.guess[instanceType]; ok {
		return p, true
	}
	p, ok := t.onDemand[instanceType]
	return p, ok
}

// Revision changes whenever a price does.
func (b *Book) Revision() uint64 { return b.table.Load().revision }

// learn merges new prices over the old ones. It removes no price: a type that is missing from one answer is probably still
// sold. It reports whether anything changed.
func (b *Book) learn(onDemand map[string]float64, spot map[place]float64) bool {
	b.write.Lock()
	defer b.write.Unlock()
	old := b.table.Load()
	next := *old
	next.onDemand = maps.Clone(old.onDemand)
	maps.Copy(next.onDemand, onDemand)
	if len(spot) > 0 {
		next.spot = maps.Clone(old.spot)
		if next.spot == nil {
			next.spot = map[place]float64{}
		}
		maps.Copy(next.spot, spot)
	}
	if maps.Equal(next.onDemand, old.onDemand) && maps.Equal(next.spot, old.spot) && (next.spot == nil) == (old.spot == nil) {
		return false
	}
	next.revision++
	b.table.Store(&next)
	return true
}
