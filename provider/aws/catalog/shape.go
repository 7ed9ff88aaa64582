package catalog

import (
	"slices"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/provider/aws/kubelet"
	"github.com/karpenter-go/karpenter/provider/aws/placement"
)

// A Shape has all settings on which an instance type depends besides its Machine: those of the node class and of the
// controller.
type Shape struct {
	// Class is the node class's name.
	Class      string
	Region     string
	Family     Family
	Kubelet    kubelet.Config
	Disks      []*awsv1.BlockDeviceMapping
	RAID0      bool
	Interfaces []*awsv1.NetworkInterface
	// Zones has the IDs of the zones in which the class has subnets, by zone name. An ID is empty if it is not known.
	Zones map[string]string
	// Reserved are the capacity reservations that the class selects.
	Reserved []awsv1.CapacityReservation
	// Group is the placement group in which nodes are launched, nil for none.
	Group *placement.Group
	// Images has, for each image of the class, the requirements on the labels of nodes that can run it. If Images is empty,
	// every node has an image.
	Images []require.Set
	// ImageIDs are the images of Images, in the same order.
	ImageIDs []string
	// Learned returns the observed memory of nodes. It may be nil. Then no memory was observed.
	Learned Learned
	// NestedVirtualization, ConnectionTracking and Enclaves require machines with the feature.
	NestedVirtualization, ConnectionTracking, Enclaves bool

	Options
}

// Options are the settings of the controller that change capacity.
type Options struct {
	// MemoryOverhead is the share of memory that the hypervisor uses, 0.075 by default.
	MemoryOverhead float64
	// ReservedENIs is the number of network interfaces that have no addresses for pods.
	ReservedENIs int64
	// Expressions is true if expressions in the kubelet section are evaluated.
	Expressions bool
}

// Learned returns the observed memory of nodes with an instance type and an image, in bytes, and false if none was
// observed.
type Learned interface {
	Memory(instanceType, image string) (int64, bool)
	// Revision returns a number that changes whenever a result of Memory may change.
	Revision() uint64
}

// seen returns the observed memory of nodes on m with these labels in bytes, at most what EC2 publishes for m. It
// returns false if none was observed.
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

// on returns the shape for one machine, with the expressions in the kubelet section evaluated. The
// error names the expressions that have no value. If Options.Expressions is false, the shape is not
// changed.
func (s Shape) on(m Machine) (Shape, error) {
	if !s.Expressions || len(s.Kubelet.Expressions) == 0 {
		return s, nil
	}
	unbound := s
	unbound.Kubelet.PodsPerCore = nil // it bounds the result of maxPods, and not the variable max_pods
	subject := kubelet.Subject{
		Type: m.Name, VCPUs: m.VCPU, MemoryMiB: m.MemoryMiB, IPsPerENI: m.IPsPerENI, MaxPods: pods(m, unbound),
	}
	if m.DefaultCard < len(m.Cards) {
		subject.ENIs = m.Cards[m.DefaultCard]
	}
	var err error
	s.Kubelet, err = s.Kubelet.Resolve(subject)
	return s, err
}

// ShapeOf returns the shape of nodes of the class. Errors in the kubelet section are ignored. The condition
// ValidationSucceeded reports them.
func ShapeOf(class *awsv1.EC2NodeClass, region string, o Options) Shape {
	family := FamilyOf(class)
	config, err := kubelet.Parse(class.Spec.Kubelet)
	_ = err // reported by the condition ValidationSucceeded, and the class is then not ready
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

// efaOnly returns the number of EFA-only interfaces of the class on one network card, or on all cards if card is -1.
func (s Shape) efaOnly(card int32) (n int64) {
	for _, i := range s.Interfaces {
		if i.InterfaceType == awsv1.InterfaceTypeEFAOnly && (card < 0 || i.NetworkCardIndex == card) {
			n++
		}
	}
	return n
}

// excludes returns the reason why nodes of this shape cannot run on m, empty if they can.
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
