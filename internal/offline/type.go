package offline

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A Type is an instance type as a catalogue file has it.
type Type struct {
	Name string `json:"name"`
	// Arch is amd64 or arm64; amd64 if it is left out.
	Arch string `json:"arch"`
	// Labels are those of its nodes, without name, architecture, zone and capacity type, and without the operating system
	// if it is linux.
	Labels map[string]string `json:"labels"`
	// Allocatable is what pods may use; without pods it is 110 of them. Capacity is what counts against the limits of a
	// pool, Allocatable if it is left out.
	Allocatable map[string]string `json:"allocatable"`
	Capacity    map[string]string `json:"capacity,omitempty"`
	// Attach is how many volumes of each CSI driver pods may have attached to a node; of a driver that is left out nothing is
	// known.
	Attach    map[string]int `json:"attach,omitempty"`
	Offerings []TypeOffering `json:"offerings"`
}

// A TypeOffering is one way to buy a Type.
type TypeOffering struct {
	Zone         string `json:"zone"`
	CapacityType string `json:"capacityType"`
	// Price is in dollars per hour.
	Price float64 `json:"price"`
	// Labels are those that a node bought this way has besides zone and capacity type.
	Labels map[string]string `json:"labels,omitempty"`
}

// ReadCatalogue reads a catalogue file; name is for error messages. It returns all mistakes at once.
func ReadCatalogue(name string, data []byte) (*Catalogue, error) {
	var list []Type
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("%s: want a JSON array of instance types: %w", name, locate(data, err))
	}
	c := &Catalogue{fixed: make([]*model.InstanceType, 0, len(list))}
	ways := map[string]require.Set{}
	seen := map[string]bool{}
	var errs []error
	for i, t := range list {
		if t.Name == "" || seen[t.Name] {
			what := "has no name"
			if t.Name != "" {
				what = "is there twice"
			}
			errs = append(errs, fmt.Errorf("%s: item %d: type %q %s", name, i+1, t.Name, what))
			continue
		}
		seen[t.Name] = true
		m, err := t.model(ways)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: item %d: type %s: %w", name, i+1, t.Name, err))
			continue
		}
		c.fixed = append(c.fixed, m)
	}
	slices.SortFunc(c.fixed, func(a, b *model.InstanceType) int { return cmp.Compare(a.Name, b.Name) })
	return c, errors.Join(errs...)
}

// locate adds the line to a JSON error.
func locate(data []byte, err error) error {
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	offset := int64(-1)
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &mismatch):
		offset = mismatch.Offset
	default:
		return err
	}
	line := 1
	for _, b := range data[:min(offset, int64(len(data)))] {
		if b == '\n' {
			line++
		}
	}
	return fmt.Errorf("line %d: %w", line, err)
}

// model returns the engine's form. ways shares the labels of offerings that are alike.
func (t Type) model(ways map[string]require.Set) (*model.InstanceType, error) {
	allocatable, err := amountsOf("allocatable", t.Allocatable)
	if err != nil {
		return nil, err
	}
	if _, ok := allocatable[corev1.ResourcePods]; !ok {
		allocatable[corev1.ResourcePods] = 110
	}
	capacity, err := amountsOf("capacity", t.Capacity)
	if err != nil {
		return nil, err
	}
	m := &model.InstanceType{Name: t.Name, Allocatable: allocatable, Capacity: allocatable.Max(capacity), Attach: t.Attach}
	zones, kinds := map[string]bool{}, map[string]bool{}
	for i, o := range t.Offerings {
		if err := o.check(); err != nil {
			return nil, fmt.Errorf("offerings[%d].%w", i, err)
		}
		zones[o.Zone], kinds[o.CapacityType] = true, true
		m.Offerings = append(m.Offerings, o.model(ways))
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

func (o TypeOffering) check() error {
	switch {
	case o.Zone == "":
		return errors.New("zone: is missing")
	case !slices.Contains(apiv1.CoreLabels().KnownValues[apiv1.CapacityTypeLabelKey], o.CapacityType):
		return fmt.Errorf("capacityType: is %q, want on-demand, spot or reserved", o.CapacityType)
	case o.Price < 0 || math.IsInf(o.Price, 0):
		return fmt.Errorf("price: is %v, want dollars per hour", o.Price)
	}
	return nil
}

func (o TypeOffering) model(ways map[string]require.Set) model.Offering {
	key := fmt.Sprint(o.Zone, "/", o.CapacityType, o.Labels)
	reqs, ok := ways[key]
	if !ok {
		reqs = require.FromLabels(o.Labels).And(require.FromLabels(map[string]string{
			corev1.LabelTopologyZone: o.Zone, apiv1.CapacityTypeLabelKey: o.CapacityType,
		}))
		ways[key] = reqs
	}
	return model.Offering{
		Zone: o.Zone, CapacityType: o.CapacityType, Price: o.Price, Available: true, Requirements: reqs,
	}
}

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

// Describe returns the file's form of a type, with the offerings that are available.
func Describe(t *model.InstanceType) Type {
	out := Type{Name: t.Name, Labels: map[string]string{}, Allocatable: textsOf(t.Allocatable), Capacity: textsOf(t.Capacity), Attach: t.Attach}
	for key, v := range t.Requirements.Labels() {
		switch key {
		case corev1.LabelArchStable:
			out.Arch = v
		case corev1.LabelInstanceTypeStable, corev1.LabelTopologyZone, apiv1.CapacityTypeLabelKey:
		default:
			out.Labels[key] = v
		}
	}
	if out.Labels[corev1.LabelOSStable] == string(corev1.Linux) {
		delete(out.Labels, corev1.LabelOSStable)
	}
	for _, o := range t.Offerings {
		if !o.Available {
			continue
		}
		way := TypeOffering{Zone: o.Zone, CapacityType: o.CapacityType, Price: o.Price}
		for key, v := range o.Requirements.Labels() {
			delete(out.Labels, key) // it follows from the offering
			if key != corev1.LabelTopologyZone && key != apiv1.CapacityTypeLabelKey {
				if way.Labels == nil {
					way.Labels = map[string]string{}
				}
				way.Labels[key] = v
			}
		}
		out.Offerings = append(out.Offerings, way)
	}
	return out
}

func textsOf(r model.Resources) map[string]string {
	out := make(map[string]string, len(r))
	for name, q := range r.List() {
		out[string(name)] = q.String()
	}
	return out
}
