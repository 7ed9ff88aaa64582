package aws_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/awsemu"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/provider/aws"
)

// reserve creates a capacity reservation and makes the class select it by tag.
func (w *world) reserve(t *testing.T, r control.Reservation) string {
	t.Helper()
	r.Tags = map[string]string{"for": "nodes"}
	id, err := w.control.Reserve(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	w.respec(t, func(s *awsv1.EC2NodeClassSpec) {
		s.CapacityReservationSelectorTerms = []awsv1.CapacityReservationSelectorTerm{{Tags: r.Tags}}
	})
	return id
}

// anyCapacity stores a claim that may be reserved, spot or on demand.
func (w *world) anyCapacity(t *testing.T, name string) *apiv1.NodeClaim {
	t.Helper()
	c := w.claim(name)
	for n, r := range c.Spec.Requirements {
		if r.Key == apiv1.CapacityTypeLabelKey {
			c.Spec.Requirements[n].Values = []string{apiv1.CapacityTypeReserved, apiv1.CapacityTypeSpot, apiv1.CapacityTypeOnDemand}
		}
	}
	w.store(t, c)
	return c
}

// reservedOffer returns the reserved offering that the pool sees, and false if there is none.
func reservedOffer(t *testing.T, p *aws.Provider, id string) (cloud.Offering, bool) {
	t.Helper()
	list, err := p.InstanceTypes(t.Context(), pool())
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range list {
		for _, o := range it.Offerings {
			if o.ReservationID == id {
				return o, true
			}
		}
	}
	return cloud.Offering{}, false
}

// Reserved capacity is used before other capacity, until its count is used up.
func TestReservedCapacity(t *testing.T) {
	w := newWorld(t)
	p := w.start(t)
	id := w.reserve(t, control.Reservation{Type: "m5.4xlarge", Zone: "us-east-1b", Count: 1})
	if o, ok := reservedOffer(t, p, id); !ok || !o.Available || o.ReservationCapacity != 1 || o.Price <= 0 || o.Price > 0.001 {
		t.Fatalf("the offering is %+v, %v", o, ok)
	}
	first := create(t, p, w.anyCapacity(t, "first"))
	for key, want := range map[string]string{
		apiv1.CapacityTypeLabelKey: "reserved", awsv1.LabelCapacityReservationID: id, corev1.LabelInstanceTypeStable: "m5.4xlarge",
		awsv1.LabelCapacityReservationType: "default", awsv1.LabelCapacityReservationInterruptible: "false", corev1.LabelTopologyZone: "us-east-1b",
	} {
		if first.Labels[key] != want {
			t.Errorf("label %s is %q, want %q", key, first.Labels[key], want)
		}
	}
	fleet := w.calls(t, "CreateFleet")[0].Params
	template := w.calls(t, "CreateLaunchTemplate")
	if fleet["TargetCapacitySpecification.DefaultTargetCapacityType"] != "on-demand" || !slices.ContainsFunc(template, func(c control.Call) bool {
		return c.Params["LaunchTemplateData.CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId"] == id &&
			c.Params["LaunchTemplateData.CapacityReservationSpecification.CapacityReservationPreference"] == "capacity-reservations-only"
	}) {
		t.Errorf("fleet %v", fleet)
	}
	if o, _ := reservedOffer(t, p, id); !o.Available || o.Launchable() || o.ReservationCapacity != 0 {
		t.Errorf("afterwards the offering is %+v", o)
	}
	if second := create(t, p, w.anyCapacity(t, "second")); second.Labels[apiv1.CapacityTypeLabelKey] == "reserved" {
		t.Error("a reservation of one holds two")
	}
	w.launched(t, "first", first)
	got, err := p.Get(t.Context(), first.ProviderID)
	if err != nil || got.Labels[awsv1.LabelCapacityReservationID] != id {
		t.Errorf("EC2 tells of %+v, %v", got, err)
	}
	claim := w.load(t, "first")
	if why, err := p.Drift(t.Context(), claim); err != nil || why != "" {
		t.Errorf("drift is %q, %v", why, err)
	}
	w.respec(t, func(s *awsv1.EC2NodeClassSpec) { s.CapacityReservationSelectorTerms = nil })
	if why, err := p.Drift(t.Context(), claim); err != nil || why != aws.DriftReservation {
		t.Errorf("with a selector that leaves it out, drift is %q, %v", why, err)
	}
}

// The feature gate ReservedCapacity is switched off and on again. The node in a reservation does not drift, although the
// class lists no reservations while the gate is off.
func TestReservedNodeWhileGateIsOff(t *testing.T) {
	w := newWorld(t)
	p := w.start(t)
	id := w.reserve(t, control.Reservation{Type: "m5.large", Zone: "us-east-1b", Count: 1})
	first := create(t, p, w.anyCapacity(t, "first"))
	w.launched(t, "first", first)
	claim := w.load(t, "first")
	if claim.Labels[awsv1.LabelCapacityReservationID] != id {
		t.Fatalf("launched with labels %v, want reservation %s", claim.Labels, id)
	}
	drift := func(when string, p *aws.Provider) {
		t.Helper()
		if why, err := p.Drift(t.Context(), claim); err != nil || why != "" {
			t.Errorf("%s drift is %q, %v", when, why, err)
		}
	}
	p = w.startWith(t, func(c *aws.Config) { c.Settings.ReservedCapacity = false })
	drift("while the gate is off,", p)
	got, err := p.Get(t.Context(), first.ProviderID)
	if err != nil || got.Labels[apiv1.CapacityTypeLabelKey] != apiv1.CapacityTypeOnDemand || got.Labels[awsv1.LabelCapacityReservationID] != "" {
		t.Errorf("while the gate is off, the instance is %+v, %v", got, err)
	}
	var off awsv1.EC2NodeClass
	if err := w.kube.Get(t.Context(), types.NamespacedName{Name: "default"}, &off); err != nil {
		t.Fatal(err)
	}
	p = w.start(t)
	drift("when the gate is on again,", p)
	var on awsv1.EC2NodeClass
	if err := w.kube.Get(t.Context(), types.NamespacedName{Name: "default"}, &on); err != nil {
		t.Fatal(err)
	}
	on.Status = off.Status // as before the first reconciliation of the class
	if err := w.kube.Status().Update(t.Context(), &on); err != nil {
		t.Fatal(err)
	}
	drift("before the class is reconciled,", p)
}

// If a launch fails because others have used up a reservation, the next attempt uses spot or on-demand capacity.
func TestReservationUsedUpByOthers(t *testing.T) {
	w := newWorld(t)
	p := w.start(t)
	id := w.reserve(t, control.Reservation{Type: "m5.large", Zone: "us-east-1a", Count: 1, Targeted: true})
	if err := w.control.Cancel(t.Context(), id); err != nil { // the cached reservation is stale then
		t.Fatal(err)
	}
	var none *cloud.InsufficientCapacityError
	if _, err := p.Create(t.Context(), w.anyCapacity(t, "a")); !errors.As(err, &none) {
		t.Fatalf("into a reservation that is gone: %v", err)
	}
	if i := create(t, p, w.anyCapacity(t, "b")); i.Labels[apiv1.CapacityTypeLabelKey] == "reserved" {
		t.Errorf("launched %v", i.Labels)
	}
}

// Fleets for capacity blocks and for interruptible reservations have their special parameters.
func TestKindsOfReservations(t *testing.T) {
	for _, tt := range []struct {
		name              string
		r                 control.Reservation
		target, market    string
		kind, interrupted string
	}{
		{"block", control.Reservation{Type: "p5.48xlarge", Zone: "us-east-1a", Count: 1, Block: true}, "capacity-block", "capacity-block", "capacity-block", "false"},
		{"interruptible", control.Reservation{Type: "m5.large", Zone: "us-east-1a", Count: 1, Interruptible: true, Targeted: true},
			"reserved-capacity", "interruptible-capacity-reservation", "default", "true"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			p := w.start(t)
			id := w.reserve(t, tt.r)
			c := w.claim("a")
			c.Spec.Requirements = []apiv1.NodeSelectorRequirementWithMinValues{
				only(apiv1.CapacityTypeLabelKey, apiv1.CapacityTypeReserved), only(awsv1.LabelCapacityReservationID, id),
			}
			w.store(t, c)
			i := create(t, p, c)
			if i.Labels[awsv1.LabelCapacityReservationType] != tt.kind || i.Labels[awsv1.LabelCapacityReservationInterruptible] != tt.interrupted {
				t.Errorf("labels are %v", i.Labels)
			}
			sent := w.calls(t, "CreateFleet")[0].Params
			if sent["TargetCapacitySpecification.DefaultTargetCapacityType"] != tt.target || sent["OnDemandOptions.AllocationStrategy"] != "" {
				t.Errorf("the fleet asks for %q, on-demand %q", sent["TargetCapacitySpecification.DefaultTargetCapacityType"], sent["OnDemandOptions.AllocationStrategy"])
			}
			if !slices.ContainsFunc(w.calls(t, "CreateLaunchTemplate"), func(c control.Call) bool {
				return c.Params["LaunchTemplateData.InstanceMarketOptions.MarketType"] == tt.market
			}) {
				t.Errorf("no template of market type %s", tt.market)
			}
			again, err := p.Get(t.Context(), i.ProviderID)
			if err != nil || again.Labels[awsv1.LabelCapacityReservationType] != tt.kind || again.Labels[awsv1.LabelCapacityReservationInterruptible] != tt.interrupted {
				t.Errorf("EC2 tells of %+v, %v", again, err)
			}
		})
	}
}

