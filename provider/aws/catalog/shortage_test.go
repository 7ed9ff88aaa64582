package catalog

import (
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
)

func TestShortagesBackOff(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	s := NewShortages(clock)
	spot := Ask{Type: "m5.large", Zone: "a", CapacityType: "spot"}
	lasts := func() time.Duration {
		t.Helper()
		began := clock.Now()
		for s.Known(spot) {
			clock.Step(time.Second)
			if clock.Since(began) > time.Hour {
				t.Fatal("a shortage without an end")
			}
		}
		return clock.Since(began)
	}
	for n, want := range []time.Duration{3 * time.Minute, 6 * time.Minute, 12 * time.Minute, 24 * time.Minute, 30 * time.Minute, 30 * time.Minute} {
		for range 3 { // a fleet returns the same error several times
			s.MarkOffering("m5.large", "a", "spot", Place{})
		}
		if got := lasts(); got != want {
			t.Errorf("refusal %d is believed for %v, want %v", n+1, got, want)
		}
	}
	clock.Step(calm)
	s.MarkOffering("m5.large", "a", "spot", Place{})
	if got := lasts(); got != shortageLife {
		t.Errorf("after a calm it is believed for %v", got)
	}
	s.MarkUnsupported("m5.large", "a", "spot", Place{})
	if got := lasts(); got != 2*shortageLife {
		t.Errorf("that it is not supported is believed for %v", got)
	}
	s.MarkNotSold("m5.large", "a", "spot", Place{})
	clock.Step(time.Hour)
	if !s.Known(spot) {
		t.Error("a type that is not sold is asked for again after an hour")
	}
	s.MarkOffering("m5.large", "a", "spot", Place{})
	clock.Step(notSoldLife - time.Hour - time.Second)
	if !s.Known(spot) {
		t.Error("a refusal makes the type available earlier")
	}
	clock.Step(time.Second)
	if s.Known(spot) {
		t.Error("a refusal that was added later extends the time for which the type is not sold")
	}
}

// Sizes that are not supported say nothing about the other sizes of their family. They count once EC2 has no capacity for them.
func TestUnsupportedSizes(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	s := NewShortages(clock)
	sizes, other := []string{"large", "xlarge", "2xlarge", "4xlarge"}, Ask{Type: "m5.8xlarge", Zone: "a", CapacityType: "spot"}
	for _, size := range sizes {
		s.MarkUnsupported("m5."+size, "a", "spot", Place{})
		s.MarkNotSold("m5."+size, "a", "spot", Place{})
	}
	if !s.Known(Ask{Type: "m5.large", Zone: "a", CapacityType: "spot"}) || s.Known(other) {
		t.Error("a size that is not supported is available, or another size is not")
	}
	before := s.Revision()
	for range 2 {
		for _, size := range sizes {
			s.MarkOffering("m5."+size, "a", "spot", Place{})
		}
	}
	if !s.Known(other) || s.Revision() == before {
		t.Error("four sizes without capacity do not count")
	}
	clock.Step(notSoldLife)
	if s.Known(other) {
		t.Error("the family is unavailable without an end")
	}
}

