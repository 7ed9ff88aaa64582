package catalogue

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// defaultPods is the number of pods of a type whose allocatable resources have none. It is the default of kubelet.
const defaultPods = 110

// maxPrice is the largest price in dollars per hour. It is far above that of any instance, and sums of such prices stay exact
// enough to be compared.
const maxPrice = 1_000_000

// A Type is an instance type of a catalogue.
type Type struct {
	Name string `json:"name"`
	// Arch is amd64 or arm64. The default is amd64.
	Arch string `json:"arch"`
	// Labels are the labels of nodes of the type, without the name of the type, architecture, zone
	// and capacity type, and without the operating system if it is linux. Describe also leaves out
	// labels that offerings have.
	Labels map[string]string `json:"labels"`
	// Allocatable are the resources that pods may use. The default of pods is 110. Capacity counts
	// against the limits of a pool. An amount that is missing, or smaller than that in Allocatable,
	// is that in Allocatable.
	Allocatable map[string]string `json:"allocatable"`
	Capacity    map[string]string `json:"capacity,omitempty"`
	// Attach is the attach limit of each CSI driver. The limit of a missing driver is unknown.
	Attach    map[string]int `json:"attach,omitempty"`
	Offerings []Offering     `json:"offerings"`
}

// An Offering is a zone and a capacity type in which a Type is offered, with the price.
type Offering struct {
	Zone         string `json:"zone"`
	CapacityType string `json:"capacityType"`
	// Price is in dollars per hour.
	Price float64 `json:"price"`
	// Labels are further labels of nodes that are launched from this offering.
	Labels map[string]string `json:"labels,omitempty"`
}

// InstanceTypes converts types to those of package model, in the same order. It returns an error for the first type
// with a mistake.
func InstanceTypes(types []Type) ([]*model.InstanceType, error) {
	out := make([]*model.InstanceType, len(types))
	shared := map[string]require.Set{}
	for i, t := range types {
		m, err := t.instanceType(shared)
		if err != nil {
			return nil, fmt.Errorf("type %s: %w", t.Name, err)
		}
		out[i] = m
	}
	return out, nil
}

// Resources returns the allocatable resources of a node of the type, in the units of the engine.
func (t Type) Resources() (model.Resources, error) {
	allocatable, err := amountsOf("allocatable", t.Allocatable)
	if err != nil {
		return nil, err
	}
	if _, ok := allocatable[corev1.ResourcePods]; !ok {
		allocatable[corev1.ResourcePods] = defaultPods
	}
	return allocatable, nil
}

// instanceType converts t to the type of package model. shared caches the requirements of offerings by their labels, so
// that equal offerings of different types share one set.
func (t Type) instanceType(shared map[string]require.Set) (*model.InstanceType, error) {
	allocatable, err := t.Resources()
	if err != nil {
		return nil, err
	}
	capacity, err := amountsOf("capacity", t.Capacity)
	if err != nil {
		return nil, err
	}
	for _, driver := range slices.Sorted(maps.Keys(t.Attach)) {
		if t.Attach[driver] < 0 {
			return nil, fmt.Errorf("attach.%s: %d is negative", driver, t.Attach[driver])
		}
	}
	m := &model.InstanceType{Name: t.Name, Allocatable: allocatable, Capacity: allocatable.Max(capacity), Attach: t.Attach}
	zones, kinds := map[string]bool{}, map[string]bool{}
	for i, o := range t.Offerings {
		if err := o.check(); err != nil {
			return nil, fmt.Errorf("offerings[%d].%w", i, err)
		}
		zones[o.Zone], kinds[o.CapacityType] = true, true
		m.Offerings = append(m.Offerings, o.offering(shared))
	}
	m.Requirements = require.FromLabels(t.Labels).And(require.FromLabels(map[string]string{
		corev1.LabelInstanceTypeStable: t.Name,
		corev1.LabelArchStable:         cmp.Or(t.Arch, apiv1.ArchitectureAmd64),
		corev1.LabelOSStable:           cmp.Or(t.Labels[corev1.LabelOSStable], string(corev1.Linux)),
	})).With(
		require.New(corev1.LabelTopologyZone, require.In, slices.Collect(maps.Keys(zones))...),
		require.New(apiv1.CapacityTypeLabelKey, require.In, slices.Collect(maps.Keys(kinds))...),
	)
	return m, nil
}

// check returns an error that names the first field with a mistake.
func (o Offering) check() error {
	switch {
	case o.Zone == "":
		return errors.New("zone: is missing")
	case !slices.Contains(apiv1.CoreLabels().KnownValues[apiv1.CapacityTypeLabelKey], o.CapacityType):
		return fmt.Errorf("capacityType: is %q, want on-demand, spot or reserved", o.CapacityType)
	case !(o.Price >= 0 && o.Price <= maxPrice): // also true for NaN
		return fmt.Errorf("price: is %v, want dollars per hour from 0 to %d", o.Price, maxPrice)
	}
	return nil
}

// offering converts o to the type of package model.
func (o Offering) offering(shared map[string]require.Set) model.Offering {
	key := fmt.Sprint(o.Zone, "/", o.CapacityType, o.Labels)
	reqs, ok := shared[key]
	if !ok {
		reqs = require.FromLabels(o.Labels).And(require.FromLabels(map[string]string{
			corev1.LabelTopologyZone: o.Zone, apiv1.CapacityTypeLabelKey: o.CapacityType,
		}))
		shared[key] = reqs
	}
	return model.Offering{
		Zone: o.Zone, CapacityType: o.CapacityType, Price: o.Price, Available: true, Requirements: reqs,
	}
}

// amountsOf parses quantities and converts them to the units of the engine. field is the name of the field for error messages.
func amountsOf(field string, from map[string]string) (model.Resources, error) {
	list := corev1.ResourceList{}
	for _, name := range slices.Sorted(maps.Keys(from)) {
		q, err := resource.ParseQuantity(from[name])
		if err != nil {
			return nil, fmt.Errorf("%s.%s: %q is no quantity such as 500m, 2 or 4Gi", field, name, from[name])
		}
		if q.Sign() < 0 {
			return nil, fmt.Errorf("%s.%s: %s is negative", field, name, from[name])
		}
		list[corev1.ResourceName(name)] = q
	}
	return model.CapacityOf(list), nil
}
