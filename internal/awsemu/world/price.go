package world

import (
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"time"
)

// priceStep is the interval between changes of spot prices.
const priceStep = 6 * time.Hour

// zoneSpread is the maximum relative difference of a zone's spot price from the average of the region. stepSpread is
// the maximum relative difference from that price in one step.
const zoneSpread, stepSpread = 0.08, 0.02

// A priceChange is a price that SetPrice set, and the time from which on it applies.
type priceChange struct {
	pattern Pool
	usd     float64
	from    time.Time
}

// A SpotPrice is one record of the price history.
type SpotPrice struct {
	Type, Zone string
	USD        float64
	At         time.Time
}

// SetPrice fixes the price of the matching pools from now on, in USD per hour. With 0, price lists and the price history omit them.
func (w *World) SetPrice(pattern Pool, usd float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.readAll()
	w.prices = append(w.prices, priceChange{pattern, usd, w.cfg.Clock.Now()})
}

// ClearPrices restores the catalogue's prices for all pools.
func (w *World) ClearPrices() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.readAll()
	w.prices = nil
}

// OnDemandPrices returns the on-demand price of every type that is offered in a region. Prices of SetPrice apply only to the
// account's own region.
func (w *World) OnDemandPrices(regionName string) map[string]float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	region, ok := w.cfg.Catalog.Region(regionName)
	if !ok {
		return nil
	}
	out := make(map[string]float64, len(region.Offers))
	for name, offer := range region.Offers {
		usd := offer.OnDemand
		if regionName == w.cfg.Region {
			usd = w.onDemandPrice(name)
		}
		if usd > 0 {
			out[name] = usd
		}
	}
	return out
}

// onDemandPrice returns the on-demand price of a type in the account's region, 0 if it is not
// offered and SetPrice has set no price for it.
func (w *World) onDemandPrice(name string) float64 {
	usd := w.region.Offers[name].OnDemand
	for _, c := range w.prices {
		if c.pattern.matches(Pool{name, c.pattern.Zone, OnDemand}) {
			usd = c.usd
		}
	}
	return usd
}

// Price returns the current price of a pool in USD per hour, as price does.
func (w *World) Price(pool Pool) float64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.price(pool)
}

// price returns the current price of a pool. An on-demand price applies to all zones of the region, as in EC2, also to those that do
// not offer the type. It is 0 if no zone does and SetPrice has set no price. A spot price is 0 if the zone does not offer the type.
func (w *World) price(pool Pool) float64 {
	if pool.Capacity != Spot {
		return w.onDemandPrice(pool.Type)
	}
	return w.spotPrice(pool.Type, pool.Zone, w.cfg.Clock.Now()).USD
}

// spotPrice returns the price at the given time, and since when it applies: the last price of SetPrice for the pool,
// or else that of the step. USD is 0 if the type is not offered as spot.
func (w *World) spotPrice(name, zone string, at time.Time) SpotPrice {
	offer := w.region.Offers[name]
	if offer.Spot == 0 || !slices.Contains(offer.Zones, zone) {
		return SpotPrice{}
	}
	step := at.Truncate(priceStep)
	record := SpotPrice{Type: name, Zone: zone, At: step}
	factor := 1 + zoneSpread*w.noise(name, zone, 0) + stepSpread*w.noise(name, zone, step.Unix())
	record.USD = math.Round(offer.Spot*factor*1e6) / 1e6
	for _, c := range w.prices {
		if !c.from.After(at) && c.pattern.matches(Pool{name, zone, Spot}) {
			record.USD = c.usd
			if c.from.After(record.At) {
				record.At = c.from
			}
		}
	}
	return record
}

// noise returns a number from -1 to 1 that depends only on its arguments and the seed.
func (w *World) noise(name, zone string, step int64) float64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%s/%s/%d", w.cfg.Seed, name, zone, step)
	x := h.Sum64()
	// The low bits of FNV are weak for short input, so they are mixed as in splitmix64.
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	x ^= x >> 31
	return float64(x)/float64(math.MaxUint64)*2 - 1
}

// SpotHistory returns the spot prices that apply at start, and those that begin until end, of every pool with a spot
// price. They are sorted by type and zone, newest first. An end that is zero or in the future means now. A start that
// is zero or more than 90 days before end means 90 days before end.
func (w *World) SpotHistory(start, end time.Time) []SpotPrice {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.cfg.Clock.Now()
	if end.IsZero() || end.After(now) {
		end = now
	}
	if start.IsZero() || start.Before(end.AddDate(0, 0, -90)) {
		start = end.AddDate(0, 0, -90) // EC2 keeps 90 days
	}
	if start.After(end) {
		start = end
	}
	moments := w.priceMoments(start, end)
	var out []SpotPrice
	for _, t := range w.cfg.Catalog.Types {
		offer := w.region.Offers[t.Name]
		if offer.Spot == 0 {
			continue
		}
		for _, zone := range offer.Zones {
			var last time.Time
			for _, at := range slices.Backward(moments) {
				record := w.spotPrice(t.Name, zone, at)
				if record.At.Equal(last) {
					continue
				}
				last = record.At
				if record.USD > 0 {
					out = append(out, record)
				}
			}
		}
	}
	return out
}

// priceMoments returns the times at which a price may change: start, the steps until end, and the calls of SetPrice until end.
func (w *World) priceMoments(start, end time.Time) []time.Time {
	moments := []time.Time{start}
	for at := start.Truncate(priceStep).Add(priceStep); !at.After(end); at = at.Add(priceStep) {
		moments = append(moments, at)
	}
	for _, c := range w.prices {
		if c.from.After(start) && !c.from.After(end) {
			moments = append(moments, c.from)
		}
	}
	slices.SortFunc(moments, time.Time.Compare)
	return slices.CompactFunc(moments, time.Time.Equal)
}
