package launch

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// kind returns a type with 2 CPUs and offerings in zone a, with the given on-demand and spot prices. A price of 0 means
// no offering.
func kind(name string, onDemand, spot float64) *model.InstanceType {
	family, _, _ := strings.Cut(name, ".")
	t := &model.InstanceType{
		Name: name,
		Requirements: require.NewSet(
			require.New(corev1.LabelInstanceTypeStable, require.In, name),
			require.New(awsv1.LabelInstanceFamily, require.In, family),
			require.New(awsv1.LabelInstanceTenancy, require.In, awsv1.TenancyDefault, awsv1.TenancyDedicated),
		),
		Capacity:    model.Resources{corev1.ResourceCPU: 2000, corev1.ResourcePods: 29},
		Allocatable: model.Resources{corev1.ResourceCPU: 1900, corev1.ResourcePods: 29},
	}
	for capacityType, price := range map[string]float64{apiv1.CapacityTypeOnDemand: onDemand, apiv1.CapacityTypeSpot: spot} {
		if price > 0 {
			t.Offerings = append(t.Offerings, model.Offering{
				Zone: "a", CapacityType: capacityType, Price: price, Available: true,
				Requirements: require.NewSet(
					require.New(corev1.LabelTopologyZone, require.In, "a"),
					require.New(apiv1.CapacityTypeLabelKey, require.In, capacityType)),
			})
		}
	}
	return t
}

func gpu(t *model.InstanceType) *model.InstanceType {
	t.Capacity[awsv1.ResourceNVIDIAGPU] = 1
	return t
}

func soldOut(t *model.InstanceType) *model.InstanceType {
	for i := range t.Offerings {
		t.Offerings[i].Available = false
	}
	return t
}

// reserved adds a reservation in zone a with so many instances left.
func reserved(t *model.InstanceType, left int) *model.InstanceType {
	t.Offerings = append(t.Offerings, model.Offering{
		Zone: "a", CapacityType: apiv1.CapacityTypeReserved, Price: 1e-7, Available: true, ReservationID: "cr-1", ReservationCapacity: left,
		Requirements: require.NewSet(require.New(corev1.LabelTopologyZone, require.In, "a"),
			require.New(apiv1.CapacityTypeLabelKey, require.In, apiv1.CapacityTypeReserved)),
	})
	return t
}

type req = apiv1.NodeSelectorRequirementWithMinValues

func in(key string, values ...string) req {
	return req{Key: key, Operator: corev1.NodeSelectorOpIn, Values: values}
}