// An instance whose reservation has ended is on-demand, and gets the labels for that.
func TestReservationEnds(t *testing.T) {
	w := newWorld(t)
	p := w.start(t)
	id := w.reserve(t, control.Reservation{Type: "m5.large", Zone: "us-east-1a", Count: 1})
	i := create(t, p, w.anyCapacity(t, "a"))
	w.launched(t, "a", i)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: w.load(t, "a").Labels}, Spec: corev1.NodeSpec{ProviderID: i.ProviderID}}
	if err := w.kube.Create(t.Context(), node); err != nil {
		t.Fatal(err)
	}
	w.reconcile(t, "capacityreservation.capacitytype", "")
	if got := w.load(t, "a").Labels[apiv1.CapacityTypeLabelKey]; got != "reserved" {
		t.Errorf("while it lasts the claim is %s", got)
	}
	if err := w.control.Cancel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	w.reconcile(t, "capacityreservation.capacitytype", "")
	if err := w.kube.Get(t.Context(), types.NamespacedName{Name: "n"}, node); err != nil {
		t.Fatal(err)
	}
	for what, labels := range map[string]map[string]string{"claim": w.load(t, "a").Labels, "node": node.Labels} {
		for key := range labels {
			if strings.Contains(key, "capacity-reservation") {
				t.Errorf("the %s keeps label %s", what, key)
			}
		}
		if labels[apiv1.CapacityTypeLabelKey] != "on-demand" {
			t.Errorf("the %s is %s", what, labels[apiv1.CapacityTypeLabelKey])
		}
	}
}

