package v1

// Labels of instances. A node or instance type does not have a label whose
// value AWS does not publish.
const (
	// LabelInstanceHypervisor is nitro, xen, or empty on bare metal.
	LabelInstanceHypervisor = Group + "/instance-hypervisor"
	// LabelInstanceEncryptionInTransitSupported is true or false.
	LabelInstanceEncryptionInTransitSupported = Group + "/instance-encryption-in-transit-supported"
	// LabelInstanceCategory is the letters a type's name begins with: m, c, trn.
	LabelInstanceCategory = Group + "/instance-category"
	// LabelInstanceGeneration is the number after these letters: 5 in m5d.large.
	LabelInstanceGeneration = Group + "/instance-generation"
	// LabelInstanceFamily is the part of the type's name before the dot: m5d.
	LabelInstanceFamily = Group + "/instance-family"
	// LabelInstanceSize is the part of the type's name after the dot: large.
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
	// LabelInstanceMemory is the memory in MiB, without deductions.
	LabelInstanceMemory = Group + "/instance-memory"
	// LabelInstanceEBSBandwidth is the largest EBS bandwidth in Mbps. Only
	// types that are EBS-optimized by default have it.
	LabelInstanceEBSBandwidth = Group + "/instance-ebs-bandwidth"
	// LabelInstanceNetworkBandwidth is the baseline network bandwidth in Mbps.
	LabelInstanceNetworkBandwidth = Group + "/instance-network-bandwidth"
	// LabelInstanceGPUName is the name of the GPU, such as t4. Types with
	// several kinds of GPUs have none of the GPU labels.
	LabelInstanceGPUName = Group + "/instance-gpu-name"
	// LabelInstanceGPUManufacturer is the manufacturer of the GPU, such as nvidia.
	LabelInstanceGPUManufacturer = Group + "/instance-gpu-manufacturer"
	// LabelInstanceGPUCount is the number of GPUs.
	LabelInstanceGPUCount = Group + "/instance-gpu-count"
	// LabelInstanceGPUMemory is the memory of one GPU in MiB.
	LabelInstanceGPUMemory = Group + "/instance-gpu-memory"
	// LabelInstanceAcceleratorName is the name of an accelerator that is not a GPU.
	LabelInstanceAcceleratorName = Group + "/instance-accelerator-name"
	// LabelInstanceAcceleratorManufacturer is the manufacturer of that accelerator.
	LabelInstanceAcceleratorManufacturer = Group + "/instance-accelerator-manufacturer"
	// LabelInstanceAcceleratorCount is the number of those accelerators.
	LabelInstanceAcceleratorCount = Group + "/instance-accelerator-count"
	// LabelInstanceTenancy is default or dedicated.
	LabelInstanceTenancy = Group + "/instance-tenancy"
	// LabelCapacityReservationID is the ID of the capacity reservation in which a node runs.
	LabelCapacityReservationID = Group + "/capacity-reservation-id"
	// LabelCapacityReservationType is default or capacity-block.
	LabelCapacityReservationType = Group + "/capacity-reservation-type"
	// LabelCapacityReservationInterruptible is true if EC2 can reclaim the reserved capacity, else false.
	LabelCapacityReservationInterruptible = Group + "/capacity-reservation-interruptible"
	// LabelPlacementGroupID is the ID of the placement group in which a node runs.
	LabelPlacementGroupID = Group + "/placement-group-id"
	// LabelPlacementGroupPartition is the partition of the placement group in which a node runs, from 1.
	LabelPlacementGroupPartition = Group + "/placement-group-partition"
	// LabelNodeClass is the name of the EC2NodeClass. The key is also that of an EC2 tag.
	LabelNodeClass = Group + "/ec2nodeclass"

	// LabelTopologyZoneID is the ID of the zone, which is the same in every account.
	LabelTopologyZoneID = "topology.k8s.aws/zone-id"
	// LabelEBSCSIZone is the label of the EBS CSI driver with the zone.
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