func TestChoose(t *testing.T) {
	onDemand := in(apiv1.CapacityTypeLabelKey, apiv1.CapacityTypeOnDemand)
	spotOnly := in(apiv1.CapacityTypeLabelKey, apiv1.CapacityTypeSpot)
	many := req{Key: awsv1.LabelInstanceFamily, Operator: corev1.NodeSelectorOpExists, MinValues: ptr.To(2)}
	for _, tt := range []struct {
		name  string
		types []*model.InstanceType
		reqs  []req
		cpu   string
		want  string // capacity type, then types; empty for an InsufficientCapacityError
	}{
		{"spot where both may be", []*model.InstanceType{kind("m5.large", 2, 1), kind("c5.large", 3, 0.5)}, nil, "1",
			"spot: c5.large m5.large"},
		{"on demand where only that may be", []*model.InstanceType{kind("m5.large", 2, 1), kind("c5.large", 3, 0.5)},
			[]req{onDemand}, "1", "on-demand: m5.large c5.large"},
		{"spot dearer than on demand is left out", []*model.InstanceType{kind("m5.large", 1, 0.9), kind("c5.large", 0, 1.1)},
			nil, "1", "spot: m5.large"},
		{"but not if only spot may be", []*model.InstanceType{kind("m5.large", 1, 0.9), kind("c5.large", 0, 1.1)},
			[]req{spotOnly}, "1", "spot: m5.large c5.large"},
		{"all spot dearer: on demand", []*model.InstanceType{kind("m5.large", 1, 1.5)}, nil, "1", "on-demand: m5.large"},
		{"too small", []*model.InstanceType{kind("m5.large", 2, 1)}, nil, "2", ""},
		{"sold out", []*model.InstanceType{soldOut(kind("m5.large", 2, 1)), kind("c5.large", 3, 2)}, nil, "1", "spot: c5.large"},
		{"reserved before all else", []*model.InstanceType{reserved(kind("m5.large", 2, 1), 1), kind("c5.large", 3, 0.5)}, nil, "1",
			"reserved: m5.large"},
		{"a full reservation is no reason to wait", []*model.InstanceType{reserved(kind("m5.large", 2, 1), 0)}, nil, "1", "spot: m5.large"},
		{"metal and GPUs are for who asks", []*model.InstanceType{kind("m5.metal", 0.1, 0), gpu(kind("g5.xlarge", 0.1, 0)), kind("m5.large", 2, 0)},
			nil, "1", "on-demand: m5.large"},
		{"or if there is nothing else", []*model.InstanceType{kind("m5.metal", 1, 0)}, nil, "1", "on-demand: m5.metal"},
		{"metal before GPUs", []*model.InstanceType{gpu(kind("g5.xlarge", 0.1, 0)), kind("m5.metal", 1, 0)}, nil, "1", "on-demand: m5.metal"},
		{"a virtual machine with GPUs before metal with GPUs", []*model.InstanceType{gpu(kind("g5g.metal", 0.1, 0)), gpu(kind("g5.xlarge", 1, 0))},
			nil, "1", "on-demand: g5.xlarge"},
		{"nothing is left out under minValues", []*model.InstanceType{gpu(kind("g5.xlarge", 1, 0)), kind("m5.large", 2, 3)},
			[]req{many}, "1", "spot: m5.large"},
		{"minValues not met", []*model.InstanceType{kind("m5.large", 2, 1)}, []req{many}, "1", ""},
		{"a label value of no type", []*model.InstanceType{kind("m5.large", 2, 1)}, []req{in(corev1.LabelInstanceTypeStable, "x")}, "1", ""},
		{"the old name of a label", []*model.InstanceType{kind("m5.large", 2, 1)}, []req{in("beta.zone", "b")}, "1", ""},
	} {
		claim := &apiv1.NodeClaim{}
		claim.Spec.Requirements = tt.reqs
		claim.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(tt.cpu)}
		choice, err := Choose(claim, tt.types, ChooseOptions{Aliases: map[string]string{"beta.zone": corev1.LabelTopologyZone}})
		var capacity *cloud.InsufficientCapacityError
		if tt.want == "" {
			if !errors.As(err, &capacity) {
				t.Errorf("%s: error is %v, want no capacity", tt.name, err)
			}
			continue
		}
		var names []string
		for _, c := range choice.Types {
			names = append(names, c.Name)
		}
		if got := choice.CapacityType + ": " + strings.Join(names, " "); got != tt.want || err != nil {
			t.Errorf("%s: %s, %v; want %s", tt.name, got, err, tt.want)
		}
	}
}

func TestChooseTheCheapestSixty(t *testing.T) {
	var types []*model.InstanceType
	for n := range 80 {
		types = append(types, kind(fmt.Sprintf("m%02d.large", n), float64(100-n), 0))
	}
	choice, err := Choose(&apiv1.NodeClaim{}, types, ChooseOptions{})
	if err != nil || len(choice.Types) != maxTypes || choice.Types[0].Name != "m79.large" {
		t.Fatalf("%d types, %v", len(choice.Types), err)
	}
	if !slices.IsSortedFunc(choice.Offers, func(a, b []model.Offering) int { return a[0].Compare(b[0]) }) {
		t.Error("not cheapest first")
	}
}

func TestTenancy(t *testing.T) {
	for _, tt := range []struct {
		values []string
		want   string
	}{{nil, "default"}, {[]string{"dedicated"}, "dedicated"}, {[]string{"default", "dedicated"}, "default"}} {
		claim := &apiv1.NodeClaim{}
		if tt.values != nil {
			claim.Spec.Requirements = []req{in(awsv1.LabelInstanceTenancy, tt.values...)}
		}
		choice, err := Choose(claim, []*model.InstanceType{kind("m5.large", 1, 0)}, ChooseOptions{})
		if err != nil || choice.Tenancy != tt.want {
			t.Errorf("%v: tenancy is %q, %v", tt.values, choice.Tenancy, err)
		}
	}
}

