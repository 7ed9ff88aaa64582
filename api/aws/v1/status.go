package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EC2NodeClassStatus has the resources that match the selectors, and conditions.
type EC2NodeClassStatus struct {
	// Subnets that match, those with the most free IP addresses first.
	// +optional
	Subnets []Subnet `json:"subnets,omitempty"`

	// Security groups that match, in ID order.
	// +optional
	SecurityGroups []SecurityGroup `json:"securityGroups,omitempty"`

	// AMIs that match, the newest first.
	// +optional
	AMIs []AMI `json:"amis,omitempty"`

	// Capacity reservations that match, in ID order.
	// +optional
	CapacityReservations []CapacityReservation `json:"capacityReservations,omitempty"`

	// Instance profile of new nodes.
	// +optional
	InstanceProfile string `json:"instanceProfile,omitempty"`

	// Conditions of the EC2NodeClass. Ready is True if all the others are.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Subnet is a subnet that matched.
type Subnet struct {
	// ID of the subnet.
	ID string `json:"id"`
	// Zone of the subnet, such as us-east-1a.
	Zone string `json:"zone"`
	// ID of the zone, the same in every account, such as use1-az1.
	// +optional
	ZoneID string `json:"zoneID,omitempty"`
}

// SecurityGroup is a security group that matched.
type SecurityGroup struct {
	// ID of the security group.
	ID string `json:"id"`
	// Name of the security group.
	// +optional
	Name string `json:"name,omitempty"`
}

// AMI is an image that matched, with the requirements on its nodes.
type AMI struct {
	// ID of the AMI.
	ID string `json:"id"`
	// True if the AMI is deprecated by its owner.
	// +optional
	Deprecated bool `json:"deprecated,omitempty"`
	// Name of the AMI.
	// +optional
	Name string `json:"name,omitempty"`
	// Requirements on the instance types that the AMI is compatible with, such as
	// their architecture.
	Requirements []corev1.NodeSelectorRequirement `json:"requirements"`
}

// CapacityReservation is a reservation that matched.
type CapacityReservation struct {
	// Zone of the reserved capacity.
	AvailabilityZone string `json:"availabilityZone"`
	// End of the reservation; absent if it is active until it is cancelled.
	// +optional
	EndTime *metav1.Time `json:"endTime,omitempty"`
	// ID of the reservation.
	// +kubebuilder:validation:Pattern=`^cr-[0-9a-z]+$`
	ID string `json:"id"`
	// Instances that use the reservation. open: any instance with its attributes.
	// targeted: only instances that specify it.
	// +kubebuilder:validation:Enum=open;targeted
	InstanceMatchCriteria string `json:"instanceMatchCriteria"`
	// Reserved instance type.
	InstanceType string `json:"instanceType"`
	// Account that owns the reservation.
	// +kubebuilder:validation:Pattern=`^[0-9]{12}$`
	OwnerID string `json:"ownerID"`
	// Type of the reservation: default or capacity-block. Default: default.
	// +kubebuilder:default:=default
	// +optional
	ReservationType CapacityReservationType `json:"reservationType,omitempty"`
	// True if EC2 can reclaim the capacity.
	// +optional
	Interruptible bool `json:"interruptible,omitempty"`
	// State of the reservation. active: instances can be launched. expiring: a
	// capacity block that ends soon; no instances are launched. Default: active.
	// +kubebuilder:default:=active
	// +optional
	State CapacityReservationState `json:"state,omitempty"`
}

// CapacityReservationType is how capacity was reserved.
//
// +kubebuilder:validation:Enum=default;capacity-block
type CapacityReservationType string

// Reservation types.
const (
	// CapacityReservationTypeDefault is an on-demand capacity reservation.
	CapacityReservationTypeDefault CapacityReservationType = "default"
	// CapacityReservationTypeCapacityBlock is capacity that was bought for a period with a fixed end.
	CapacityReservationTypeCapacityBlock CapacityReservationType = "capacity-block"
)

// CapacityReservationState is whether instances can be launched in a reservation.
//
// +kubebuilder:validation:Enum=active;expiring
type CapacityReservationState string

// Reservation states.
const (
	// CapacityReservationStateActive: instances can be launched.
	CapacityReservationStateActive CapacityReservationState = "active"
	// CapacityReservationStateExpiring: no instances are launched, because the reservation ends soon.
	CapacityReservationStateExpiring CapacityReservationState = "expiring"
)
