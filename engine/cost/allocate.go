package cost

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// An Input has the snapshot and the figures by which Allocate divides the price of the nodes.
type Input struct {
	Snapshot *model.Snapshot
	// Causes are the reasons why nodes are kept, by node name. For a node without an entry, the cause is Fragmentation.
	// CausesOf derives them from a decision of disruption.
	Causes map[string]Cause
	// Usage is what pods use, by pod key. It counts where it is larger than the request. It may be nil or incomplete.
	Usage map[string]model.Resources
	// Headroom is the room that capacity buffers reserve, by node name.
	Headroom map[string]model.Resources
	// Label is the key of the pod label whose value becomes Key.Label, empty for none.
	Label string
}

// A Part is the part of the price that belongs to one key.
type Part struct {
	Key  Key
	Rate Micros
}

// An Allocation is the price of all nodes, in parts.
type Allocation struct {
	// Parts are sorted by key, and none is zero. They add up to Total.
	Parts []Part
	Total Micros
	// Nodes is the number of nodes with a price, Unpriced the number of those without, which count as free.
	Nodes, Unpriced int
}

// Billed reports whether the node is in an allocation: it has a NodeClaim and an instance whose termination has not begun.
func Billed(n *model.Node) bool {
	return n.Managed() && n.Launched() && !condition.IsTrue(n.Claim, apiv1.ConditionTypeInstanceTerminating)
}

// CausesOf returns Input.Causes for a decision of disruption. A blocked node has the cause of its verdict. A node that a
// command removes has the cause Leaving.
func CausesOf(blocked []model.Blocked, commands []model.Command) map[string]Cause {
	causes := make(map[string]Cause, len(blocked))
	for _, b := range blocked {
		causes[b.Node.Name] = CauseOf(b.Verdict)
	}
	for i := range commands {
		for _, n := range commands[i].Nodes {
			causes[n.Name] = Leaving
		}
	}
	return causes
}

// Allocate splits the price of all billed nodes.
func Allocate(in Input) Allocation {
	out, sums := Allocation{}, map[Key]Micros{}
	for _, n := range in.Snapshot.Nodes() {
		if !Billed(n) {
			continue
		}
		price, known := in.Price(n)
		if !known {
			out.Unpriced++
			continue
		}
		out.Nodes++
		out.Total += price
		for _, p := range in.Node(n, price) {
			sums[p.Key] += p.Rate
		}
	}
	out.Parts = make([]Part, 0, len(sums))
	for k, rate := range sums {
		out.Parts = append(out.Parts, Part{k, rate})
	}
	slices.SortFunc(out.Parts, func(a, b Part) int { return a.Key.Compare(b.Key) })
	return out
}

// Price returns the price of the node, and false if it is not known.
func (in *Input) Price(n *model.Node) (Micros, bool) {
	dollars, ok := in.Snapshot.Price(n)
	return MicrosOf(dollars), ok
}

// PriceOfSet returns by how much the price of all nodes falls when the nodes end. It is less than the sum of their prices if
// they leave units of commitments that other nodes do not use, and more if others use them. Unknown prices count as zero.
func (in *Input) PriceOfSet(nodes []*model.Node) Micros {
	sum, coverage, names := Micros(0), in.Snapshot.Coverage(), make([]string, len(nodes))
	for i, n := range nodes {
		if names[i] = n.Name; !coverage.Has(n.Name) {
			price, _ := in.Price(n)
			sum += price
		}
	}
	return sum + MicrosOf(coverage.Released(names...))
}

// Pods returns each pod's share of the price of one node, in the order of n.Pods.
func (in *Input) Pods(n *model.Node, price Micros) []Micros { return in.shares(n, price)[3:] }

// cause returns the cause of the idle capacity of the node.
func (in *Input) cause(n *model.Node) Cause {
	switch {
	case n.Deleting || n.Disrupted():
		return Leaving
	case !n.Initialized:
		return Starting
	}
	c := cmp.Or(in.Causes[n.Name], Fragmentation)
	if p, ok := in.Snapshot.Pool(n.Pool); ok && p.Static() && c != Leaving {
		return Static
	}
	return c
}

