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

// schema is the only form of the document that this code reads.
const schema = 1

// A Catalog is the whole table. Callers do not change it.
type Catalog struct {
	Schema int `json:"schema"`
	// Generated is the date of the newest source, YYYY-MM-DD.
	Generated string `json:"generated"`
	// AsOf says how old each kind of fact is, as dates.
	AsOf struct {
		Prices    string `json:"prices"`
		Instances string `json:"instances"`
		Limits    string `json:"limits"`
	} `json:"asOf"`
	// Types are sorted by name.
	Types []Type `json:"types"`
	// BranchENIs are the branch interfaces of types that are too new for Types, by name.
	BranchENIs map[string]int64 `json:"branchENIs"`
	// Regions are sorted by name.
	Regions []Region `json:"regions"`
}

// A Type is what is known of an instance type, the same in every region. Names and units are those of hack/catalog.
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
	// MemoryMiB is that of one GPU.
	MemoryMiB int64 `json:"memoryMiB"`
	// CoresPerDevice is known for Neuron chips only.
	CoresPerDevice int64 `json:"coresPerDevice"`
}

// A Region lists its zones and what is sold there.
type Region struct {
	Name   string  `json:"name"`
	Zones  []Zone  `json:"zones"`
	Offers []Offer `json:"offers"`
}

// A Zone is an availability zone and the id that is the same in every account.
type Zone struct {
	Name string `json:"name"`
	ID   string `json:"id"`
}

// An Offer is one type for sale in a region.
type Offer struct {
	// Type is an index into Catalog.Types.
	Type int
	// Zones are bits, the lowest for the first zone of the region.
	Zones uint64
	// OnDemand and Spot are dollars per hour, 0 if unknown or not offered. Spot is an average over zones and time.
	OnDemand, Spot float64
}

// UnmarshalJSON reads the compact form, an array of four numbers.
func (o *Offer) UnmarshalJSON(raw []byte) error {
	var row [4]float64
	if err := json.Unmarshal(raw, &row); err != nil {
		return fmt.Errorf("decode offer: %w", err)
	}
	*o = Offer{Type: int(row[0]), Zones: uint64(row[1]), OnDemand: row[2], Spot: row[3]}
	return nil
}

// Load returns the embedded table, decoded once. It is shared: callers must not change it.
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

// Region returns the region of that name.
func (c *Catalog) Region(name string) (Region, bool) {
	for _, r := range c.Regions {
		if r.Name == name {
			return r, true
		}
	}
	return Region{}, false
}

// Sells returns the names of the zones in which o is offered.
func (r Region) Sells(o Offer) []string {
	var zones []string
	for i, z := range r.Zones {
		if o.Zones&(1<<uint(i)) != 0 {
			zones = append(zones, z.Name)
		}
	}
	return zones
}
