package main

// document is the whole output; doc.go explains every field.
type document struct {
	Schema    int            `json:"schema"`
	Generated string         `json:"generated"`
	AsOf      asOf           `json:"asOf"`
	Sources   []provenance   `json:"sources"`
	Types     []instanceType `json:"types"`
	// BranchENIs are the branch interfaces of types that are only in the table of limits.
	BranchENIs map[string]int `json:"branchENIs"`
	Regions    []region       `json:"regions"`
}

// asOf has the date of each source.
type asOf struct {
	Prices    string `json:"prices"`
	Instances string `json:"instances"`
	Limits    string `json:"limits"`
}

// provenance describes one source: its module, version, license, and the facts that are taken from it.
type provenance struct {
	Module  string `json:"module"`
	Version string `json:"version"`
	License string `json:"license"`
	Facts   string `json:"facts"`
}

// instanceType has the facts about one type that are equal in all regions.
type instanceType struct {
	Name         string   `json:"name"`
	VCPU         int      `json:"vcpu"`
	MemoryMiB    int      `json:"memoryMiB"`
	Arch         []string `json:"arch"`
	Manufacturer string   `json:"manufacturer"`
	ClockGHz     float64  `json:"clockGHz,omitempty"`
	Hypervisor   string   `json:"hypervisor,omitempty"`
	BareMetal    bool     `json:"bareMetal,omitempty"`
	Current      bool     `json:"current,omitempty"`
	Burstable    bool     `json:"burstable,omitempty"`
	Usage        []string `json:"usage"`

	ENIs            int    `json:"enis"`
	IPsPerENI       int    `json:"ipsPerENI"`
	Cards           []int  `json:"cards"`
	DefaultCard     int    `json:"defaultCard,omitempty"`
	BranchENIs      int    `json:"branchENIs,omitempty"`
	Trunking        bool   `json:"trunking,omitempty"`
	NetworkMbps     int    `json:"networkMbps,omitempty"`
	NetworkPeakMbps int    `json:"networkPeakMbps,omitempty"`
	NetworkText     string `json:"networkText,omitempty"`

	EBSMbps         int  `json:"ebsMbps,omitempty"`
	EBSBaselineMbps int  `json:"ebsBaselineMbps,omitempty"`
	EBSDefault      bool `json:"ebsDefault,omitempty"`
	NVMeGB          int  `json:"nvmeGB,omitempty"`
	NVMe            bool `json:"nvme,omitempty"`
	Disks           int  `json:"disks,omitempty"`

	GPUs         []gpu         `json:"gpus,omitempty"`
	Neuron       []neuron      `json:"neuron,omitempty"`
	Accelerators []accelerator `json:"accelerators,omitempty"`

	EFAs             int  `json:"efas,omitempty"`
	Encryption       bool `json:"encryption,omitempty"`
	Enclaves         bool `json:"enclaves,omitempty"`
	ClusterPlacement bool `json:"clusterPlacement,omitempty"`
}

// gpu is a set of equal GPUs; the memory is that of one.
type gpu struct {
	Name         string `json:"name"`
	Manufacturer string `json:"manufacturer"`
	Count        int    `json:"count"`
	MemoryMiB    int    `json:"memoryMiB"`
}

// neuron is a set of equal AWS machine-learning chips.
type neuron struct {
	Name           string `json:"name"`
	Count          int    `json:"count"`
	CoresPerDevice int    `json:"coresPerDevice"`
}

// accelerator is the older form in which EC2 reports inference chips.
type accelerator struct {
	Name         string `json:"name"`
	Manufacturer string `json:"manufacturer"`
	Count        int    `json:"count"`
}

// region lists zones in the order of their bits, and the offers in the region.
type region struct {
	Name   string       `json:"name"`
	Zones  []zone       `json:"zones"`
	Offers [][4]float64 `json:"offers"`
}

// zone is one availability zone.
type zone struct {
	Name string `json:"name"`
	ID   string `json:"id"`
}
