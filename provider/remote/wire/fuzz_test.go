package wire_test

import (
	"testing"

	"google.golang.org/protobuf/proto"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	cloudv1 "github.com/karpenter-go/karpenter/cloud/proto/karpenter/cloud/v1"
	"github.com/karpenter-go/karpenter/provider/remote/wire"
)

// An accepted instance type does not change when it is written and read again. No input causes a panic or a hang.
func FuzzReadType(f *testing.F) {
	seed, err := proto.Marshal(&cloudv1.InstanceType{
		Name: "a", Capacity: map[string]string{"cpu": "4", "memory": "1.5Gi", "pods": "110"}, Allocatable: map[string]string{"cpu": "3900m"},
		Requirements: []*cloudv1.Requirement{
			{Key: "kubernetes.io/arch", Operator: "In", Values: []string{"amd64"}}, {Key: "kubernetes.io/os", Operator: "In", Values: []string{"linux"}},
			{Key: "example.com/size", Operator: "Gt", Values: []string{"3"}},
		},
		Offerings: []*cloudv1.Offering{{Zone: "z", CapacityType: "reserved", Price: 0.1, Available: true, ReservationId: "r", ReservationCapacity: 3}},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed)
	known := apiv1.CoreLabels().WellKnown
	f.Fuzz(func(t *testing.T, data []byte) {
		var m cloudv1.InstanceType
		if proto.Unmarshal(data, &m) != nil {
			return
		}
		first, err := wire.ReadType(&m, known)
		if err != nil {
			return
		}
		second, err := wire.ReadType(wire.WriteType(first), known)
		if err != nil {
			t.Fatalf("accepted once, then: %v", err)
		}
		if !first.Requirements.Equal(second.Requirements) || len(first.Offerings) != len(second.Offerings) {
			t.Errorf("first %+v, then %+v", first, second)
		}
		for name, v := range first.Allocatable {
			if v < 0 || v > first.Capacity[name] || second.Allocatable[name] != v {
				t.Errorf("allocatable %s is %d of %d, then %d", name, v, first.Capacity[name], second.Allocatable[name])
			}
		}
	})
}

// No response with facts or instances causes a panic.
func FuzzReadInfo(f *testing.F) {
	seed, err := proto.Marshal(&cloudv1.GetInfoResponse{
		Name: "toy", NodeClassKinds: []*cloudv1.NodeClassKind{{Group: "toy.example.com", Version: "v1", Kind: "Toy"}},
		RepairPolicies: []*cloudv1.RepairPolicy{{ConditionType: "Ready", ConditionStatus: "False"}},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(seed, []byte{})
	f.Fuzz(func(t *testing.T, info, instance []byte) {
		var m cloudv1.GetInfoResponse
		if proto.Unmarshal(info, &m) != nil {
			return
		}
		i, err := wire.ReadInfo(&m)
		if err != nil {
			return
		}
		if i.Name == "" || len(i.Facts.NodeClasses) == 0 || i.Calls < 1 {
			t.Errorf("accepted %+v", i)
		}
		var machine cloudv1.Instance
		if proto.Unmarshal(instance, &machine) == nil {
			if got, err := i.ReadInstance(&machine); err == nil && got.ProviderID == "" {
				t.Errorf("accepted %+v", got)
			}
		}
	})
}
