package v1

// Labels of instances. A node or instance type lacks a label if AWS does not
// publish the fact behind it.
const (
	// LabelInstanceHypervisor is nitro, xen, or empty on bare metal.
	LabelInstanceHypervisor = Group + "/instance-hypervisor"
	// LabelInstanceEncryptionInTransitSupported is true or false.
	LabelInstanceEncryptionInTransitSupported = Group + "/instance-encryption-in-transit-supported"
	// LabelInstanceCategory is the letters a type's name begins with: m, c, trn.
	LabelInstanceCategory = Group + "/instance-category"
	// LabelInstanceGeneration is the number after them: 5 in m5d.large.
	LabelInstanceGeneration = Group + "/instance-generation"
	// LabelInstanceFamily is the name before the dot: m5d.
	LabelInstanceFamily = Group + "/instance-family"
	// LabelInstanceSize is the name after the dot: large.
	LabelInstanceSize = Group + "/instance-size"
	// LabelInstanceCapabilityFlex is true for flex types, else false.
	LabelInstanceCapabilityFlex = Group + "/instance-capability-flex"
	// LabelInstanceLocalNVME is the size of the local NVMe disks in GB.
	LabelInstanceLocalNVME = Group + "/instance-local-nvme"
	// LabelInstanceCPU is the number of vCPUs.
	LabelInstanceCPU = Group + "/instance-cpu"
	// LabelInstanceCPUManufacturer is aws, intel or amd.
	LabelInstanceCPUManufacturer = Group + "/instance-cpu-manufacturer"
	// LabelInstanceCPUSustainedClockSpeedMhz is the clock speed in MHz.
	LabelInstanceCPUSustainedClockSpeedMhz = Group + "/instance-cpu-sustained-clock-speed-mhz"
	// LabelInstanceMemory is the memory in MiB, nothing subtracted.
	LabelInstanceMemory = Group + "/instance-memory"
	// LabelInstanceEBSBandwidth is the largest EBS bandwidth in Mbps.
	LabelInstanceEBSBandwidth = Group + "/instance-ebs-bandwidth"
	// LabelInstanceNetworkBandwidth is the baseline network bandwidth in Mbps.
	LabelInstanceNetworkBandwidth = Group + "/instance-network-bandwidth"
	// LabelInstanceGPUName is the name of the GPU, such as t4.
	LabelInstanceGPUName = Group + "/instance-gpu-name"
	// LabelInstanceGPUManufacturer is its maker, such as nvidia.
	LabelInstanceGPUManufacturer = Group + "/instance-gpu-manufacturer"
	// LabelInstanceGPUCount is how many there are.
	LabelInstanceGPUCount = Group + "/instance-gpu-count"
	// LabelInstanceGPUMemory is the memory of one GPU in MiB.
	LabelInstanceGPUMemory = Group + "/instance-gpu-memory"
	// LabelInstanceAcceleratorName is the name of another accelerator.
	LabelInstanceAcceleratorName = Group + "/instance-accelerator-name"
	// LabelInstanceAcceleratorManufacturer is its maker.
	LabelInstanceAcceleratorManufacturer = Group + "/instance-accelerator-manufacturer"
	// LabelInstanceAcceleratorCount is how many there are.
	LabelInstanceAcceleratorCount = Group + "/instance-accelerator-count"
	// LabelInstanceTenancy is default or dedicated.
	LabelInstanceTenancy = Group + "/instance-tenancy"
	// LabelCapacityReservationID is the reservation a node runs in.
	LabelCapacityReservationID = Group + "/capacity-reservation-id"
	// LabelCapacityReservationType is default or capacity-block.
	LabelCapacityReservationType = Group + "/capacity-reservation-type"
	// LabelCapacityReservationInterruptible is true or false.
	LabelCapacityReservationInterruptible = Group + "/capacity-reservation-interruptible"
	// LabelPlacementGroupID is the placement group a node runs in.
	LabelPlacementGroupID = Group + "/placement-group-id"
	// LabelPlacementGroupPartition is its partition there, from 1.
	LabelPlacementGroupPartition = Group + "/placement-group-partition"
	// LabelNodeClass is the name of the EC2NodeClass; an EC2 tag too.
	LabelNodeClass = Group + "/ec2nodeclass"

	// LabelTopologyZoneID is the zone's id, the same in every account.
	LabelTopologyZoneID = "topology.k8s.aws/zone-id"
	// LabelEBSCSIZone is how the EBS CSI driver writes the zone.
	LabelEBSCSIZone = "topology.ebs.csi.aws.com/zone"
)

// Values of LabelInstanceTenancy.
const (
	TenancyDefault   = "default"
	TenancyDedicated = "dedicated"
)

// Extended resources that AWS instances offer.
const (
	ResourcePodENI        = "vpc.amazonaws.com/pod-eni"
	ResourcePrivateIPv4   = "vpc.amazonaws.com/PrivateIPv4Address"
	ResourceEFA           = "vpc.amazonaws.com/efa"
	ResourceNVIDIAGPU     = "nvidia.com/gpu"
	ResourceAMDGPU        = "amd.com/gpu"
	ResourceAWSNeuron     = "aws.amazon.com/neuron"
	ResourceAWSNeuronCore = "aws.amazon.com/neuroncore"
	ResourceHabanaGaudi   = "habana.ai/gaudi"
)
