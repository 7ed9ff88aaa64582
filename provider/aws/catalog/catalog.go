package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/types"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/provider/aws/shipped"
)

// Prices tells what machines cost, in dollars per hour.
type Prices interface {
	OnDemand(instanceType string) (price float64, ok bool)
	Spot(instanceType, zone string) (price float64, ok bool)
	// Revision changes whenever a price does.
	Revision() uint64
}

// A Catalog answers which types a node class may use now. It is safe for concurrent use, and readers never wait for a
// refresh.
type Catalog struct {
	api       API
	region    string
	options   Options
	prices    Prices
	shortages *Shortages
	known     map[string]shipped.Type

	inventory atomic.Pointer[stock]

	mu    sync.Mutex // guards built
	built map[types.UID]*entry
}

// stock is an Inventory, numbered.
type stock struct {
	Inventory
	byName   map[string]Machine
	revision uint64
}

// entry is what was last built for a class.
type entry struct {
	key      string
	base     []*model.InstanceType
	revision [2]uint64 // of prices and shortages
	priced   []*model.InstanceType
}

// Config names what a Catalog needs.
type Config struct {
	API       API
	Region    string
	Options   Options
	Prices    Prices
	Shortages *Shortages
	Shipped   *shipped.Catalog
}

// New returns a Catalog that is empty until its first Refresh.
func New(c Config) *Catalog {
	known := make(map[string]shipped.Type, len(c.Shipped.Types))
	for _, t := range c.Shipped.Types {
		known[t.Name] = t
	}
	return &Catalog{
		api: c.API, region: c.Region, options: c.Options, prices: c.Prices, shortages: c.Shortages, known: known,
		built: map[types.UID]*entry{},
	}
}

// Machine returns what EC2 publishes of a type.
func (c *Catalog) Machine(name string) (Machine, bool) {
	s := c.inventory.Load()
	if s == nil {
		return Machine{}, false
	}
	m, ok := s.byName[name]
	return m, ok
}

// Machines returns all machines, in name order.
func (c *Catalog) Machines() []Machine {
	s := c.inventory.Load()
	if s == nil {
		return nil
	}
	return s.Machines
}

// Shape returns what class makes of machines.
func (c *Catalog) Shape(class *awsv1.EC2NodeClass) Shape { return ShapeOf(class, c.region, c.options) }

// Types returns the types for nodes of class, in name order, priced and marked available as of now. As long as nothing
// changed it returns the same slice. Callers do not change it.
func (c *Catalog) Types(class *awsv1.EC2NodeClass) ([]*model.InstanceType, error) {
	s := c.inventory.Load()
	switch {
	case s == nil || len(s.Machines) == 0:
		return nil, fmt.Errorf("list instance types of node class %s: EC2 has not told of any yet", class.Name)
	case len(class.Status.Subnets) == 0:
		return nil, fmt.Errorf("list instance types of node class %s: no subnets", class.Name)
	}
	key, err := keyOf(class, s.revision)
	if err != nil {
		return nil, err
	}
	revision := [2]uint64{c.prices.Revision(), c.shortages.Revision()}
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

// Forget drops what was built for a class that is gone.
func (c *Catalog) Forget(class types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.built, class)
}

// keyOf identifies everything that Build looks at.
func keyOf(class *awsv1.EC2NodeClass, inventory uint64) (string, error) {
	zones := map[string]string{} // their order follows free addresses and does not matter
	for _, n := range class.Status.Subnets {
		zones[n.Zone] = n.ZoneID
	}
	key, err := json.Marshal([]any{class.Generation, inventory, zones, class.Status.AMIs, class.Spec})
	if err != nil {
		return "", fmt.Errorf("identify node class %s: %w", class.Name, err)
	}
	return string(key), nil
}

// price returns copies of base with prices and availability filled in.
func (c *Catalog) price(base []*model.InstanceType, class *awsv1.EC2NodeClass) []*model.InstanceType {
	subnets := map[string][]string{}
	for _, n := range class.Status.Subnets {
		subnets[n.Zone] = append(subnets[n.Zone], n.ID)
	}
	return Price(base, c.prices, func(t *model.InstanceType, o model.Offering) bool {
		return !c.shortages.Known(t.Name, o.Zone, o.CapacityType, subnets[o.Zone])
	})
}

// Price returns copies of base with prices filled in. An offering is available if it has a price and inStock holds.
func Price(
	base []*model.InstanceType, prices Prices, inStock func(*model.InstanceType, model.Offering) bool,
) []*model.InstanceType {
	out := make([]*model.InstanceType, len(base))
	for i, t := range base {
		priced := *t
		priced.Offerings = slices.Clone(t.Offerings)
		for j := range priced.Offerings {
			o := &priced.Offerings[j]
			var known bool
			if o.CapacityType == apiv1.CapacityTypeSpot {
				o.Price, known = prices.Spot(t.Name, o.Zone)
			} else {
				o.Price, known = prices.OnDemand(t.Name)
			}
			o.Available = known && inStock(t, *o)
		}
		out[i] = &priced
	}
	return out
}

// Zones returns all zones in which anything is sold.
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
