package world

import (
	"encoding/json"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"github.com/karpenter-go/karpenter/internal/awsemu/catalog"
)

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// newWorld returns an account, its clock, and the delivered events.
func newWorld(t tester) (*World, *testclock.FakeClock, *[]string) {
	t.Helper()
	table, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	clock, events := testclock.NewFakeClock(start), new([]string)
	w, err := New(Config{
		Clock: clock, Seed: 7, Region: "us-east-1", Account: "123456789012", Cluster: "demo", Catalog: table,
		PendingFor: time.Second, ShuttingFor: 2 * time.Second, TerminatedFor: time.Minute,
		Deliver: func(body string) {
			var e event
			if err := json.Unmarshal([]byte(body), &e); err != nil {
				t.Fatal(err)
			}
			text := e.Time[11:19] + " " + e.DetailType
			if s, ok := e.Detail["state"].(string); ok {
				text = e.Time[11:19] + " " + s
			}
			*events = append(*events, text)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return w, clock, events
}

// run launches n instances from an image.
func run(t tester, w *World, n int, spot bool) []Instance {
	t.Helper()
	made, failure := w.RunInstances(Run{
		Min: n, Max: n, Spot: spot, Zone: "us-east-1a",
		Data: TemplateData{InstanceType: "m5.large", ImageID: imageOf(w, "x86_64")},
	})
	if failure != nil {
		t.Fatal(failure)
	}
	return made
}

// imageOf returns an AL2023 image of the architecture.
func imageOf(w *World, arch string) string {
	images := w.Images()
	return images[slices.IndexFunc(images, func(i Image) bool { return i.Arch == arch && i.Family == AL2023 })].ID
}

func TestUnknownRegion(t *testing.T) {
	table, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(Config{Clock: testclock.NewFakeClock(start), Region: "moon-1", Catalog: table}); err == nil {
		t.Error("a region that does not exist was accepted")
	}
}

// Settle applies all changes that are due, in order, each with the time at
// which it was due.
func TestSettleCatchesUp(t *testing.T) {
	w, clock, events := newWorld(t)
	i := run(t, w, 1, true)[0]
	if failure := w.Interrupt(i.ID); failure != nil {
		t.Fatal(failure)
	}
	clock.Step(10 * time.Minute)
	w.Settle()
	want := []string{
		"12:00:00 pending", "12:00:00 EC2 Spot Instance Interruption Warning",
		"12:00:01 running", "12:02:00 shutting-down", "12:02:02 terminated",
	}
	if diff := cmp.Diff(want, *events); diff != "" {
		t.Errorf("events differ (-want +got):\n%s", diff)
	}
	if list := w.Instances(false); len(list) != 0 {
		t.Errorf("%d instances are known ten minutes later, want none", len(list))
	}
}

func TestSettleSaysWhen(t *testing.T) {
	w, clock, _ := newWorld(t)
	if next := w.Settle(); !next.IsZero() {
		t.Errorf("an empty world has something due at %v", next)
	}
	i := run(t, w, 1, false)[0]
	for _, want := range []time.Duration{time.Second, 0} {
		next := w.Settle()
		if want == 0 && !next.IsZero() || want != 0 && !next.Equal(start.Add(want)) {
			t.Fatalf("due at %v, want %v after start", next, want)
		}
		clock.Step(time.Second)
	}
	if _, failure := w.Terminate([]string{i.ID}); failure != nil {
		t.Fatal(failure)
	}
	if next := w.Settle(); !next.Equal(start.Add(4 * time.Second)) {
		t.Errorf("termination is due at %v, want 4s after start", next.Sub(start))
	}
}

// If a machine is terminated while it is pending, there is no event for the state running.
func TestEndedWhilePending(t *testing.T) {
	w, clock, events := newWorld(t)
	i := run(t, w, 1, false)[0]
	if _, failure := w.Terminate([]string{i.ID}); failure != nil {
		t.Fatal(failure)
	}
	clock.Step(5 * time.Second)
	w.Settle()
	if diff := cmp.Diff([]string{"12:00:00 pending", "12:00:00 shutting-down", "12:00:02 terminated"}, *events); diff != "" {
		t.Errorf("events differ (-want +got):\n%s", diff)
	}
}

// Resources of terminated instances are released completely, in any order of events.
func TestNothingLeaks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, clock, _ := newWorld(t)
		var ids []string
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "what") {
			case 0, 1:
				for _, i := range run(t, w, rapid.IntRange(1, 5).Draw(t, "n"), rapid.Bool().Draw(t, "spot")) {
					ids = append(ids, i.ID)
				}
			case 2:
				clock.Step(time.Duration(rapid.IntRange(0, 200).Draw(t, "seconds")) * time.Second)
			case 3:
				if len(ids) > 0 {
					id := rapid.SampledFrom(ids).Draw(t, "id")
					if w.CheckInstances([]string{id}) == nil {
						_, _ = w.Terminate([]string{id})
					}
				}
			}
			addresses := map[netip.Addr]string{}
			for _, i := range w.Instances(false) {
				if s := i.State(clock.Now()); s == Terminated {
					continue
				}
				if other, twice := addresses[i.Address]; twice {
					t.Fatalf("%s and %s both have address %s", i.ID, other, i.Address)
				}
				addresses[i.Address] = i.ID
			}
		}
		for _, i := range w.Instances(false) {
			_, _ = w.Terminate([]string{i.ID})
		}
		clock.Step(time.Hour)
		w.Settle()
		for pool, n := range w.used {
			if n != 0 {
				t.Errorf("pool %v still counts %d instances", pool, n)
			}
		}
		for kind, n := range w.usedVCPU {
			if n != 0 {
				t.Errorf("%s still counts %d vCPUs", kind, n)
			}
		}
		for _, s := range w.Subnets() {
			if s.Free != addressesPerSubnet {
				t.Errorf("subnet %s has %d free addresses, want all %d", s.ID, s.Free, addressesPerSubnet)
			}
		}
	})
}

