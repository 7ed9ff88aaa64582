package catalog

import (
	"math"
	"reflect"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
)

// Dimensions are the components of demand and capacity vectors. They are the resources that some pod to plan requests, then
// one dimension for each CSI driver of these pods' volumes for which an attach limit is known. Amounts are millicores of
// cpu, and whole units of everything else: bytes, pods, devices, volumes.
type Dimensions struct {
	Names []corev1.ResourceName
	// Plain is the number of resources. Later dimensions are numbers of attached volumes.
	Plain int
	// Units[d] is a divisor of the amounts in dimension d, for floating-point work. It makes typical amounts near one
	// (cores, GiB, tens of pods).
	Units []float64
}

// Unlimited is the number of nodes that Limits.Allow returns if there is no limit. It exceeds any amount.
const Unlimited = math.MaxInt64

// NewDimensions returns one dimension for each resource of which a pod requests more than 0, in the order of
// model.CompareResources. NewVolumes adds those of volumes.
func NewDimensions(pods []*model.Pod) *Dimensions {
	seen, known := map[corev1.ResourceName]bool{}, map[uintptr]bool{}
	d := &Dimensions{}
	for _, p := range pods {
		id := reflect.ValueOf(p.Requests).Pointer() // pods with equal requests share one map
		if known[id] {
			continue
		}
		known[id] = true
		for name, v := range p.Requests {
			if v > 0 && !seen[name] {
				seen[name] = true
				d.Names = append(d.Names, name)
			}
		}
	}
	slices.SortFunc(d.Names, model.CompareResources)
	d.Plain = len(d.Names)
	for i := range d.Names {
		d.Units = append(d.Units, d.unit(i))
	}
	return d
}

// Len returns the number of dimensions.
func (d *Dimensions) Len() int { return len(d.Names) }

// Vector returns the amounts of r by dimension, with 0 for the volume dimensions.
func (d *Dimensions) Vector(r model.Resources) []int64 { return amounts(r, d.Names) }

// amounts returns the amounts of r of the named resources, in the order of names.
func amounts(r model.Resources, names []corev1.ResourceName) []int64 {
	v := make([]int64, len(names))
	for i, name := range names {
		v[i] = r[name]
	}
	return v
}

func (d *Dimensions) unit(i int) float64 {
	switch d.Names[i] {
	case corev1.ResourceCPU:
		return 1000
	case corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return 1 << 30
	case corev1.ResourcePods:
		return 10
	}
	return 1
}
