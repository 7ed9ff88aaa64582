package catalog

import (
	"bytes"
	"compress/gzip"
	_ "embed" // the data
	"encoding/json"
	"fmt"
	"slices"
	"sync"
)

//go:embed catalog.json.gz
var shipped []byte

// A Catalog has EC2's instance types, regions and prices. It is read-only.
type Catalog struct {
	Generated string `json:"generated"`
	AsOf      struct {
		Prices    string `json:"prices"`
		Instances string `json:"instances"`
		Limits    string `json:"limits"`
	} `json:"asOf"`
	Types   []Type   `json:"types"`
	Regions []Region `json:"regions"`
}

// A Type is one instance type.
type Type struct {
	Name             string        `json:"name"`
	VCPU             int           `json:"vcpu"`
	MemoryMiB        int           `json:"memoryMiB"`
	Arch             []string      `json:"arch"`
	Manufacturer     string        `json:"manufacturer"`
	ClockGHz         float64       `json:"clockGHz"`
	Hypervisor       string        `json:"hypervisor"`
	BareMetal        bool          `json:"bareMetal"`
	Current          bool          `json:"current"`
	Burstable        bool          `json:"burstable"`
	Usage            []string      `json:"usage"`
	ENIs             int           `json:"enis"`
	IPsPerENI        int           `json:"ipsPerENI"`
	Cards            []int         `json:"cards"`
	DefaultCard      int           `json:"defaultCard"`
	NetworkMbps      int           `json:"networkMbps"`
	NetworkPeakMbps  int           `json:"networkPeakMbps"`
	NetworkText      string        `json:"networkText"`
	EBSMbps          int           `json:"ebsMbps"`
	EBSBaselineMbps  int           `json:"ebsBaselineMbps"`
	EBSDefault       bool          `json:"ebsDefault"`
	NVMeGB           int           `json:"nvmeGB"`
	NVMe             bool          `json:"nvme"`
	Disks            int           `json:"disks"`
	GPUs             []GPU         `json:"gpus"`
	Neuron           []Neuron      `json:"neuron"`
	Accelerators     []Accelerator `json:"accelerators"`
	EFAs             int           `json:"efas"`
	Encryption       bool          `json:"encryption"`
	Enclaves         bool          `json:"enclaves"`
	ClusterPlacement bool          `json:"clusterPlacement"`
}

// A GPU is a number of equal GPUs. MemoryMiB is the memory of one of them.
type GPU struct {
	Name         string `json:"name"`
	Manufacturer string `json:"manufacturer"`
	Count        int    `json:"count"`
	MemoryMiB    int    `json:"memoryMiB"`
}

// Neuron is a number of equal AWS machine-learning chips.
type Neuron struct {
	Name           string `json:"name"`
	Count          int    `json:"count"`
	CoresPerDevice int    `json:"coresPerDevice"`
}

// An Accelerator is a number of equal inference chips, in the older form of EC2.
type Accelerator struct {
	Name         string `json:"name"`
	Manufacturer string `json:"manufacturer"`
	Count        int    `json:"count"`
}

// A Region has its zones, and its offers by the name of the type.
type Region struct {
	Name   string
	Zones  []Zone
	Offers map[string]Offer
}

// Only returns a copy of the region with only those types for which keep returns true.
func (r *Region) Only(keep func(name string) bool) *Region {
	out := &Region{Name: r.Name, Zones: r.Zones, Offers: map[string]Offer{}}
	for name, offer := range r.Offers {
		if keep(name) {
			out.Offers[name] = offer
		}
	}
	return out
}

// spotPart is the ratio of spot to on-demand prices in regions without spot prices in the catalogue, such as GovCloud.
const spotPart = 0.4

// WithSpot returns the region with computed spot prices if it has no spot prices at all, otherwise unchanged.
func (r *Region) WithSpot() *Region {
	out := &Region{Name: r.Name, Zones: r.Zones, Offers: make(map[string]Offer, len(r.Offers))}
	for name, offer := range r.Offers {
		if offer.Spot > 0 {
			return r
		}
		offer.Spot = offer.OnDemand * spotPart
		out.Offers[name] = offer
	}
	return out
}

// As returns a copy of the region with another name. Its zones are renamed, too; zone ids and offers are the same.
func (r *Region) As(name string) *Region {
	rename := func(zone string) string { return name + zone[len(r.Name):] }
	out := &Region{Name: name, Offers: make(map[string]Offer, len(r.Offers))}
	for _, z := range r.Zones {
		out.Zones = append(out.Zones, Zone{Name: rename(z.Name), ID: z.ID})
	}
	for t, offer := range r.Offers {
		zones := make([]string, len(offer.Zones))
		for i, z := range offer.Zones {
			zones[i] = rename(z)
		}
		offer.Zones = zones
		out.Offers[t] = offer
	}
	return out
}

// A Zone is an availability zone: its name in this account and its id, which is the same in all accounts.
type Zone struct {
	Name string `json:"name"`
	ID   string `json:"id"`
}

// An Offer has the zones of a region in which a type is available, and its prices. Prices are in USD per hour, 0 if
// the type is not offered or its price is not known. Spot is an average over the zones.
type Offer struct {
	Zones    []string // names, sorted
	OnDemand float64
	Spot     float64
}

// Load returns the shipped catalogue. It is decoded once and shared by all callers, which must not change it.
var Load = sync.OnceValues(load)

// load decodes the shipped catalogue.
func load() (*Catalog, error) {
	zr, err := gzip.NewReader(bytes.NewReader(shipped))
	if err != nil {
		return nil, fmt.Errorf("open catalog: %w", err)
	}
	var raw struct {
		Catalog
		Schema  int `json:"schema"`
		Regions []struct {
			Name   string       `json:"name"`
			Zones  []Zone       `json:"zones"`
			Offers [][4]float64 `json:"offers"`
		} `json:"regions"`
	}
	if err := json.NewDecoder(zr).Decode(&raw); err != nil {
		return nil, fmt.Errorf("decode catalog: %w", err)
	}
	if raw.Schema != 1 {
		return nil, fmt.Errorf("decode catalog: schema %d, want 1", raw.Schema)
	}
	c := raw.Catalog
	for _, r := range raw.Regions {
		region := Region{Name: r.Name, Zones: r.Zones, Offers: make(map[string]Offer, len(r.Offers))}
		for _, o := range r.Offers {
			offer := Offer{OnDemand: o[2], Spot: o[3]}
			for i, z := range r.Zones {
				if uint(o[1])&(1<<i) != 0 {
					offer.Zones = append(offer.Zones, z.Name)
				}
			}
			region.Offers[c.Types[int(o[0])].Name] = offer
		}
		c.Regions = append(c.Regions, region)
	}
	return &c, nil
}

// Type returns a type by name.
func (c *Catalog) Type(name string) (*Type, bool) {
	// hack/catalog sorts types by name.
	i, ok := slices.BinarySearchFunc(c.Types, name, func(t Type, name string) int {
		switch {
		case t.Name < name:
			return -1
		case t.Name > name:
			return 1
		}
		return 0
	})
	if !ok {
		return nil, false
	}
	return &c.Types[i], true
}

// Region returns a region by name.
func (c *Catalog) Region(name string) (*Region, bool) {
	i := slices.IndexFunc(c.Regions, func(r Region) bool { return r.Name == name })
	if i < 0 {
		return nil, false
	}
	return &c.Regions[i], true
}
