package prices

import (
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/karpenter-go/karpenter/engine/commitment"
	"github.com/karpenter-go/karpenter/provider/aws/shipped"
)

// fallbackRegion is the region whose list prices are used for regions that the shipped catalogue does not have.
const fallbackRegion = "us-east-1"

// A Book returns the list prices and spot prices of instances. It is safe for concurrent use, and readers never wait.
type Book struct {
	products Products
	history  History
	region   string
	isolated bool
	shipped  *shipped.Catalog
	// ignored counts implausible spot prices, estimated the instance types with an estimated list price.
	ignored, estimated prometheus.Gauge
	// reported is true if estimates were logged.
	reported atomic.Bool

	// current is true once spot prices were read. begun is the Unix time at which the first Refresh began, 0 before it.
	current atomic.Bool
	begun   atomic.Int64

	write sync.Mutex // serialises changes and guards seen; readers do not take it
	// seen is when EC2 last returned each spot price.
	seen  map[place]time.Time
	table atomic.Pointer[table]
}

// table is immutable once stored.
type table struct {
	onDemand map[string]float64
	// listed is true if list prices were read. Until then onDemand has the shipped prices, and estimate has list prices of
	// types that are not in onDemand (see Estimate). Then estimate is nil.
	listed   bool
	estimate map[string]float64
	// spot has spot prices by type and zone. It is nil until the price history was read.
	spot map[place]float64
	// since has the time since which each spot price is in force, as EC2 reported it.
	since map[place]time.Time
	// guess are the shipped averages of spot prices by type. They are used until spot is set.
	guess    map[string]float64
	revision uint64
}

type place struct{ instanceType, zone string }

// Config has the dependencies and settings of a Book.
type Config struct {
	Products Products
	History  History
	Region   string
	// Isolated is true if the Pricing API cannot be reached.
	Isolated bool
	Shipped  *shipped.Catalog
	Metrics  prometheus.Registerer
}

// New returns a Book with the shipped prices.
func New(c Config) *Book {
	b := &Book{
		products: c.Products, history: c.History, region: c.Region, isolated: c.Isolated, shipped: c.Shipped,
		ignored: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "karpenter_cloudprovider_spot_prices_ignored",
			Help: "Spot prices in the last answer of EC2 that were ignored, because they are below 2% or above 1000% of the list price.",
		}),
		estimated: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "karpenter_cloudprovider_list_prices_estimated",
			Help: "Instance types whose list price is estimated, because the price list of AWS was not read and the table in the binary lacks them.",
		}),
	}
	c.Metrics.MustRegister(b.ignored, b.estimated)
	region := c.Region
	if _, ok := c.Shipped.Region(region); !ok {
		region = fallbackRegion
	}
	t := &table{revision: 1}
	t.onDemand, t.guess = shippedPrices(c.Shipped, region, c.Region)
	b.table.Store(t)
	return b
}

// yuanPerDollar converts shipped prices, which are in dollars, for the regions of China, where EC2 and the Pricing API
// return yuan. It need not be exact, because it only matters until list prices are read.
const yuanPerDollar = 7.2

// inChina reports whether prices of the region are in yuan.
func inChina(region string) bool { return strings.HasPrefix(region, "cn-") }

// shippedPrices returns the shipped list prices of a region, and its averages of spot prices, by type. They are in the
// currency of the other region.
func shippedPrices(c *shipped.Catalog, of, currencyOf string) (onDemand, spot map[string]float64) {
	rate := 1.0
	if inChina(currencyOf) {
		rate = yuanPerDollar
	}
	onDemand, spot = map[string]float64{}, map[string]float64{}
	r, _ := c.Region(of)
	for _, o := range r.Offers {
		name := c.Types[o.Type].Name
		if o.OnDemand > 0 {
			onDemand[name] = o.OnDemand * rate
		}
		if o.Spot > 0 {
			spot[name] = o.Spot * rate
		}
	}
	return onDemand, spot
}

// OnDemand returns the list price of a type, and false if it is not known. Until list prices were read, it may be an
// estimate.
func (b *Book) OnDemand(instanceType string) (float64, bool) {
	return b.table.Load().list(instanceType)
}

func (t *table) list(instanceType string) (float64, bool) {
	if p, ok := t.onDemand[instanceType]; ok {
		return p, true
	}
	p, ok := t.estimate[instanceType]
	return p, ok
}

// Spot returns the spot price of a type in a zone, and false if it is not known. Until the price history was read, it
// is the shipped average, or else the list price as an upper bound.
func (b *Book) Spot(instanceType, zone string) (float64, bool) {
	t := b.table.Load()
	if t.spot != nil {
		p, ok := t.spot[place{instanceType, zone}]
		return p, ok
	}
	if p, ok := t.guess[instanceType]; ok {
		return p, true
	}
	return t.list(instanceType)
}

// SpotSince returns since when the spot price of a type in a zone is in force, zero if that is not known.
func (b *Book) SpotSince(instanceType, zone string) time.Time {
	return b.table.Load().since[place{instanceType, zone}]
}

// Covers returns no commitments, because the price list has none.
func (b *Book) Covers(_, _ string) (covers []commitment.Cover, fees float64) { return nil, 0 }

// Revision returns a number that changes whenever a price changes.
func (b *Book) Revision() uint64 { return b.table.Load().revision }

// learnListed merges new list prices with the earlier ones. It removes none, because EC2 may still offer a type that is
// missing from the price list. A type that EC2 does not offer has no offering anyway. Estimates are removed.
func (b *Book) learnListed(found map[string]float64) {
	b.write.Lock()
	defer b.write.Unlock()
	old := b.table.Load()
	next := *old
	next.onDemand = maps.Clone(old.onDemand)
	maps.Copy(next.onDemand, found)
	next.listed, next.estimate = true, nil
	b.estimated.Set(0)
	if !maps.Equal(next.onDemand, old.onDemand) || len(old.estimate) > 0 {
		next.revision++
	}
	b.table.Store(&next)
}

// learnSpot merges new spot prices with the earlier ones. It removes prices that EC2 has not returned for spotLife,
// because the zone no longer offers the type as spot. since has the time since which each price of found is in force.
func (b *Book) learnSpot(found map[place]float64, since map[place]time.Time, now time.Time) {
	b.write.Lock()
	defer b.write.Unlock()
	old := b.table.Load()
	next := *old
	next.spot, next.since = map[place]float64{}, map[place]time.Time{}
	for at, price := range old.spot {
		if now.Sub(b.seen[at]) < spotLife {
			next.spot[at] = price
			if t, known := old.since[at]; known {
				next.since[at] = t
			}
		}
	}
	maps.Copy(next.spot, found)
	maps.Copy(next.since, since)
	if b.seen == nil {
		b.seen = map[place]time.Time{}
	}
	for at := range found {
		b.seen[at] = now
	}
	maps.DeleteFunc(b.seen, func(at place, _ time.Time) bool { _, kept := next.spot[at]; return !kept })
	if maps.Equal(next.spot, old.spot) && old.spot != nil {
		return
	}
	next.revision++
	b.table.Store(&next)
}

// spotLife is how long a spot price is kept after EC2 last returned it.
const spotLife = 24 * time.Hour