// A claim whose minValues are not met is launched if the policy is BestEffort, or if it was planned with that policy.
func TestMinValuesBestEffort(t *testing.T) {
	for _, tt := range []struct {
		planned, policy, launched bool
	}{{true, false, true}, {false, true, true}, {true, true, true}, {false, false, false}} {
		claim := &apiv1.NodeClaim{}
		claim.Annotations = map[string]string{apiv1.NodeClaimMinValuesRelaxedAnnotationKey: strconv.FormatBool(tt.planned)}
		claim.Spec.Requirements = []req{{Key: awsv1.LabelInstanceFamily, Operator: corev1.NodeSelectorOpExists, MinValues: ptr.To(5)}}
		if _, err := Choose(claim, []*model.InstanceType{kind("m5.large", 1, 0)}, ChooseOptions{RelaxMinValues: tt.policy}); (err == nil) != tt.launched {
			t.Errorf("planned with BestEffort: %v, policy BestEffort: %v: %v", tt.planned, tt.policy, err)
		}
	}
}

// If the cheapest types do not meet minValues, dearer ones take the place of the last of them.
func TestFirstTypesMeetMinValues(t *testing.T) {
	var types []*model.InstanceType
	for i := range maxTypes + 20 {
		types = append(types, kind(fmt.Sprintf("m5.%dxlarge", i+1), float64(i+1), 0))
	}
	types = append(types, kind("c5.large", 200, 0), kind("r5.large", 300, 0), kind("i5.large", 400, 0))
	claim := &apiv1.NodeClaim{}
	claim.Spec.Requirements = []req{{Key: awsv1.LabelInstanceFamily, Operator: corev1.NodeSelectorOpExists, MinValues: ptr.To(3)}}
	choice, err := Choose(claim, types, ChooseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for _, x := range choice.Types {
		names[x.Name] = true
	}
	if len(names) != maxTypes || !names["c5.large"] || !names["r5.large"] || names["i5.large"] || !names["m5.1xlarge"] || !names["m5.58xlarge"] {
		t.Errorf("%d types: %v", len(names), names)
	}
	claim.Spec.Requirements[0].MinValues = ptr.To(5)
	if _, err := Choose(claim, types, ChooseOptions{}); err == nil {
		t.Error("four families meet minValues 5")
	}
}

// The partition is the lowest with an offering of the chosen capacity type. A lower one that has only offerings of another
// capacity type would leave the choice without types.
func TestPartitionOfTheCapacityType(t *testing.T) {
	offering := func(capacityType, partition string) model.Offering {
		return model.Offering{CapacityType: capacityType, Zone: "us-east-1a", Price: 1, Available: true,
			Requirements: require.FromLabels(map[string]string{awsv1.LabelPlacementGroupPartition: partition})}
	}
	left := []candidate{{t: &model.InstanceType{Name: "m5.large"}, offers: []model.Offering{
		offering(apiv1.CapacityTypeOnDemand, "1"), offering(apiv1.CapacityTypeSpot, "2"), offering(apiv1.CapacityTypeSpot, "3"),
	}}}
	reqs := require.NewSet(require.New(awsv1.LabelPlacementGroupPartition, require.In, "1", "2", "3"))
	choice := newChoice(left, reqs)
	if choice.CapacityType != apiv1.CapacityTypeSpot || choice.Partition != "2" || len(choice.Types) != 1 {
		t.Errorf("chosen are %d types, %s, in partition %q; want m5.large as spot in partition 2", len(choice.Types), choice.CapacityType, choice.Partition)
	}
}

// The excluded values of a type that leaves the value of a label open are no values for minValues.
func TestExcludedValuesAreNoValues(t *testing.T) {
	open := kind("m5.large", 1, 0)
	open.Requirements = open.Requirements.Without(awsv1.LabelInstanceFamily).With(require.New(awsv1.LabelInstanceFamily, require.NotIn, "c5", "r5"))
	claim := &apiv1.NodeClaim{}
	claim.Spec.Requirements = []req{{Key: awsv1.LabelInstanceFamily, Operator: corev1.NodeSelectorOpExists, MinValues: ptr.To(2)}}
	if _, err := Choose(claim, []*model.InstanceType{open}, ChooseOptions{}); err == nil {
		t.Error("the excluded values meet minValues 2")
	}
}
