package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EC2NodeClassStatus is what the selectors found in the account.
type EC2NodeClassStatus struct {
	// Subnets that match, those with the most free addresses first.
	// +optional
	Subnets []Subnet `json:"subnets,omitempty"`

	// Security groups that match, by id.
	// +optional
	SecurityGroups []SecurityGroup `json:"securityGroups,omitempty"`

	// Images that match, the newest first.
	// +optional
	AMIs []AMI `json:"amis,omitempty"`

	// Capacity reservations that match, by id.
	// +optional
	CapacityReservations []CapacityReservation `json:"capacityReservations,omitempty"`

	// Instance profile new nodes get.
	// +optional
	InstanceProfile string `json:"instanceProfile,omitempty"`

	// Ready is True if all the others are.
	// +listType=map
	// +listMapKey=type
	// +optional
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Subnet is a subnet that matched.
type Subnet struct {
	// Id of the subnet.
	ID string `json:"id"`
	// Zone it is in, such as us-east-1a.
	Zone string `json:"zone"`
	// Id of that zone, the same in every account, such as use1-az1.
	// +optional
	ZoneID string `json:"zoneID,omitempty"`
}

// SecurityGroup is a security group that matched.
type SecurityGroup struct {
	// Id of the security group.
	ID string `json:"id"`
	// Name of the security group.
	// +optional
	Name string `json:"name,omitempty"`
}

// AMI is an image that matched, and the nodes it is for.
type AMI struct {
	// Id of the image.
	ID string `json:"id"`
	// Whether its owner says that it should no longer be used.
	// +optional
	Deprecated bool `json:"deprecated,omitempty"`
	// Name of the image.
	// +optional
	Name string `json:"name,omitempty"`
	// Labels of the instance types it is for, such as their architecture.
	Requirements []corev1.NodeSelectorRequirement `json:"requirements"`
}

// CapacityReservation is a reservation that matched.
type CapacityReservation struct {
	// Zone of the reserved capacity.
	AvailabilityZone string `json:"availabilityZone"`
	// When the reservation ends; absent if it stays until it is cancelled.
	// +optional
	EndTime *metav1.Time `json:"endTime,omitempty"`
	// Id of the reservation.
	// +kubebuilder:validation:Pattern=`^cr-[0-9a-z]+$`
	ID string `json:"id"`
	// open: any instance of the right kind uses it. targeted: only instances that
	// name it.
	// +kubebuilder:validation:Enum=open;targeted
	InstanceMatchCriteria string `json:"instanceMatchCriteria"`
	// Instance type that is reserved.
	InstanceType string `json:"instanceType"`
	// Account that owns the reservation.
	// +kubebuilder:validation:Pattern=`^[0-9]{12}$`
	OwnerID string `json:"ownerID"`
	// How it was reserved: default or capacity-block. Default: default.
	// +kubebuilder:default:=default
	// +optional
	ReservationType CapacityReservationType `json:"reservationType,omitempty"`
	// Whether AWS may take the capacity back.
	// +optional
	Interruptible bool `json:"interruptible,omitempty"`
	// active: takes instances. expiring: a capacity block that soon ends and takes
	// no more. Default: active.
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
	// CapacityReservationTypeCapacityBlock is bought for a time that ends.
	CapacityReservationTypeCapacityBlock CapacityReservationType = "capacity-block"
)

// CapacityReservationState is whether a reservation takes new instances.
//
// +kubebuilder:validation:Enum=active;expiring
type CapacityReservationState string

// Reservation states.
const (
	// CapacityReservationStateActive takes new instances.
	CapacityReservationStateActive CapacityReservationState = "active"
	// CapacityReservationStateExpiring takes no more: its end is near.
	CapacityReservationStateExpiring CapacityReservationState = "expiring"
)