func TestShortagesKnown(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	s := NewShortages(clock)
	check := func(what string, a Ask, want bool) {
		t.Helper()
		if got := s.Known(a); got != want {
			t.Errorf("%s: %+v is short: %v", what, a, got)
		}
	}
	for _, size := range []string{"large", "xlarge", "2xlarge"} {
		s.MarkOffering("m5."+size, "a", "spot", Place{})
	}
	check("three sizes", Ask{Type: "m5.4xlarge", Zone: "a", CapacityType: "spot"}, false)
	before := s.Revision()
	s.MarkOffering("m5.8xlarge", "a", "spot", Place{})
	if s.Revision() == before {
		t.Error("a shortage changes nothing")
	}
	check("four sizes", Ask{Type: "m5.4xlarge", Zone: "a", CapacityType: "spot"}, true)
	check("another zone", Ask{Type: "m5.4xlarge", Zone: "b", CapacityType: "spot"}, false)
	check("another capacity type", Ask{Type: "m5.4xlarge", Zone: "a", CapacityType: "on-demand"}, false)
	check("another family", Ask{Type: "m5a.4xlarge", Zone: "a", CapacityType: "spot"}, false)
	clock.Step(shortageLife)
	check("later", Ask{Type: "m5.4xlarge", Zone: "a", CapacityType: "spot"}, false)

	s.MarkOffering("c5.large", "a", "on-demand", Place{Group: "pg-1"})
	check("in the group", Ask{Type: "c5.large", Zone: "a", CapacityType: "on-demand", Place: Place{Group: "pg-1"}}, true)
	check("in a partition of the group", Ask{Type: "c5.large", Zone: "a", CapacityType: "on-demand", Place: Place{"pg-1", "2"}}, true)
	check("outside of it", Ask{Type: "c5.large", Zone: "a", CapacityType: "on-demand"}, false)

	s.MarkOffering("c5.xlarge", "a", "on-demand", Place{"pg-1", "1"})
	check("in the partition", Ask{Type: "c5.xlarge", Zone: "a", CapacityType: "on-demand", Place: Place{"pg-1", "1"}}, true)
	check("in another partition", Ask{Type: "c5.xlarge", Zone: "a", CapacityType: "on-demand", Place: Place{"pg-1", "2"}}, false)

	for _, size := range []string{"large", "xlarge", "2xlarge", "4xlarge"} {
		s.MarkReservation("r5."+size, "a", "cr-1")
	}
	check("of the reservation", Ask{Type: "r5.large", Zone: "a", CapacityType: "reserved", Reservation: "cr-1"}, true)
	check("of another reservation", Ask{Type: "r5.large", Zone: "a", CapacityType: "reserved", Reservation: "cr-2"}, false)
	check("another size of the reservation's family", Ask{Type: "r5.8xlarge", Zone: "a", CapacityType: "reserved", Reservation: "cr-1"}, false)
	check("without reservation", Ask{Type: "r5.large", Zone: "a", CapacityType: "on-demand"}, false)

	s.MarkQuota("m5.2xlarge", "on-demand", 8)
	s.MarkQuota("m5.xlarge", "on-demand", 4)
	check("as large as what was refused", Ask{Type: "c6i.xlarge", Zone: "b", CapacityType: "on-demand", VCPUs: 4}, true)
	large := Ask{Type: "c6i.xlarge", Zone: "b", CapacityType: "on-demand", VCPUs: 4}
	if got := s.Quota(large); got != "on-demand vCPUs for Standard (A, C, D, H, I, M, R, T, Z) instances" {
		t.Errorf("the quota that is used up is %q", got)
	}
	if got := s.Quota(Ask{Type: "c6i.large", Zone: "b", CapacityType: "on-demand", VCPUs: 2}); got != "" {
		t.Errorf("for a smaller type the quota %q is used up", got)
	}
	check("smaller", Ask{Type: "c6i.large", Zone: "b", CapacityType: "on-demand", VCPUs: 2}, false)
	check("of another quota", Ask{Type: "g5.xlarge", Zone: "b", CapacityType: "on-demand", VCPUs: 4}, false)
	check("on spot", Ask{Type: "c6i.xlarge", Zone: "b", CapacityType: "spot", VCPUs: 4}, false)
	at := s.Revision()
	clock.Step(shortageLife)
	check("later", Ask{Type: "c6i.xlarge", Zone: "b", CapacityType: "on-demand", VCPUs: 4}, false)
	if s.Revision() == at {
		t.Error("the end of a shortage changes nothing")
	}
}

func TestBucket(t *testing.T) {
	for instanceType, want := range map[string]string{
		"m5.large": "Standard (A, C, D, H, I, M, R, T, Z)", "t3.large": "Standard (A, C, D, H, I, M, R, T, Z)", "g5.xlarge": "G and VT",
		"vt1.3xlarge": "G and VT", "p5.48xlarge": "P", "x2idn.metal": "X", "inf2.xlarge": "Inf", "trn1.2xlarge": "Trn", "dl1.24xlarge": "DL",
		"hpc7a.96xlarge": "HPC", "u-6tb1.metal": "High Memory", "u7i-12tb.224xlarge": "High Memory", "f1.2xlarge": "F", "d3.xlarge": "Standard (A, C, D, H, I, M, R, T, Z)",
	} {
		if got := Bucket(instanceType); got != want {
			t.Errorf("%s counts as %q, want %q", instanceType, got, want)
		}
	}
}
