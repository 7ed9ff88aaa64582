package backtest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A Policy has the NodePools and options under which a trace is replayed.
type Policy struct {
	Name string
	// Objects are the NodePools with their instance types, and objects on which decisions depend, such as DaemonSets and
	// PodDisruptionBudgets. They have no nodes and no pods.
	Objects model.Delta
	// DynamicResources is that of the Snapshot: DaemonSets whose pods have ResourceClaims count.
	DynamicResources bool
	Options          disrupt.Options
	// Planner returns the Planner of one replay. If it is nil, the decisions are those of this project's controller with
	// Options.
	Planner func() (Planner, error)
}

// Settings are the parameters of a replay that are equal for all policies of a comparison.
type Settings struct {
	// Step is the interval of the virtual clock. Pods that are created in the same step are planned together.
	Step time.Duration
	// Boot is the time from the launch of a node until it accepts pods.
	Boot time.Duration
	// Disrupt is the interval between decisions of disruption.
	Disrupt time.Duration
	// Sample is the maximum interval between computations of the lower bound. The lower bound is computed at least 24 times
	// in a period of at least 24 steps.
	Sample time.Duration
	// Slices is the number of slices of an accelerator, at least 1. If it is more than 1, several pods may share an
	// accelerator, and a pod requests a number of slices.
	Slices int64
}

// DefaultSettings are the defaults of the flags.
func DefaultSettings() Settings {
	return Settings{Step: 10 * time.Second, Boot: time.Minute, Disrupt: 10 * time.Minute, Sample: time.Hour, Slices: 1}
}

// maxSlices is the largest number of pods that share an accelerator.
const maxSlices = 1000

// Validate returns one error that lists all invalid fields.
func (s Settings) Validate() error {
	var errs []error
	check := func(flag string, v, least, most time.Duration) {
		if v < least || v > most {
			errs = append(errs, fmt.Errorf("--%s: %v is out of range, use %v to %v", flag, v, least, most))
		}
	}
	check("step", s.Step, time.Second, time.Hour)
	check("boot-time", s.Boot, 0, 24*time.Hour)
	check("disruption-interval", s.Disrupt, s.Step, 24*time.Hour)
	check("sample-interval", s.Sample, s.Step, MaxPeriod)
	if s.Slices < 1 || s.Slices > maxSlices {
		errs = append(errs, fmt.Errorf("--gpu-slices: %d is out of range, use 1 to %d", s.Slices, maxSlices))
	}
	return errors.Join(errs...)
}

// gpuResource is the resource of the accelerators of a trace.
const gpuResource = corev1.ResourceName("nvidia.com/gpu")

// usable returns the types and offerings that the NodePool can launch, usually a small part of all. The capacity
// for accelerators is multiplied by slices.
func usable(pool *model.Pool, types []*model.InstanceType, slices int64) []*model.InstanceType {
	var out []*model.InstanceType
	for _, t := range types {
		if _, ok := t.Requirements.Intersects(pool.Requirements); !ok {
			continue
		}
		changed := *t
		changed.Offerings = nil
		for _, o := range t.Offerings {
			if _, ok := o.Requirements.Intersects(pool.Requirements); ok && o.Available {
				changed.Offerings = append(changed.Offerings, o)
			}
		}
		if len(changed.Offerings) == 0 {
			continue
		}
		if slices > 1 && t.Capacity[gpuResource] > 0 {
			changed.Capacity, changed.Allocatable = times(t.Capacity, slices), times(t.Allocatable, slices)
		}
		out = append(out, &changed)
	}
	return out
}

// competitive returns the types that a plan for pods without label requirements may choose. Each has its cheapest offering
// of each capacity type only. A type is omitted if another type can replace it: one that costs no more, has at least as
// much of each resource, and uses no more of the NodePool's limits. A cheapest plan never needs such a type. If the
// NodePool has minValues, all types are kept.
func competitive(pool *model.Pool, types []*model.InstanceType) []*model.InstanceType {
	for r := range pool.Requirements.All() {
		if r.MinValues() > 0 {
			return types
		}
	}
	list := make([]*model.InstanceType, len(types))
	for i, t := range types {
		changed := *t
		changed.Offerings = cheapestOfEach(t.Offerings)
		list[i] = &changed
	}
	return slices.DeleteFunc(slices.Clone(list), func(t *model.InstanceType) bool {
		return slices.ContainsFunc(list, func(better *model.InstanceType) bool { return better != t && replaces(better, t, pool.Limits) })
	})
}

// cheapestOfEach returns the cheapest offering of each capacity type.
func cheapestOfEach(offerings []model.Offering) []model.Offering {
	sorted := slices.SortedStableFunc(slices.Values(offerings), func(a, b model.Offering) int {
		return cmp.Or(strings.Compare(a.CapacityType, b.CapacityType), a.Compare(b))
	})
	return slices.CompactFunc(sorted, func(a, b model.Offering) bool { return a.CapacityType == b.CapacityType })
}

// replaces reports whether a can replace b: it has at least as much of each resource, an offering of each capacity type
// of b that is not more expensive, and no larger capacity of the limited resources. Of two types that can replace each
// other, only the first by name replaces the second.
func replaces(a, b *model.InstanceType, limits model.Resources) bool {
	for name := range limits {
		if a.Capacity[name] > b.Capacity[name] {
			return false
		}
	}
	equal := len(a.Offerings) == len(b.Offerings)
	for name, v := range b.Allocatable {
		if a.Allocatable[name] < v {
			return false
		}
		equal = equal && a.Allocatable[name] == v
	}
	for _, o := range b.Offerings {
		i := slices.IndexFunc(a.Offerings, func(x model.Offering) bool { return x.CapacityType == o.CapacityType })
		if i < 0 || a.Offerings[i].Price > o.Price {
			return false
		}
		equal = equal && a.Offerings[i].Price == o.Price
	}
	return !equal || len(a.Allocatable) > len(b.Allocatable) || a.Name < b.Name
}

func times(r model.Resources, slices int64) model.Resources {
	out := r.Plus(nil)
	out[gpuResource] *= slices
	return out
}

// request returns the number of slices that one pod of the shape requests. A share is rounded up to whole slices.
func (s *Shape) request(slices int64) int64 {
	return s.GPUs * ((s.Share*slices + 999) / 1000)
}
