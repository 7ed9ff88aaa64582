package v1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// EC2NodeClassStatus is what the selectors found in the account.
type EC2NodeClassStatus struct {
	Subnets              []Subnet              `json:"subnets,omitempty"`
	SecurityGroups       []SecurityGroup       `json:"securityGroups,omitempty"`
	AMIs                 []AMI                 `json:"amis,omitempty"`
	CapacityReservations []CapacityReservation `json:"capacityReservations,omitempty"`
	InstanceProfile      string                `json:"instanceProfile,omitempty"`
	Conditions           []metav1.Condition    `json:"conditions,omitempty"`
}

// Subnet is a subnet that matched.
type Subnet struct {
	ID     string `json:"id"`
	Zone   string `json:"zone"`
	ZoneID string `json:"zoneID,omitempty"`
}

// SecurityGroup is a security group that matched.
type SecurityGroup struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
}

// AMI is an image that matched, and the nodes it is for.
type AMI struct {
	ID           string                           `json:"id"`
	Deprecated   bool                             `json:"deprecated,omitempty"`
	Name         string                           `json:"name,omitempty"`
	Requirements []corev1.NodeSelectorRequirement `json:"requirements"`
}

// CapacityReservation is a reservation that matched.
type CapacityReservation struct {
	AvailabilityZone      string                   `json:"availabilityZone"`
	EndTime               *metav1.Time             `json:"endTime,omitempty"`
	ID                    string                   `json:"id"`
	InstanceMatchCriteria string                   `json:"instanceMatchCriteria"`
	InstanceType          string                   `json:"instanceType"`
	OwnerID               string                   `json:"ownerID"`
	ReservationType       CapacityReservationType  `json:"reservationType,omitempty"`
	Interruptible         bool                     `json:"interruptible"`
	State                 CapacityReservationState `json:"state,omitempty"`
}

// CapacityReservationType is how capacity was reserved.
type CapacityReservationType string

// Reservation types.
const (
	CapacityReservationTypeDefault       CapacityReservationType = "default"
	CapacityReservationTypeCapacityBlock CapacityReservationType = "capacity-block"
)

// CapacityReservationState is whether a reservation takes new instances.
type CapacityReservationState string

// Reservation states.
const (
	CapacityReservationStateActive   CapacityReservationState = "active"
	CapacityReservationStateExpiring CapacityReservationState = "expiring"
)