// Nodes of a capacity block are removed before the block ends, also if no class selects the block any more, and if the feature gate
// was turned off.
func TestBlockEnds(t *testing.T) {
	for name, tt := range map[string]struct{ deselect, gateOff bool }{
		"selected": {}, "no longer selected": {deselect: true}, "gate off": {gateOff: true},
	} {
		t.Run(name, func(t *testing.T) { testBlockEnds(t, tt.deselect, tt.gateOff) })
	}
}

func testBlockEnds(t *testing.T, deselect, gateOff bool) {
	w := newWorldSelling(t, "p5.48xlarge")
	p := w.start(t)
	w.reserve(t, control.Reservation{Type: "p5.48xlarge", Zone: "us-east-1a", Count: 1, Block: true, For: control.Duration(90 * time.Minute)})
	c := w.claim("a")
	c.Spec.Requirements = []apiv1.NodeSelectorRequirementWithMinValues{only(apiv1.CapacityTypeLabelKey, apiv1.CapacityTypeReserved)}
	c.Finalizers = []string{apiv1.TerminationFinalizer}
	w.store(t, c)
	w.launched(t, "a", create(t, p, c))
	if deselect {
		w.respec(t, func(s *awsv1.EC2NodeClassSpec) {
			s.CapacityReservationSelectorTerms = []awsv1.CapacityReservationSelectorTerm{{ID: "cr-00000000000000000"}}
		})
	}
	if gateOff {
		w.startWith(t, func(c *aws.Config) { c.Settings.ReservedCapacity = false })
	}
	w.reconcile(t, "capacityreservation.expiration", "")
	if !w.load(t, "a").DeletionTimestamp.IsZero() {
		t.Fatal("the claim goes too early")
	}
	w.startWith(t, func(c *aws.Config) { c.Clock, c.Settings.ReservedCapacity = lateClock{}, !gateOff })
	expiring := w.reconcile(t, "capacityreservation.expiration", "")
	if expiring.RequeueAfter <= 0 || w.load(t, "a").DeletionTimestamp.IsZero() {
		t.Errorf("the claim stays although its block ends; again in %v", expiring.RequeueAfter)
	}
}

