package kwok

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"

	kwokv1alpha1 "github.com/karpenter-go/karpenter/api/kwok/v1alpha1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A description is an instance type in a JSON file. The JSON names of the fields are those of the
// files that upstream Karpenter reads.
type description struct {
	Name             string                `json:"name"`
	Architecture     string                `json:"architecture"`
	OperatingSystems []string              `json:"operatingSystems"`
	Resources        corev1.ResourceList   `json:"resources"`
	Offerings        []offeringDescription `json:"offerings"`
}

// An offeringDescription is an offering in a file. Files of upstream Karpenter also have the field Available. Load
// ignores that field: all offerings are available.
type offeringDescription struct {
	Price               float64                          `json:"Price"`
	Requirements        []corev1.NodeSelectorRequirement `json:"Requirements"`
	ReservationCapacity int                              `json:"ReservationCapacity,omitempty"`
}

// filePods is the maximum number of pods of a type for which the file has no number.
const filePods = 110

// Load reads the instance types of a JSON file and returns them in name order. The error joins the first mistake of
// each type, with the name of the type.
func Load(path string) ([]*cloud.InstanceType, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read instance types: %w", err)
	}
	list, err := parse(data)
	if err != nil {
		return nil, fmt.Errorf("read instance types: %s: %w", path, err)
	}
	return list, nil
}

// parse reads the JSON array of a file, and returns its types in name order. The error joins the
// first mistake of each type.
func parse(data []byte) ([]*cloud.InstanceType, error) {
	var list []description
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(&list); err != nil {
		return nil, fmt.Errorf("want a JSON array of instance types: %w", err)
	}
	if len(list) == 0 {
		return nil, errors.New("there is no instance type in it")
	}
	var errs []error
	out, seen := make([]*cloud.InstanceType, 0, len(list)), sets.New[string]()
	for i, d := range list {
		err := d.check()
		if err == nil && seen.Has(d.Name) {
			err = errors.New("an earlier type has this name already")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("[%d] %q: %w", i, d.Name, err))
			continue
		}
		seen.Insert(d.Name)
		out = append(out, d.build())
	}
	slices.SortFunc(out, func(a, b *cloud.InstanceType) int { return cmp.Compare(a.Name, b.Name) })
	return out, errors.Join(errs...)
}

// check returns an error about the first mistake in d.
func (d description) check() error {
	switch {
	case d.Name == "":
		return errors.New("name is missing")
	case d.Architecture == "":
		return errors.New("architecture is missing, want amd64 or arm64")
	case len(d.OperatingSystems) == 0:
		return errors.New("operatingSystems is empty, want linux or windows")
	case len(d.Offerings) == 0:
		return errors.New("offerings is empty")
	}
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if q := d.Resources[name]; q.Sign() <= 0 {
			return fmt.Errorf("resources.%s is %s, want more than 0", name, &q)
		}
	}
	for i, o := range d.Offerings {
		if o.Price < 0 {
			return fmt.Errorf("offerings[%d].Price is %v, want 0 or more", i, o.Price)
		}
		labels := require.FromSelector(o.Requirements).Labels()
		for _, key := range []string{corev1.LabelTopologyZone, apiv1.CapacityTypeLabelKey} {
			if labels[key] == "" {
				return fmt.Errorf("offerings[%d].Requirements must have %s with operator In and one value", i, key)
			}
		}
	}
	return nil
}

// build returns the instance type of d. The caller must have called check.
func (d description) build() *cloud.InstanceType {
	list := d.Resources.DeepCopy()
	if _, told := list[corev1.ResourcePods]; !told {
		list[corev1.ResourcePods] = *resource.NewQuantity(filePods, resource.DecimalSI)
	}
	t := &cloud.InstanceType{Name: d.Name, Capacity: model.CapacityOf(list)}
	t.Allocatable = model.NewAllocatable(t.Capacity, model.Resources{
		corev1.ResourceCPU: 100, corev1.ResourceMemory: 10 << 20, // reserved for kubelet
	})
	zones, capacityTypes := sets.New[string](), sets.New[string]()
	for _, o := range d.Offerings {
		reqs := require.FromSelector(o.Requirements)
		labels := reqs.Labels()
		made := cloud.Offering{
			Zone: labels[corev1.LabelTopologyZone], CapacityType: labels[apiv1.CapacityTypeLabelKey],
			Price: o.Price, Available: true, Requirements: reqs, ReservationCapacity: o.ReservationCapacity,
		}
		if made.CapacityType == apiv1.CapacityTypeReserved {
			made.ReservationID = d.Name + "/" + made.Zone
		}
		t.Offerings = append(t.Offerings, made)
		zones.Insert(made.Zone)
		capacityTypes.Insert(made.CapacityType)
	}
	t.Requirements = d.labels().With(
		require.New(corev1.LabelTopologyZone, require.In, sets.List(zones)...),
		require.New(apiv1.CapacityTypeLabelKey, require.In, sets.List(capacityTypes)...),
	)
	return t
}

// labels returns the requirements of the type without zone and capacity type. Types have no region, so a node may have
// any value of that label.
func (d description) labels() require.Set {
	cpu, memory := d.Resources[corev1.ResourceCPU], d.Resources[corev1.ResourceMemory]
	family, size := d.Name, cpu.String()
	if at := strings.IndexAny(d.Name, "-."); at >= 0 {
		family = d.Name[:at]
	}
	if _, after, dotted := strings.Cut(d.Name, "."); dotted {
		size = after
	}
	build := require.DoesNotExist
	if slices.Contains(d.OperatingSystems, string(corev1.Windows)) {
		build = require.Exists
	}
	return require.NewSet(
		require.New(corev1.LabelInstanceTypeStable, require.In, d.Name),
		require.New(corev1.LabelArchStable, require.In, d.Architecture),
		require.New(corev1.LabelOSStable, require.In, d.OperatingSystems...),
		require.New(corev1.LabelTopologyRegion, require.Exists),
		require.New(corev1.LabelWindowsBuild, build),
		require.New(kwokv1alpha1.InstanceSizeLabelKey, require.In, size),
		require.New(kwokv1alpha1.InstanceFamilyLabelKey, require.In, family),
		require.New(kwokv1alpha1.InstanceCPULabelKey, require.In, cpu.String()),
		require.New(kwokv1alpha1.InstanceMemoryLabelKey, require.In, memory.String()),
	)
}
