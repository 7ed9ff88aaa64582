package catalog

import (
	"slices"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/provider/aws/kubelet"
	"github.com/karpenter-go/karpenter/provider/aws/placement"
)

// A Shape is everything that changes what a machine becomes: the node class and the settings of the controller.
type Shape struct {
	// Class is the node class's name.
	Class      string
	Region     string
	Family     Family
	Kubelet    kubelet.Config
	Disks      []*awsv1.BlockDeviceMapping
	RAID0      bool
	Interfaces []*awsv1.NetworkInterface
	// Zones are those the class has subnets in, with their ids ("" if unknown).
	Zones map[string]string
	// Reserved are the capacity reservations that the class selects.
	Reserved []awsv1.CapacityReservation
	// Group is the placement group that nodes are launched into, nil for none.
	Group *placement.Group
	// Images says for which labels there is an image; empty means for all.
	Images []require.Set
	// ImageIDs are the images of Images, in the same order.
	ImageIDs []string
	// Learned returns the memory that nodes were observed to have; may be nil.
	Learned Learned
	// NestedVirtualization, ConnectionTracking and Enclaves ask for machines that can do it.
	NestedVirtualization, ConnectionTracking, Enclaves bool

	Options
}

// Options are the settings of the controller that change capacity.
type Options struct {
	// MemoryOverhead is the part of memory that the hypervisor keeps, 0.075 by default.
	MemoryOverhead float64
	// ReservedENIs are interfaces that pods get no addresses from.
	ReservedENIs int64
	// Expressions means that expressions in the kubelet section are evaluated.
	Expressions bool
}

// Learned returns how much memory nodes of a type with an image were observed to have, in bytes.
type Learned interface {
	Memory(instanceType, image string) (int64, bool)
	// Revision changes whenever an answer may.
	Revision() uint64
}

// seen returns the memory that nodes on m were seen to have.
func (s Shape) seen(m Machine, labels require.Set) (int64, bool) {
	if s.Learned == nil {
		return 0, false
	}
	image := ""
	for n, i := range s.Images {
		if _, ok := labels.Compatible(i, nil); ok && n < len(s.ImageIDs) {
			image = s.ImageIDs[n]
			break
		}
	}
	bytes, ok := s.Learned.Memory(m.Name, image)
	return min(bytes, m.MemoryMiB*mib), ok
}

// on returns the shape for one machine, where expressions in the kubelet section have a value. The error says which of
// them have none.
func (s Shape) on(m Machine) (Shape, error) {
	if !s.Expressions || len(s.Kubelet.Expressions) == 0 {
		return s, nil
	}
	subject := kubelet.Subject{
		Type: m.Name, VCPUs: m.VCPU, MemoryMiB: m.MemoryMiB, IPsPerENI: m.IPsPerENI, MaxPods: pods(m, s),
	}
	if m.DefaultCard < len(m.Cards) {
		subject.ENIs = m.Cards[m.DefaultCard]
	}
	var err error
	s.Kubelet, err = s.Kubelet.Resolve(subject)
	return s, err
}

// ShapeOf reads the class. What is wrong with its kubelet section is reported by validation; here the readable part
// counts.
func ShapeOf(class *awsv1.EC2NodeClass, region string, o Options) Shape {
	family := FamilyOf(class)
	config, err := kubelet.Parse(class.Spec.Kubelet)
	_ = err // the condition ValidationSucceeded reports it, and the class is not ready then
	s := Shape{
		Class: class.Name, Region: region, Family: family, Kubelet: config, Options: o,
		Disks:      family.Mappings(class),
		Interfaces: class.Spec.NetworkInterfaces,
		Zones:      map[string]string{},
		Reserved:   class.Status.CapacityReservations,
		RAID0: class.Spec.InstanceStorePolicy != nil &&
			*class.Spec.InstanceStorePolicy == awsv1.InstanceStorePolicyRAID0,
		ConnectionTracking: class.Spec.ConnectionTracking != nil,
		Enclaves:           class.Spec.EnclaveOptions != nil && class.Spec.EnclaveOptions.Enabled,
		NestedVirtualization: class.Spec.CPUOptions != nil && class.Spec.CPUOptions.NestedVirtualization != nil &&
			*class.Spec.CPUOptions.NestedVirtualization == "enabled",
	}
	for _, n := range class.Status.Subnets {
		s.Zones[n.Zone] = n.ZoneID
	}
	for _, a := range class.Status.AMIs {
		s.Images, s.ImageIDs = append(s.Images, require.FromSelector(a.Requirements)), append(s.ImageIDs, a.ID)
	}
	return s
}

// efaOnly counts the class's EFA-only interfaces, on one card or, with card -1, on all.
func (s Shape) efaOnly(card int32) (n int64) {
	for _, i := range s.Interfaces {
		if i.InterfaceType == awsv1.InterfaceTypeEFAOnly && (card < 0 || i.NetworkCardIndex == card) {
			n++
		}
	}
	return n
}

// excludes returns why nodes of this shape cannot run on m, or "".
func (s Shape) excludes(m Machine, labels require.Set) string {
	switch {
	case s.Family.Name == awsv1.AMIFamilyAL2023 && len(m.Name) > 3 && m.Name[:3] == "a1.":
		return "AL2023 does not run on a1"
	case s.NestedVirtualization && !slices.Contains(m.Features, "nested-virtualization"):
		return "no nested virtualization"
	case s.Enclaves && !m.Enclaves:
		return "no Nitro enclaves"
	case s.Group != nil && !slices.Contains(m.Strategies, s.Group.Strategy):
		return "not in a placement group of this strategy"
	case s.ConnectionTracking && m.Hypervisor != "nitro":
		return "connection tracking needs nitro"
	case len(s.Images) > 0 && !slices.ContainsFunc(s.Images, func(i require.Set) bool {
		_, ok := labels.Compatible(i, nil)
		return ok
	}):
		return "no image for it"
	}
	return s.excludesInterfaces(m)
}

func (s Shape) excludesInterfaces(m Machine) string {
	if len(s.Interfaces) == 0 {
		return ""
	}
	if m.NoENA {
		return "no enhanced networking"
	}
	for _, i := range s.Interfaces {
		if int(i.NetworkCardIndex) >= len(m.Cards) || int64(i.DeviceIndex) >= m.Cards[i.NetworkCardIndex] {
			return "too few network cards or interfaces"
		}
	}
	if s.efaOnly(-1) > m.EFAs {
		return "too few EFA interfaces"
	}
	return ""
}
