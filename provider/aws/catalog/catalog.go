package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/commitment"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/provider/aws/kubelet"
	"github.com/karpenter-go/karpenter/provider/aws/placement"
	"github.com/karpenter-go/karpenter/provider/aws/shipped"
)

// Prices returns the prices of instance types in dollars per hour.
type Prices interface {
	OnDemand(instanceType string) (price float64, ok bool)
	Spot(instanceType, zone string) (price float64, ok bool)
	// SpotSince returns since when the spot price is in force, zero if that is not known.
	SpotSince(instanceType, zone string) time.Time
	// Covers returns the commitments that cover on-demand instances of the type in the zone. fees is the price of an
	// instance that they cover wholly.
	Covers(instanceType, zone string) (covers []commitment.Cover, fees float64)
	// Revision returns a number that changes whenever a price changes.
	Revision() uint64
}

// Reservations returns how many instances are left in capacity reservations.
type Reservations interface {
	Left(id string) int
	// Revision returns a number that changes whenever a count changes.
	Revision() uint64
}

// Placements returns the placement group of a class as it was last found, nil for none.
type Placements interface {
	Last(class *awsv1.EC2NodeClass) *placement.Group
}

// A Catalog returns the instance types that nodes of a class may have now. It is safe for concurrent use, and readers
// never wait for a refresh.
type Catalog struct {
	api       API
	region    string
	options   Options
	prices    Prices
	shortages *Shortages
	reserved  Reservations
	placed    Placements
	shifted   Shifts
	learned   Learned
	known     map[string]shipped.Type

	inventory atomic.Pointer[stock]

	mu    sync.Mutex // guards built
	built map[types.UID]*entry
}

// stock is an Inventory with a revision number.
type stock struct {
	Inventory
	byName   map[string]Machine
	revision uint64
}

// entry has the cached types of one class: base is the result of Build for key, and priced are copies of base with
// the prices and availability at revision.
type entry struct {
	key      string
	base     []*model.InstanceType
	revision [4]uint64 // of prices, shortages, reservations, shifts
	priced   []*model.InstanceType
}

// Config has the dependencies and settings of a Catalog.
type Config struct {
	API       API
	Region    string
	Options   Options
	Prices    Prices
	Shortages *Shortages
	// Reserved, Placed and Shifted may be nil. Then there are no reservations, placement groups or zonal shifts.
	Reserved Reservations
	Placed   Placements
	Shifted  Shifts
	// Learned may be nil. Then the memory of nodes is always estimated.
	Learned Learned
	Shipped *shipped.Catalog
}

// Shifts reports from which zones traffic is shifted away.
type Shifts interface {
	Away(zoneID string) bool
	// Revision returns a number that changes whenever a shift begins or ends.
	Revision() uint64
}

// New returns a Catalog that is empty until its first Refresh.
func New(c Config) *Catalog {
	known := make(map[string]shipped.Type, len(c.Shipped.Types))
	for _, t := range c.Shipped.Types {
		known[t.Name] = t
	}
	for name, n := range c.Shipped.BranchENIs {
		known[name] = shipped.Type{Name: name, Trunking: true, BranchENIs: n}
	}
	return &Catalog{
		api: c.API, region: c.Region, options: c.Options, prices: c.Prices, shortages: c.Shortages, known: known,
		reserved: c.Reserved, placed: c.Placed, shifted: c.Shifted, learned: c.Learned, built: map[types.UID]*entry{},
	}
}

// Machine returns the facts that EC2 publishes about a type. It returns false if no types were read yet, or EC2 does
// not offer the type in the region.
func (c *Catalog) Machine(name string) (Machine, bool) {
	s := c.inventory.Load()
	if s == nil {
		return Machine{}, false
	}
	m, ok := s.byName[name]
	return m, ok
}

// Machines returns all machines, in name order. It returns nil before the first
// successful Refresh.
func (c *Catalog) Machines() []Machine {
	s := c.inventory.Load()
	if s == nil {
		return nil
	}
	return s.Machines
}