// A tester is a *testing.T or a *rapid.T.
type tester interface {
	Helper()
	Fatal(args ...any)
}

func TestSubnetGivesEveryAddressOnce(t *testing.T) {
	w, _, _ := newWorld(t)
	s := w.subnets[0]
	seen := map[netip.Addr]bool{}
	for {
		a, ok := s.take()
		if !ok {
			break
		}
		if seen[a] {
			t.Fatalf("%s was given out twice", a)
		}
		seen[a] = true
	}
	if len(seen) != addressesPerSubnet {
		t.Errorf("%d addresses, want %d", len(seen), addressesPerSubnet)
	}
	prefix := netip.MustParsePrefix(s.CIDR)
	for a := range seen {
		if !prefix.Contains(a) {
			t.Errorf("%s is outside %s", a, prefix)
		}
	}
	some := netip.MustParseAddr("10.0.3.7")
	s.release(some)
	s.release(some) // a second release changes nothing
	if again, ok := s.take(); !ok || again != some {
		t.Errorf("took %s, want the released %s", again, some)
	}
}

// Spot prices stay near the catalogue's average, and differ between zones.
func TestSpotPrices(t *testing.T) {
	w, clock, _ := newWorld(t)
	moved := false
	for range 8 {
		byZone := map[float64]bool{}
		for _, zone := range w.region.Offers["m5.large"].Zones {
			p := w.spotPrice("m5.large", zone, clock.Now())
			average := w.region.Offers["m5.large"].Spot
			if p.USD < average*(1-zoneSpread-stepSpread) || p.USD > average*(1+zoneSpread+stepSpread) {
				t.Errorf("spot price in %s is %v, average %v", zone, p.USD, average)
			}
			byZone[p.USD] = true
			moved = moved || p.USD != w.spotPrice("m5.large", zone, start).USD
		}
		if len(byZone) < 4 {
			t.Errorf("%d different prices, want nearly one a zone", len(byZone))
		}
		clock.Step(priceStep)
	}
	if !moved {
		t.Error("spot prices never move")
	}
	if p := w.spotPrice("m5.large", "us-west-2a", start); p.USD != 0 {
		t.Errorf("a zone elsewhere has price %v", p)
	}
}

func TestImagesAreUnique(t *testing.T) {
	w, _, _ := newWorld(t)
	ids, parameters := map[string]bool{}, map[string]bool{}
	for _, i := range w.Images() {
		if ids[i.ID] {
			t.Errorf("image id %s is used twice", i.ID)
		}
		ids[i.ID] = true
		for _, p := range i.Parameters {
			if parameters[p] {
				t.Errorf("parameter %s has two values", p)
			}
			parameters[p] = true
		}
	}
	own := w.AddImage(Image{Name: "mine", Arch: "arm64", Family: Custom})
	if image := w.imageByID(own); image == nil || image.Owner != "123456789012" {
		t.Errorf("own image is %+v", image)
	}
}

// A released image is recommended, and older ones keep their ids and their own parameters.
func TestReleaseImages(t *testing.T) {
	w, _, _ := newWorld(t)
	const path = "/aws/service/eks/optimized-ami/1.36/amazon-linux-2023/x86_64/standard/"
	ids := map[string]bool{}
	for range 3 {
		id, created, ok := w.Parameter(path + "recommended/image_id")
		if !ok || ids[id] {
			t.Fatalf("the recommended image is %q, the former ones were %v", id, ids)
		}
		ids[id] = true
		if own, _, _ := w.Parameter(path + "amazon-eks-node-al2023-x86_64-standard-1.36-" + stamp(created) + "/image_id"); own != id {
			t.Errorf("the image of %s is %q, want %q", stamp(created), own, id)
		}
		w.ReleaseImages()
	}
	if own, _, _ := w.Parameter(path + "amazon-eks-node-al2023-x86_64-standard-1.36-v20261029/image_id"); !ids[own] {
		t.Errorf("the image of the first release is %q, want one of %v", own, ids)
	}
}
