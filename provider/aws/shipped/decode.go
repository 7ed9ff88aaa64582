package shipped

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"encoding/json"
	"fmt"
	"sync"
)

//go:embed catalog.json.gz
var data []byte

// schema is the version of the document that this code can decode.
const schema = 1

// A Catalog is the decoded catalogue. Callers must not change it.
type Catalog struct {
	Schema int `json:"schema"`
	// Generated is the date of the newest source, YYYY-MM-DD.
	Generated string `json:"generated"`
	// AsOf has the date of each kind of fact, as YYYY-MM-DD.
	AsOf struct {
		Prices    string `json:"prices"`
		Instances string `json:"instances"`
		Limits    string `json:"limits"`
	} `json:"asOf"`
	// Types are sorted by name.
	Types []Type `json:"types"`
	// BranchENIs has the number of branch network interfaces of each type that is too new for Types, by type name.
	BranchENIs map[string]int64 `json:"branchENIs"`
	// Regions are sorted by name.
	Regions []Region `json:"regions"`
}

// A Type has the facts about an instance type that are equal in all regions. The generator in hack/catalog defines
// names and units.
type Type struct {
	Name         string   `json:"name"`
	VCPU         int64    `json:"vcpu"`
	MemoryMiB    int64    `json:"memoryMiB"`
	Arch         []string `json:"arch"`
	Manufacturer string   `json:"manufacturer"`
	ClockGHz     float64  `json:"clockGHz"`
	Hypervisor   string   `json:"hypervisor"`
	BareMetal    bool     `json:"bareMetal"`
	Current      bool     `json:"current"`
	Usage        []string `json:"usage"`

	IPsPerENI   int64   `json:"ipsPerENI"`
	Cards       []int64 `json:"cards"`
	DefaultCard int     `json:"defaultCard"`
	BranchENIs  int64   `json:"branchENIs"`
	Trunking    bool    `json:"trunking"`
	NetworkMbps int64   `json:"networkMbps"`

	EBSMbps    int64 `json:"ebsMbps"`
	EBSDefault bool  `json:"ebsDefault"`
	NVMeGB     int64 `json:"nvmeGB"`
	NVMe       bool  `json:"nvme"`

	GPUs         []Device `json:"gpus"`
	Neuron       []Device `json:"neuron"`
	Accelerators []Device `json:"accelerators"`

	EFAs             int64 `json:"efas"`
	Encryption       bool  `json:"encryption"`
	Enclaves         bool  `json:"enclaves"`
	ClusterPlacement bool  `json:"clusterPlacement"`
}

// A Device is a set of equal GPUs, Neuron chips or older accelerators.
type Device struct {
	Name         string `json:"name"`
	Manufacturer string `json:"manufacturer"`
	Count        int64  `json:"count"`
	// MemoryMiB is the memory of one GPU.
	MemoryMiB int64 `json:"memoryMiB"`
	// CoresPerDevice is set for Neuron chips only.
	CoresPerDevice int64 `json:"coresPerDevice"`
}

// A Region is an AWS region with its zones and the instance types that it offers.
type Region struct {
	Name   string  `json:"name"`
	Zones  []Zone  `json:"zones"`
	Offers []Offer `json:"offers"`
}

// A Zone is an availability zone with its ID, which is the same in all accounts.
type Zone struct {
	Name string `json:"name"`
	ID   string `json:"id"`
}

// An Offer is an instance type in a region, with its zones and prices.
type Offer struct {
	// Type is an index into Catalog.Types.
	Type int
	// Zones is a bit set. The lowest bit is for the first zone of the region.
	Zones uint64
	// OnDemand and Spot are dollars per hour, 0 if unknown or not offered. Spot is an average over zones and time.
	OnDemand, Spot float64
}

// UnmarshalJSON decodes the compact form of an Offer: an array of four numbers.
func (o *Offer) UnmarshalJSON(raw []byte) error {
	var row [4]float64
	if err := json.Unmarshal(raw, &row); err != nil {
		return fmt.Errorf("decode offer: %w", err)
	}
	*o = Offer{Type: int(row[0]), Zones: uint64(row[1]), OnDemand: row[2], Spot: row[3]}
	return nil
}

// Load returns the embedded table, decoded once. Callers share the table and must not change it.
func Load() (*Catalog, error) { return load() }

var load = sync.OnceValues(func() (*Catalog, error) { return decode(data) })

func decode(raw []byte) (*Catalog, error) {
	zip, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("unpack shipped catalog: %w", err)
	}
	var c Catalog
	if err := json.NewDecoder(zip).Decode(&c); err != nil {
		return nil, fmt.Errorf("decode shipped catalog: %w", err)
	}
	if c.Schema != schema {
		return nil, fmt.Errorf("decode shipped catalog: schema is %d, want %d", c.Schema, schema)
	}
	for _, r := range c.Regions {
		for _, o := range r.Offers {
			if o.Type < 0 || o.Type >= len(c.Types) {
				return nil, fmt.Errorf("decode shipped catalog: region %s offers type %d of %d", r.Name, o.Type, len(c.Types))
			}
		}
	}
	return &c, nil
}

// Region returns the region with the name. It returns false if there is none.
func (c *Catalog) Region(name string) (Region, bool) {
	for _, r := range c.Regions {
		if r.Name == name {
			return r, true
		}
	}
	return Region{}, false
}

// Sells returns the names of the zones that offer o.
func (r Region) Sells(o Offer) []string {
	var zones []string
	for i, z := range r.Zones {
		if o.Zones&(1<<uint(i)) != 0 {
			zones = append(zones, z.Name)
		}
	}
	return zones
}
