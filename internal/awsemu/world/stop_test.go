package world

import (
	"math"
	"slices"
	"testing"
	"time"
)

// A stopped instance sends messages as EC2 does, uses no capacity, is not billed, and can be started or terminated. An instance
// that is terminated while it is stopping is never stopped.
func TestStop(t *testing.T) {
	w, clock, events := newWorld(t)
	w.cfg.StoppingFor = 30 * time.Second
	price := w.OnDemandPrices("us-east-1")["m5.large"]
	i, other := run(t, w, 1, false)[0], run(t, w, 1, false)[0]
	stop := func(id string) {
		t.Helper()
		if _, failure := w.Stop([]string{id}); failure != nil {
			t.Fatal(failure)
		}
	}
	if _, failure := w.Stop([]string{i.ID}); failure == nil || failure.Code != "IncorrectInstanceState" {
		t.Errorf("a pending instance: %v", failure)
	}
	clock.Step(time.Hour)
	w.Settle()
	*events = nil
	stop(i.ID)
	clock.Step(30 * time.Second)
	w.Settle()
	if used, vcpus := w.used[i.pool()], w.usedVCPU[OnDemand]; used != 1 || vcpus != 2 {
		t.Errorf("stopped: %d instances and %d vCPUs are used", used, vcpus)
	}
	clock.Step(time.Hour)
	w.SetCapacity(CapacityRule{Pool: i.pool(), Limit: 1})
	if _, failure := w.Start([]string{i.ID}); failure == nil || failure.Code != "InsufficientInstanceCapacity" {
		t.Errorf("started without capacity: %v", failure)
	}
	w.ClearCapacity(i.pool())
	if _, failure := w.Start([]string{i.ID}); failure != nil {
		t.Fatal(failure)
	}
	clock.Step(time.Hour)
	stop(i.ID)
	clock.Step(time.Hour)
	stop(other.ID)
	if _, failure := w.Terminate([]string{i.ID, other.ID}); failure != nil {
		t.Fatal(failure)
	}
	clock.Step(time.Minute)
	w.Settle()
	want := []string{
		"13:00:00 stopping", "13:00:30 stopped", "14:00:30 pending", "14:00:31 running", "15:00:30 stopping", "15:01:00 stopped",
		"16:00:30 stopping", "16:00:30 shutting-down", "16:00:32 terminated", "16:00:30 shutting-down", "16:00:32 terminated",
	}
	slices.Sort(*events)
	slices.Sort(want)
	if !slices.Equal(*events, want) {
		t.Errorf("events are %q, want %q", *events, want)
	}
	if used, vcpus := w.used[i.pool()], w.usedVCPU[OnDemand]; used != 0 || vcpus != 0 {
		t.Errorf("at the end %d instances and %d vCPUs are used", used, vcpus)
	}
	for _, c := range w.Bill(time.Time{}) {
		if c.ID == i.ID && math.Abs(c.USD-2*price) > 1e-9 {
			t.Errorf("the stopped instance cost %v, want two hours of %v", c.USD, price)
		}
	}
}
