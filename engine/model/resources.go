package model

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Nodes is the resource of which each node counts as one, so that a pool's limits can bound the number of its nodes.
const Nodes corev1.ResourceName = "nodes"

// MaxAmount is the largest amount of a resource: 2^53 millicores or units, which is 9 trillion cores or 8 PiB. Larger
// amounts become MaxAmount. Sums and differences are limited to -MaxAmount and MaxAmount, so they cannot overflow. The
// sum of a thousand such amounts fits into an int64.
const MaxAmount = 1 << 53

// Resources are amounts by resource name: millicores for cpu, whole units for all others. A missing name means zero.
// Methods do not change their receiver, and return new values.
type Resources map[corev1.ResourceName]int64

// RequestsOf converts l and rounds up.
func RequestsOf(l corev1.ResourceList) Resources { return convert(l, true) }

// CapacityOf converts l and rounds down.
func CapacityOf(l corev1.ResourceList) Resources { return convert(l, false) }

func convert(l corev1.ResourceList, up bool) Resources {
	r := make(Resources, len(l))
	for name, q := range l {
		r[name] = amount(name, q, up)
	}
	return r
}

// amount returns q in the unit of name, at most MaxAmount. A request below zero counts as zero.
func amount(name corev1.ResourceName, q resource.Quantity, up bool) int64 {
	scale, size := resource.Scale(0), q.AsApproximateFloat64()
	if name == corev1.ResourceCPU {
		scale, size = resource.Milli, size*1000
	}
	switch { // ScaledValue overflows, or returns 0, if the result does not fit into 64 bits
	case size >= MaxAmount:
		return MaxAmount
	case up && size <= 0:
		return 0
	case size <= -MaxAmount:
		return -MaxAmount
	}
	v := q.ScaledValue(scale) // rounds away from zero
	if !up && resource.NewScaledQuantity(v, scale).Cmp(q) > 0 {
		v--
	}
	return v
}

// saturate returns v, limited to the range from -MaxAmount to MaxAmount.
func saturate(v int64) int64 { return max(-MaxAmount, min(v, MaxAmount)) }

// List converts r to quantities in the usual notation: binary units for memory and storage.
func (r Resources) List() corev1.ResourceList {
	l := make(corev1.ResourceList, len(r))
	for name, v := range r {
		l[name] = Quantity(name, v)
	}
	return l
}

// Quantity returns the amount v of the named resource as a quantity.
func Quantity(name corev1.ResourceName, v int64) resource.Quantity {
	switch name {
	case corev1.ResourceCPU:
		return *resource.NewMilliQuantity(v, resource.DecimalSI)
	case corev1.ResourceMemory, corev1.ResourceEphemeralStorage:
		return *resource.NewQuantity(v, resource.BinarySI)
	}
	return *resource.NewQuantity(v, resource.DecimalSI)
}

// Plus returns r + o, saturated.
func (r Resources) Plus(o Resources) Resources {
	return r.with(o, func(have, v int64) int64 { return saturate(saturate(have) + saturate(v)) })
}

// Minus returns r - o, saturated; amounts may become negative.
func (r Resources) Minus(o Resources) Resources {
	return r.with(o, func(have, v int64) int64 { return saturate(saturate(have) - saturate(v)) })
}

// Times returns n times r, saturated. n is not negative.
func (r Resources) Times(n int64) Resources {
	product := make(Resources, len(r))
	for name, v := range r {
		switch v = saturate(v); {
		case n > 0 && v > MaxAmount/n:
			product[name] = MaxAmount
		case n > 0 && v < -MaxAmount/n:
			product[name] = -MaxAmount
		default:
			product[name] = v * n
		}
	}
	return product
}

// Max returns the larger amount of each resource of o, and the other amounts of r unchanged.
func (r Resources) Max(o Resources) Resources {
	return r.with(o, func(have, v int64) int64 { return max(have, v) })
}

// with returns r with the amount of each resource in o replaced by f of the two amounts.
func (r Resources) with(o Resources, f func(have, v int64) int64) Resources {
	out := make(Resources, max(len(r), len(o)))
	maps.Copy(out, r)
	for name, v := range o {
		out[name] = f(out[name], v)
	}
	return out
}

// Short returns the first resource, in Names order, in which r exceeds have, and by how much. ok is false if r fits. A
// negative amount of have counts as zero, so an amount of zero always fits.
func (r Resources) Short(have Resources) (name corev1.ResourceName, by int64, ok bool) {
	for _, n := range r.Names() {
		if v := r[n]; v > 0 && v > have[n] {
			return n, v - max(have[n], 0), true
		}
	}
	return "", 0, false
}

// Names returns the names of r in the order of CompareResources.
func (r Resources) Names() []corev1.ResourceName {
	names := slices.Collect(maps.Keys(r))
	slices.SortFunc(names, CompareResources)
	return names
}

// CompareResources orders resource names as users see them: cpu, memory, pods, then the others by name.
func CompareResources(a, b corev1.ResourceName) int {
	return cmp.Or(rank(a)-rank(b), cmp.Compare(a, b))
}

// shownFirst are the resources that precede all others.
var shownFirst = []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourcePods}

func rank(n corev1.ResourceName) int {
	if i := slices.Index(shownFirst, n); i >= 0 {
		return i
	}
	return len(shownFirst)
}

// A FreeCapacity is what pods may still use of each node, by node name, while pods are assigned one after another. Without
// an entry, it is Node.Free, or the resource requests of the claim if the claim is not launched.
type FreeCapacity map[string]Resources

// Take subtracts the pod's requests from the free capacity of the node. If that is not enough, it changes nothing and
// returns false.
func (f FreeCapacity) Take(n *Node, p *Pod) bool {
	left, ok := f[n.Name]
	switch {
	case ok:
	case n.Launched():
		left = n.Free()
	default:
		left = RequestsOf(n.Claim.Spec.Resources.Requests)
	}
	if _, _, short := p.Requests.Short(left); short {
		return false
	}
	f[n.Name] = left.Minus(p.Requests)
	return true
}