// A class with a placement group launches in this group. The partition label is set when the node registers.
func TestPlacementGroups(t *testing.T) {
	w := newWorld(t)
	p := w.start(t)
	id, err := w.control.Place(t.Context(), control.Placement{Name: "racks", Strategy: "partition", Partitions: 3})
	if err != nil {
		t.Fatal(err)
	}
	w.respec(t, func(s *awsv1.EC2NodeClassSpec) {
		s.PlacementGroupSelector = &awsv1.PlacementGroupSelector{Name: "racks"}
	})
	free := create(t, p, w.claimFor(t, "free", "m5.large"))
	if free.Labels[awsv1.LabelPlacementGroupID] != id || free.Labels[awsv1.LabelPlacementGroupPartition] != "" {
		t.Errorf("labels are %v", free.Labels)
	}
	w.launched(t, "free", free)
	wait, labels, err := p.Registered(t.Context(), w.load(t, "free"))
	if err != nil || wait != 0 || labels[awsv1.LabelPlacementGroupPartition] != "1" {
		t.Errorf("registered: wait %v, labels %v, %v", wait, labels, err)
	}
	c := w.claim("third")
	c.Spec.Requirements = append(c.Spec.Requirements, only(awsv1.LabelPlacementGroupPartition, "3"))
	w.store(t, c)
	if third := create(t, p, c); third.Labels[awsv1.LabelPlacementGroupPartition] != "3" {
		t.Errorf("labels are %v", third.Labels)
	}
	w.respec(t, func(s *awsv1.EC2NodeClassSpec) { s.PlacementGroupSelector = nil })
	if why, err := p.Drift(t.Context(), w.load(t, "free")); err != nil || why != aws.DriftNodeClass && why != aws.DriftPlacement {
		t.Errorf("drift is %q, %v", why, err)
	}
}