// Memory returns the memory of a type in bytes, without deductions, and false if EC2 does not offer the type in the
// region.
func (c *Catalog) Memory(instanceType string) (int64, bool) {
	for _, m := range c.Machines() {
		if m.Name == instanceType {
			return m.MemoryMiB * mib, true
		}
	}
	return 0, false
}

// Shape returns the Shape of nodes of the class.
func (c *Catalog) Shape(class *awsv1.EC2NodeClass) Shape {
	s := ShapeOf(class, c.region, c.options)
	s.Group, s.Learned = c.group(class), c.learned
	return s
}

func (c *Catalog) group(class *awsv1.EC2NodeClass) *placement.Group {
	if c.placed == nil {
		return nil
	}
	return c.placed.Last(class)
}

// Kubelet returns the kubelet settings for one type of the class, with expressions evaluated. The error names the
// expressions that have no value for the type. If EC2 does not offer the type, expressions are not evaluated.
func (c *Catalog) Kubelet(class *awsv1.EC2NodeClass, instanceType string) (kubelet.Config, error) {
	s := c.Shape(class)
	m, ok := c.Machine(instanceType)
	if !ok {
		return s.Kubelet, nil
	}
	s, err := s.on(m)
	return s.Kubelet, err
}

// Evaluate evaluates the expressions of the class's kubelet section for each machine, and returns the first error.
func (c *Catalog) Evaluate(class *awsv1.EC2NodeClass) error {
	s := c.Shape(class)
	for _, m := range c.Machines() {
		if _, err := s.on(m); err != nil {
			return err
		}
	}
	return nil
}

// Types returns the instance types for nodes of class, in name order, with current prices and availability. It
// returns the same slice until something changes. Callers must not change it. Types fails before the first successful
// Refresh, and if the status of the class has no subnets.
func (c *Catalog) Types(class *awsv1.EC2NodeClass) ([]*model.InstanceType, error) {
	s := c.inventory.Load()
	switch {
	case s == nil || len(s.Machines) == 0:
		return nil, fmt.Errorf("list instance types of node class %s: none were read from EC2 yet", class.Name)
	case len(class.Status.Subnets) == 0:
		return nil, fmt.Errorf("list instance types of node class %s: no subnets", class.Name)
	}
	key, err := keyOf(class, [2]uint64{s.revision, c.learnedRevision()}, c.group(class))
	if err != nil {
		return nil, err
	}
	revision := c.revisions()
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.built[class.UID]
	if e == nil || e.key != key {
		e = &entry{key: key, base: Build(s.Inventory, c.Shape(class))}
		c.built[class.UID] = e
	}
	if e.priced == nil || e.revision != revision {
		e.priced, e.revision = c.price(e.base, class), revision
	}
	return e.priced, nil
}

// revisions returns the revisions of prices, shortages, reservations and zonal shifts.
func (c *Catalog) revisions() [4]uint64 {
	out := [4]uint64{c.prices.Revision(), c.shortages.Revision()}
	if c.reserved != nil {
		out[2] = c.reserved.Revision()
	}
	if c.shifted != nil {
		out[3] = c.shifted.Revision()
	}
	return out
}

// Forget removes the cached types of a class that is deleted.
func (c *Catalog) Forget(class types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.built, class)
}

func (c *Catalog) learnedRevision() uint64 {
	if c.learned == nil {
		return 0
	}
	return c.learned.Revision()
}

// keyOf returns a text that changes whenever an input of Build changes.
func keyOf(class *awsv1.EC2NodeClass, revisions [2]uint64, group *placement.Group) (string, error) {
	zones := map[string]string{} // the order of subnets depends on free addresses and does not matter here
	for _, n := range class.Status.Subnets {
		zones[n.Zone] = n.ZoneID
	}
	key, err := json.Marshal([]any{
		class.Generation, revisions, zones, class.Status.AMIs, class.Status.CapacityReservations, group, class.Spec,
	})
	if err != nil {
		return "", fmt.Errorf("identify node class %s: %w", class.Name, err)
	}
	return string(key), nil
}

