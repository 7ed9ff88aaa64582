package world

import (
	"slices"
	"time"
)

// A Charge is what one instance cost in a period. USD is for the part of the billed time that is in the period.
type Charge struct {
	ID, Type, Zone, Capacity string
	// From and To are the beginning and the end of the time for which the instance was billed, also outside the period.
	From, To time.Time
	USD      float64
}

// A rate is the price of an instance during a period.
type rate struct {
	from, to time.Time
	usd      float64 // per hour
}

// A meter has the cost of an instance until the time To.
type meter struct {
	Charge
	rates []rate // in order, without gaps
}

// read updates the meter of an instance until now, or until it begins to stop or to shut down. EC2 bills an instance from its
// launch until that time. The price of spot instances follows the market.
func (w *World) read(i *Instance, now time.Time) *meter {
	m := w.meters[i.ID]
	if m == nil {
		m = &meter{Charge: Charge{ID: i.ID, Type: i.Type, Zone: i.Zone, Capacity: i.Capacity, From: i.Launched, To: i.Launched}}
		w.meters[i.ID] = m
		w.metered = append(w.metered, m)
	}
	end := now
	for _, at := range []time.Time{i.StopsAt, i.EndsAt} {
		if !at.IsZero() && at.Before(end) {
			end = at
		}
	}
	for m.To.Before(end) {
		next, usd := end, w.onDemandPrice(i.Type)
		if i.Capacity == Spot {
			if step := m.To.Truncate(priceStep).Add(priceStep); step.Before(next) {
				next = step
			}
			usd = w.spotPrice(i.Type, i.Zone, m.To).USD
		}
		m.charge(next, usd)
	}
	return m
}

// charge adds a price for the time from m.To until the given time.
func (m *meter) charge(until time.Time, usd float64) {
	if n := len(m.rates); n > 0 && m.rates[n-1].usd == usd {
		m.rates[n-1].to = until
	} else {
		m.rates = append(m.rates, rate{m.To, until, usd})
	}
	m.To = until
}

// readAll updates the meters of all instances. It is called before a price changes
// and before a bill is computed.
func (w *World) readAll() {
	now := w.cfg.Clock.Now()
	for _, i := range w.order {
		w.read(i, now)
	}
}

// Bill returns what each instance has cost since the given time, in order of launch. The zero time means since the beginning. It
// omits instances that were not billed after that time.
func (w *World) Bill(since time.Time) []Charge {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle()
	w.readAll()
	var out []Charge
	for _, m := range w.metered {
		if !m.To.After(since) {
			continue
		}
		c := m.Charge
		for _, r := range m.rates {
			from := r.from
			if from.Before(since) {
				from = since
			}
			c.USD += r.usd * max(0, r.to.Sub(from)).Hours()
		}
		out = append(out, c)
	}
	slices.SortStableFunc(out, func(a, b Charge) int { return a.From.Compare(b.From) })
	return out
}