// A process ends before it reads the answer of its fleet call. The next one adopts the instance, and still sets the label of the
// partition that EC2 has chosen, although EC2 does not return it before the instance runs.
func TestPartitionOfAdoptedInstance(t *testing.T) {
	clock := clocktesting.NewFakeClock(time.Now())
	w := newWorldOf(t, awsemu.Config{Sells: []string{"m5.large"}, Clock: clock, Timing: awsemu.Timing{Pending: time.Minute}})
	k := &killer{}
	first := w.startWith(t, func(c *aws.Config) { c.AWS.HTTPClient = &http.Client{Transport: k} })
	if _, err := w.control.Place(t.Context(), control.Placement{Name: "racks", Strategy: "partition", Partitions: 3}); err != nil {
		t.Fatal(err)
	}
	w.respec(t, func(s *awsv1.EC2NodeClassSpec) {
		s.PlacementGroupSelector = &awsv1.PlacementGroupSelector{Name: "racks"}
	})
	c := w.claimFor(t, "a", "m5.large")
	k.mu.Lock()
	k.moment, k.after, k.kill = "after CreateFleet", 1, w.stop
	k.mu.Unlock()
	if i, err := first.Create(w.ctx, c); err == nil {
		t.Fatalf("the first process got %s", i.ProviderID)
	}
	second := w.start(t)
	for range 2 { // the second call returns the instance that the process remembers
		i := create(t, second, w.load(t, "a"))
		if partition, waits := i.Labels[awsv1.LabelPlacementGroupPartition]; !waits || partition != "" {
			t.Errorf("labels are %v", i.Labels)
		}
		w.launched(t, "a", i)
	}
	if wait, labels, err := second.Registered(t.Context(), w.load(t, "a")); err != nil || wait == 0 || len(labels) > 0 {
		t.Errorf("pending: wait %v, labels %v, %v", wait, labels, err)
	}
	clock.Step(time.Minute)
	if wait, labels, err := second.Registered(t.Context(), w.load(t, "a")); err != nil || wait != 0 || labels[awsv1.LabelPlacementGroupPartition] != "1" {
		t.Errorf("running: wait %v, labels %v, %v", wait, labels, err)
	}
	if n := len(w.alive(t)); n != 1 {
		t.Errorf("%d instances for one claim", n)
	}
}

// A spread placement group is full with seven instances in a zone. An eighth instance of any type gives an
// InsufficientCapacityError.
func TestSpreadGroupFull(t *testing.T) {
	w := newWorld(t)
	p := w.start(t)
	if _, err := w.control.Place(t.Context(), control.Placement{Name: "apart", Strategy: "spread"}); err != nil {
		t.Fatal(err)
	}
	w.respec(t, func(s *awsv1.EC2NodeClassSpec) {
		s.PlacementGroupSelector = &awsv1.PlacementGroupSelector{Name: "apart"}
	})
	one := func(name string) *apiv1.NodeClaim {
		c := w.claim(name)
		c.Spec.Requirements = append(c.Spec.Requirements, only(corev1.LabelTopologyZone, "us-east-1a"), only(apiv1.CapacityTypeLabelKey, "on-demand"))
		w.store(t, c)
		return c
	}
	for n := range 7 {
		create(t, p, one(string(rune('a'+n))))
	}
	var none *cloud.InsufficientCapacityError
	if _, err := p.Create(t.Context(), one("h")); !errors.As(err, &none) || !strings.Contains(err.Error(), "spread placement group") {
		t.Errorf("the eighth: %v", err)
	}
	elsewhere := w.claim("elsewhere")
	w.store(t, elsewhere)
	create(t, p, elsewhere)
}

// A used-up quota is reported as such, and other families are tried.
func TestQuota(t *testing.T) {
	w := newWorld(t)
	p := w.start(t)
	if err := w.control.SetQuota(t.Context(), control.Quota{Capacity: "on-demand", VCPUs: 2}); err != nil {
		t.Fatal(err)
	}
	create(t, p, w.claimFor(t, "first", "m5.large"))
	_, err := p.Create(t.Context(), w.claimFor(t, "second", "m5.large"))
	var none *cloud.InsufficientCapacityError
	if !errors.As(err, &none) || !strings.Contains(err.Error(), "quota of on-demand vCPUs for Standard (A, C, D, H, I, M, R, T, Z) instances is used up") {
		t.Errorf("beyond the quota: %v", err)
	}
	list, err := p.InstanceTypes(t.Context(), pool())
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range list {
		for _, o := range it.Offerings {
			standard := it.Capacity[corev1.ResourceCPU] >= 2000 && !strings.HasPrefix(it.Name, "g") && !strings.HasPrefix(it.Name, "p")
			if o.CapacityType == "on-demand" && o.Available == standard {
				t.Errorf("%s on demand is available: %v", it.Name, o.Available)
				return
			}
		}
	}
}