// price returns copies of base with prices and availability filled in.
func (c *Catalog) price(base []*model.InstanceType, class *awsv1.EC2NodeClass) []*model.InstanceType {
	subnets, away := map[string][]string{}, map[string]bool{}
	for _, n := range class.Status.Subnets {
		subnets[n.Zone] = append(subnets[n.Zone], n.ID)
		away[n.Zone] = c.shifted != nil && c.shifted.Away(n.ZoneID)
	}
	ends := map[string]bool{}
	for _, r := range class.Status.CapacityReservations {
		ends[r.ID] = r.State == awsv1.CapacityReservationStateExpiring
	}
	group := c.group(class)
	return Price(base, c.prices, func(t *model.InstanceType, o *model.Offering) bool {
		if away[o.Zone] {
			return false
		}
		if o.ReservationID != "" && c.reserved != nil {
			o.ReservationCapacity = c.reserved.Left(o.ReservationID)
		}
		ask := Ask{
			Type: t.Name, Zone: o.Zone, CapacityType: o.CapacityType, VCPUs: t.Capacity[corev1.ResourceCPU] / 1000,
			Subnets: subnets[o.Zone], Place: placeOf(group, o), Reservation: o.ReservationID,
		}
		o.Quota = c.shortages.Quota(ask)
		return !ends[o.ReservationID] && !c.shortages.Known(ask)
	})
}

// placeOf returns the placement group, and the partition of the offering.
func placeOf(group *placement.Group, o *model.Offering) Place {
	switch {
	case group == nil:
		return Place{}
	case group.Partitions == 0:
		return Place{Group: group.ID}
	}
	return Place{Group: group.ID, Partition: o.Requirements.Labels()[awsv1.LabelPlacementGroupPartition]}
}

// reservedShare is the price of a reserved offering as a share of the on-demand price. It is nearly zero, because the
// reservation is paid for in any case. It is not zero, so that smaller instances are preferred to larger ones.
const reservedShare = 1e-7

// reservedPerVCPU stands for the on-demand price of a vCPU, in dollars per hour, in the price of a reserved offering whose type
// has no on-demand price or is free.
const reservedPerVCPU = 0.05

// Price returns copies of base with prices filled in. An offering is available if its price is known and inStock
// returns true. The price of a reserved offering always counts as known. inStock may set other fields of the
// offering: how many instances are left in its reservation, and the quota that makes it unavailable. If only the
// price is missing, the offering is Unpriced.
func Price(
	base []*model.InstanceType, prices Prices, inStock func(*model.InstanceType, *model.Offering) bool,
) []*model.InstanceType {
	out := make([]*model.InstanceType, len(base))
	for i, t := range base {
		priced := *t
		priced.Offerings = slices.Clone(t.Offerings)
		for j := range priced.Offerings {
			o := &priced.Offerings[j]
			known := true
			switch o.CapacityType {
			case apiv1.CapacityTypeReserved:
				o.Price = reservedPrice(t, prices)
			case apiv1.CapacityTypeSpot:
				o.Price, known = prices.Spot(t.Name, o.Zone)
				o.Since = prices.SpotSince(t.Name, o.Zone)
			default:
				o.Price, known = prices.OnDemand(t.Name)
				o.Covers, o.CoveredPrice = prices.Covers(t.Name, o.Zone)
			}
			stocked := inStock(t, o)
			o.Available, o.Unpriced = known && stocked, !known && stocked
		}
		out[i] = &priced
	}
	return out
}

// reservedPrice returns the price of reserved offerings of the type. It is never 0.
func reservedPrice(t *model.InstanceType, prices Prices) float64 {
	list, known := prices.OnDemand(t.Name)
	if !known || list <= 0 {
		list = reservedPerVCPU * float64(t.Capacity[corev1.ResourceCPU]) / 1000
	}
	return list * reservedShare
}

// Zones returns the names of all zones in which EC2 offers some instance type, in order. It returns nil before the
// first successful Refresh.
func (c *Catalog) Zones() []string {
	s := c.inventory.Load()
	if s == nil {
		return nil
	}
	zones := map[string]bool{}
	for _, sold := range s.Zones {
		for _, z := range sold {
			zones[z] = true
		}
	}
	return slices.Sorted(maps.Keys(zones))
}
