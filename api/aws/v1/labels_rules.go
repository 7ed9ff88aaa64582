package v1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// Labels returns the label rules of the AWS provider. Callers join them with
// apiv1.CoreLabels.
func Labels() apiv1.LabelRules {
	return apiv1.LabelRules{
		WellKnown: sets.New(
			LabelInstanceHypervisor,
			LabelInstanceEncryptionInTransitSupported,
			LabelInstanceCategory,
			LabelInstanceGeneration,
			LabelInstanceFamily,
			LabelInstanceSize,
			LabelInstanceCapabilityFlex,
			LabelInstanceLocalNVME,
			LabelInstanceCPU,
			LabelInstanceCPUManufacturer,
			LabelInstanceCPUSustainedClockSpeedMhz,
			LabelInstanceMemory,
			LabelInstanceEBSBandwidth,
			LabelInstanceNetworkBandwidth,
			LabelInstanceGPUName,
			LabelInstanceGPUManufacturer,
			LabelInstanceGPUCount,
			LabelInstanceGPUMemory,
			LabelInstanceAcceleratorName,
			LabelInstanceAcceleratorManufacturer,
			LabelInstanceAcceleratorCount,
			LabelInstanceTenancy,
			LabelCapacityReservationID,
			LabelCapacityReservationType,
			LabelCapacityReservationInterruptible,
			LabelPlacementGroupID,
			LabelPlacementGroupPartition,
			LabelNodeClass,
			LabelTopologyZoneID,
		),
		RestrictedDomains: []string{Group},
		KnownValues: map[string][]string{
			LabelInstanceTenancy: {TenancyDefault, TenancyDedicated},
		},
		Aliases: map[string]string{LabelEBSCSIZone: corev1.LabelTopologyZone},
	}
}
