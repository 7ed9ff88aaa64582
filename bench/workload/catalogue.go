package workload

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A Type is an instance type in the form that karpenter simulate --catalog reads.
type Type struct {
	Name   string            `json:"name"`
	Arch   string            `json:"arch"`
	Labels map[string]string `json:"labels"`
	// Allocatable is what pods may use, as quantities.
	Allocatable map[string]string `json:"allocatable"`
	Offerings   []Offering        `json:"offerings"`
}

// An Offering is one way to buy a Type, in dollars per hour.
type Offering struct {
	Zone         string  `json:"zone"`
	CapacityType string  `json:"capacityType"`
	Price        float64 `json:"price"`
}

// catalogues are the choices of types, by name.
var catalogues = map[string]func() ([]Type, error){
	"all":          func() ([]Type, error) { return ec2(func(string, int) bool { return true }) },
	"noburst":      func() ([]Type, error) { return ec2(func(category string, _ int) bool { return category != "t" }) },
	"cmr6":         func() ([]Type, error) { return ec2(generalPurpose) },
	"synthetic400": func() ([]Type, error) { return synthetic(400), nil },
	"kwok":         func() ([]Type, error) { return generic(), nil },
}

// generalPurpose keeps what most people allow: compute, general and memory families of generation 6 and later.
func generalPurpose(category string, generation int) bool {
	return (category == "c" || category == "m" || category == "r") && generation >= 6
}

// Catalogue returns the types of that name: all, noburst (without the t families), cmr6 (families c, m and r of generation
// 6 and later) of EC2 in us-east-1, synthetic400 (400 made-up types of one core to 400), or kwok (the KWOK provider's).
func Catalogue(name string) ([]Type, error) {
	make, ok := catalogues[name]
	if !ok {
		return nil, fmt.Errorf("types %q are not known, use one of %s", name,
			strings.Join(slices.Sorted(maps.Keys(catalogues)), ", "))
	}
	return make()
}

// Room returns what pods may use of the type, in the engine's units.
func (t *Type) Room() (model.Resources, error) {
	list := corev1.ResourceList{}
	for name, text := range t.Allocatable {
		q, err := resource.ParseQuantity(text)
		if err != nil {
			return nil, fmt.Errorf("type %s: allocatable %s is %q: %w", t.Name, name, text, err)
		}
		list[corev1.ResourceName(name)] = q
	}
	return model.CapacityOf(list), nil
}

// InstanceTypes returns the catalogue in the engine's form.
func InstanceTypes(types []Type) ([]*model.InstanceType, error) {
	out := make([]*model.InstanceType, len(types))
	for i := range types {
		t := &types[i]
		room, err := t.Room()
		if err != nil {
			return nil, err
		}
		out[i] = &model.InstanceType{Name: t.Name, Capacity: room, Allocatable: room}
		var zones, capacityTypes []string
		for _, o := range t.Offerings {
			zones, capacityTypes = append(zones, o.Zone), append(capacityTypes, o.CapacityType)
			out[i].Offerings = append(out[i].Offerings, model.Offering{
				Zone: o.Zone, CapacityType: o.CapacityType, Price: o.Price, Available: true,
				Requirements: require.FromLabels(map[string]string{
					corev1.LabelTopologyZone: o.Zone, apiv1.CapacityTypeLabelKey: o.CapacityType,
				}),
			})
		}
		labels := map[string]string{
			corev1.LabelInstanceTypeStable: t.Name, corev1.LabelArchStable: t.Arch, corev1.LabelOSStable: string(corev1.Linux),
		}
		maps.Copy(labels, t.Labels)
		out[i].Requirements = require.FromLabels(labels).With(
			require.New(corev1.LabelTopologyZone, corev1.NodeSelectorOpIn, zones...),
			require.New(apiv1.CapacityTypeLabelKey, corev1.NodeSelectorOpIn, capacityTypes...),
		)
	}
	return out, nil
}