// Node divides the price of a node among its pods, its idle capacity and its overhead. The parts are not sorted, none is
// zero, and several may have the same key.
func (in *Input) Node(n *model.Node, price Micros) (parts []Part) {
	at := Key{Pool: n.Pool, CapacityType: n.Labels[apiv1.CapacityTypeLabelKey], Zone: n.Labels[corev1.LabelTopologyZone]}
	fixed := [3]Key{of(at, Overhead, Reserved), of(at, Idle, Headroom), of(at, Idle, in.cause(n))}
	parts = make([]Part, 0, len(n.Pods)+len(fixed))
	for i, rate := range in.shares(n, price) {
		switch {
		case rate == 0:
		case i < len(fixed):
			parts = append(parts, Part{fixed[i], rate})
		default:
			parts = append(parts, Part{in.keyOf(n.Pods[i-len(fixed)], at), rate})
		}
	}
	return parts
}

// shares divides the price of a node. The first three shares are those of the capacity that is not allocatable, of the
// headroom, and of the other idle capacity. They are followed by those of the pods, in the order of n.Pods. If
// no resource of the node has a weight, the whole price is that of the other idle capacity.
func (in *Input) shares(n *model.Node, price Micros) []Micros {
	out, amounts := make([]Micros, len(n.Pods)+3), make([]int64, len(n.Pods)+3)
	names, weights := weighted(n.Capacity)
	if len(names) == 0 {
		out[2] = price
		return out
	}
	for r, money := range Split(price, weights) {
		amounts[0], amounts[1], amounts[2] = in.measure(n, names[r], amounts[3:])
		for i, part := range Split(money, amounts) {
			out[i] += part
		}
	}
	return out
}

func of(at Key, kind Kind, cause Cause) Key {
	at.Kind, at.Cause = kind, cause
	return at
}

// keyOf returns the key of a pod. at has the fields of the key that the node determines.
func (in *Input) keyOf(p *model.Pod, at Key) Key {
	at.Kind, at.Namespace, at.Owner = Workload, p.Object.Namespace, OwnerOf(p)
	if p.Daemon() || p.Mirror() {
		at.Kind, at.Cause = Overhead, DaemonSets
	}
	if in.Label != "" {
		at.Label = p.Object.Labels[in.Label]
	}
	return at
}

// measure sets uses to what each pod of the node uses of the resource. It returns the amount that is not allocatable, the
// free amount that is reserved as headroom, and the rest of the free amount. No amount is negative, and together with uses
// they add up to the capacity. If pods use more than is allocatable, their uses are scaled down in proportion.
func (in *Input) measure(n *model.Node, name corev1.ResourceName, uses []int64) (reserved, headroom, free int64) {
	capacity := min(max(n.Capacity[name], 0), model.MaxAmount)
	allocatable := min(max(n.Allocatable[name], 0), capacity)
	reserved = capacity - allocatable
	left := allocatable
	over := false
	for i, p := range n.Pods {
		uses[i] = min(max(p.Requests[name], in.Usage[p.Key][name], 0), allocatable)
		over = over || uses[i] > left
		left -= min(uses[i], left)
	}
	if over {
		for i, share := range Split(Micros(allocatable), uses) {
			uses[i] = int64(share)
		}
		return reserved, 0, 0
	}
	headroom = min(max(in.Headroom[n.Name][name], 0), left)
	return reserved, headroom, left - headroom
}

// Weights of resources in the price of a node, in billionths of a dollar per hour: for a thousandth of a core, for a MiB, and
// for an accelerator. Only their ratio matters.
const (
	nanosPerMilli       = 31_611
	nanosPerMiB         = 4_138
	nanosPerAccelerator = 950_000_000
)

// weighted returns the resources among which the price of a node with the capacity is divided, and the weight of each.
func weighted(capacity model.Resources) (names []corev1.ResourceName, weights []int64) {
	for _, name := range capacity.Names() {
		v, weight := max(capacity[name], 0), int64(0)
		switch {
		case name == corev1.ResourceCPU:
			weight = min(v, 1<<30) * nanosPerMilli
		case name == corev1.ResourceMemory:
			weight = min(v>>20, 1<<33) * nanosPerMiB
		case accelerator(name):
			weight = min(v, 1<<20) * nanosPerAccelerator
		}
		if weight > 0 {
			names, weights = append(names, name), append(weights, weight)
		}
	}
	return names, weights
}

// accelerator reports whether the resource is a device that dominates the price of a node. Shares of devices and other
// names of the same devices are excluded.
func accelerator(name corev1.ResourceName) bool {
	_, device, _ := strings.Cut(string(name), "/")
	return device == "gpu" || device == "neuron" || device == "gaudi"
}
