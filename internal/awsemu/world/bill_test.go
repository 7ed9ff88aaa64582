package world

import (
	"math"
	"testing"
	"time"
)

// An instance is billed from its launch until it begins to shut down, at market prices. This also holds for instances that were
// removed.
func TestBill(t *testing.T) {
	w, clock, _ := newWorld(t)
	steady := run(t, w, 1, false)[0]
	price := w.OnDemandPrices("us-east-1")["m5.large"]
	clock.Step(time.Hour)
	spot := run(t, w, 1, true)[0]
	w.SetPrice(Pool{"m5.large", "us-east-1a", Spot}, 0.03)
	clock.Step(30 * time.Minute)
	w.SetPrice(Pool{"m5.large", "us-east-1a", Spot}, 0.05)
	clock.Step(30 * time.Minute)
	if _, failure := w.Terminate([]string{spot.ID}); failure != nil {
		t.Fatal(failure)
	}
	clock.Step(2 * time.Hour) // long enough for the instance to be removed
	for _, tt := range []struct {
		since        time.Time
		steady, spot float64
	}{
		{time.Time{}, 4 * price, 0.03*0.5 + 0.05*0.5},
		{start.Add(90 * time.Minute), 2.5 * price, 0.05 * 0.5},
		{start.Add(3 * time.Hour), price, 0},
	} {
		got := map[string]float64{}
		for _, c := range w.Bill(tt.since) {
			got[c.ID] = c.USD
		}
		if math.Abs(got[steady.ID]-tt.steady) > 1e-9 || math.Abs(got[spot.ID]-tt.spot) > 1e-9 {
			t.Errorf("since %v: %v and %v, want %v and %v", tt.since, got[steady.ID], got[spot.ID], tt.steady, tt.spot)
		}
	}
	w.ClearPrices()
	if got := w.Bill(time.Time{}); len(got) != 2 || got[1].USD != 0.03*0.5+0.05*0.5 {
		t.Errorf("after the prices were cleared: %+v", got)
	}
}

// The price of a spot instance follows the steps of the market price.
func TestBillOfSteps(t *testing.T) {
	w, clock, _ := newWorld(t)
	i := run(t, w, 1, true)[0]
	want := 0.0
	for range 24 {
		want += w.spotPrice(i.Type, i.Zone, clock.Now()).USD // prices change at full hours
		clock.Step(time.Hour)
	}
	if got := w.Bill(time.Time{}); len(got) != 1 || math.Abs(got[0].USD-want) > 1e-9 {
		t.Errorf("%+v, want %v", got, want)
	}
}
