package world

import (
	"fmt"
	"net/netip"
	"slices"
)

// addressesPerSubnet is the size of a /20 without the five addresses that AWS reserves.
const addressesPerSubnet = 4096 - 5

// VPCRange is the address range of the VPC.
const VPCRange = "10.0.0.0/16"

// A Subnet is a /20 range of the VPC in one zone.
type Subnet struct {
	ID, VPC, Zone, ZoneID, CIDR string
	IPv6CIDR                    string // empty without IPv6
	Public                      bool
	Free                        int // number of unused addresses; those that others use (see FillSubnets) are not among them
	Tags                        map[string]string

	base netip.Addr
	next int // offset of the next address to try
	used map[int]bool
	// others is the number of addresses that others use.
	others int
}

// A SecurityGroup has no rules, because traffic is not emulated.
type SecurityGroup struct {
	ID, VPC, Name, Description string
	Tags                       map[string]string
}

// buildNetwork creates a private subnet with the tag karpenter.sh/discovery and a public subnet in every zone. It also creates
// three security groups: one for nodes with that tag, one for the cluster, and the default group of the VPC.
func (w *World) buildNetwork() {
	w.vpc = w.newID("vpc")
	for i, zone := range w.region.Zones {
		private := w.subnet(zone.Name, zone.ID, i*16)
		private.Tags = map[string]string{
			"Name":                            w.cfg.Cluster + "/private/" + zone.Name,
			"karpenter.sh/discovery":          w.cfg.Cluster,
			"kubernetes.io/role/internal-elb": "1",
		}
		public := w.subnet(zone.Name, zone.ID, 128+i*16)
		public.Public = true
		public.Tags = map[string]string{
			"Name":                   w.cfg.Cluster + "/public/" + zone.Name,
			"kubernetes.io/role/elb": "1",
		}
		w.subnets = append(w.subnets, private, public)
	}
	group := func(name, description string, tags map[string]string) {
		w.groups = append(w.groups, SecurityGroup{
			ID: w.newID("sg"), VPC: w.vpc, Name: name, Description: description, Tags: tags,
		})
	}
	group(w.cfg.Cluster+"-node", "Nodes of the cluster", map[string]string{
		"Name": w.cfg.Cluster + "-node", "karpenter.sh/discovery": w.cfg.Cluster,
	})
	group("eks-cluster-sg-"+w.cfg.Cluster, "EKS created security group", map[string]string{
		"aws:eks:cluster-name": w.cfg.Cluster, "kubernetes.io/cluster/" + w.cfg.Cluster: "owned",
	})
	group("default", "default VPC security group", map[string]string{})
}

// subnet returns a new subnet. third is the third octet of its first address.
func (w *World) subnet(zone, zoneID string, third int) *Subnet {
	return &Subnet{
		ID: w.newID("subnet"), VPC: w.vpc, Zone: zone, ZoneID: zoneID,
		CIDR: fmt.Sprintf("10.0.%d.0/20", third), IPv6CIDR: w.ipv6Range(third),
		Free: addressesPerSubnet,
		base: netip.AddrFrom4([4]byte{10, 0, byte(third), 0}),
		next: 4, // AWS reserves .0 to .3
		used: map[int]bool{},
	}
}

// ipv6Range returns the /64 range of a subnet in the VPC's /56, "" in an account without IPv6.
func (w *World) ipv6Range(third int) string {
	if !w.cfg.IPv6 {
		return ""
	}
	return fmt.Sprintf("2600:1f18:4e5:6a%02x::/64", third)
}

// ipv6Of returns the IPv6 address that corresponds to an IPv4 address of the subnet.
func (s *Subnet) ipv6Of(addr netip.Addr) netip.Addr {
	prefix, err := netip.ParsePrefix(s.IPv6CIDR)
	if err != nil {
		return netip.Addr{}
	}
	out, v4 := prefix.Addr().As16(), addr.As4()
	copy(out[12:], v4[:])
	return netip.AddrFrom16(out)
}

// Subnets returns all subnets, sorted by id.
func (w *World) Subnets() []Subnet {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settle()
	out := make([]Subnet, 0, len(w.subnets))
	for _, s := range w.subnets {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b Subnet) int { return compareText(a.ID, b.ID) })
	return out
}

// SecurityGroups returns all groups, sorted by id.
func (w *World) SecurityGroups() []SecurityGroup {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := slices.Clone(w.groups)
	slices.SortFunc(out, func(a, b SecurityGroup) int { return compareText(a.ID, b.ID) })
	return out
}

// subnetByID returns a subnet, nil if there is none.
func (w *World) subnetByID(id string) *Subnet {
	for _, s := range w.subnets {
		if s.ID == id {
			return s
		}
	}
	return nil
}

// subnetInZone returns the private subnet of a zone, the one with the tag karpenter.sh/discovery. It returns nil if there is
// none.
func (w *World) subnetInZone(zone string) *Subnet {
	for _, s := range w.subnets {
		if s.Zone == zone && !s.Public {
			return s
		}
	}
	return nil
}

// groupName returns the name of a security group, ok=false if there is none.
func (w *World) groupName(id string) (string, bool) {
	for _, g := range w.groups {
		if g.ID == id {
			return g.Name, true
		}
	}
	return "", false
}

// FillSubnets lets others use all but left of the unused addresses of the subnets of a zone, or of the subnet with that tag Name. With a
// negative number they release them.
func (w *World) FillSubnets(name string, left int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, s := range w.subnets {
		if s.Zone != name && s.Tags["Name"] != name {
			continue
		}
		s.Free += s.others
		s.others = 0
		if left >= 0 {
			s.others = max(0, s.Free-left)
			s.Free -= s.others
		}
	}
}

// take returns the next free address. A released address is not used again until all others were used, so that the name of a node
// is not reused soon.
func (s *Subnet) take() (netip.Addr, bool) {
	if s.Free == 0 {
		return netip.Addr{}, false
	}
	for s.used[s.next] {
		s.advance()
	}
	offset := s.next
	s.used[offset] = true
	s.Free--
	s.advance()
	b := s.base.As4()
	b[2] += byte(offset >> 8)
	b[3] = byte(offset)
	return netip.AddrFrom4(b), true
}

// advance moves next to the next address. It skips the broadcast address.
func (s *Subnet) advance() {
	s.next++
	if s.next >= 4095 {
		s.next = 4
	}
}

// release marks an address as free.
func (s *Subnet) release(addr netip.Addr) {
	b, base := addr.As4(), s.base.As4()
	offset := int(b[2]-base[2])<<8 + int(b[3])
	if s.used[offset] {
		delete(s.used, offset)
		s.Free++
	}
}

// compareText compares two texts by bytes.
func compareText(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
