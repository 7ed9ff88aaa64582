package view

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"unique"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/cost"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A Tile is a FleetNode in a compact form that is fast to encode. It is immutable, so moments of the history share the
// tiles of nodes that have not changed.
type Tile struct {
	ID string
	// head is the JSON of the node up to the list of its pods.
	head []byte
	// pods are the pods in the order of their keys.
	pods []podOf
	sums sums
}

// A podOf is a pod of a tile. share is in thousandths of the allocatable amount.
type podOf struct {
	owner unique.Handle[string]
	share uint16
	kind  BlockKind
}

// sums has the contributions of a tile to the strip.
type sums struct {
	coming                 bool
	managed, priced, spot  bool
	launched               bool // it has an instance, so it has a price
	requested, allocatable Amounts
	price, list            float64
	bound                  int
}

// Bytes returns an estimate of the memory that the tile uses.
func (t *Tile) Bytes() int { return 200 + len(t.ID) + len(t.head) + 16*len(t.pods) }

// IDOf returns the ID of the tile of a node.
func IDOf(n *model.Node) string {
	if n.Claim != nil {
		return n.Claim.Name
	}
	return n.Name
}

// NewTile returns the tile of a node.
func NewTile(n *model.Node, price Price, f Fate) *Tile { return newTile(n, price, f, &known{}) }

// newTile returns the tile of a node. For pods that have not changed since the last version of the node, it copies owner and
// kind from the last tile, because these take most of the time to compute.
func newTile(n *model.Node, price Price, f Fate, last *known) *Tile {
	node := nodeOf(n, price, f)
	t := &Tile{ID: node.ID, pods: make([]podOf, len(n.Pods)), sums: sumsOf(n, &node, price)}
	blocker := f.shown().pod
	var pods []*model.Pod
	if last.node != nil {
		pods = last.node.Pods
	}
	at := 0 // both lists of pods are in the order of their keys
	for i, p := range n.Pods {
		for at < len(pods) && pods[at].Key < p.Key {
			at++
		}
		if at < len(pods) && pods[at] == p && last.fate.pod == blocker {
			t.pods[i] = last.tile.pods[at]
			t.pods[i].share = share(p.Requests, n.Allocatable)
		} else {
			t.pods[i] = podOf{unique.Make(OwnerOf(p)), share(p.Requests, n.Allocatable), kindOf(p, blocker)}
		}
	}
	head, err := json.Marshal(&node)
	if err != nil {
		head = []byte(`{"pods":[]}`) // an error occurs only for infinite prices, which no offering has
	}
	t.head = head[:len(head)-len("]}")]
	return t
}

// nodeOf returns the FleetNode without its pods.
func nodeOf(n *model.Node, price Price, f Fate) FleetNode {
	return FleetNode{
		ID: IDOf(n), Name: n.Name, Pool: n.Pool, Zone: n.Labels[corev1.LabelTopologyZone],
		Type: n.Labels[corev1.LabelInstanceTypeStable], CapacityType: n.Labels[apiv1.CapacityTypeLabelKey],
		Arch: n.Labels[corev1.LabelArchStable], State: stateOf(n), Allocatable: amountsOf(n.Allocatable), Requested: amountsOf(n.Used),
		DollarsPerHour: price.Own, KeptBy: f.shown().rule, Created: createdAt(n), Pods: []Block{},
	}
}

func sumsOf(n *model.Node, node *FleetNode, price Price) sums {
	s := sums{
		managed: n.Pool != "", coming: n.Pool != "" && !n.Initialized && !n.Deleting, requested: node.Requested,
		allocatable: node.Allocatable, bound: len(n.Pods), spot: node.CapacityType == apiv1.CapacityTypeSpot, launched: n.Launched(),
	}
	if price.Own != nil {
		s.priced, s.price, s.list = true, *price.Own, *price.List
	}
	return s
}

// OwnerOf returns the owner of a pod as namespace/Kind/name.
func OwnerOf(p *model.Pod) string { return p.Object.Namespace + "/" + cost.OwnerOf(p) }

func stateOf(n *model.Node) NodeState {
	switch {
	case n.Pool == "":
		return Unmanaged
	case n.Deleting:
		return Draining
	case n.Disrupted():
		return Disrupting
	case !n.Registered:
		return Launching
	case !n.Initialized:
		return Registered
	case n.Claim != nil && condition.IsTrue(n.Claim, apiv1.ConditionTypeDrifted):
		return Drifted
	}
	return Initialized
}

func kindOf(p *model.Pod, blocker string) BlockKind {
	switch {
	case p.Daemon() || p.Mirror():
		return DaemonPod
	case p.Key == blocker || p.Object.Annotations[apiv1.DoNotDisruptAnnotationKey] == "true":
		return BlockingPod
	}
	return WorkloadPod
}

// amountsOf converts resources to Amounts.
func amountsOf(r model.Resources) Amounts {
	a := Amounts{CPU: float64(r[corev1.ResourceCPU]) / 1000, Memory: r[corev1.ResourceMemory]}
	for name, v := range r {
		if isGPU(name) {
			a.GPU += v
		}
	}
	return a
}

// isGPU reports whether the resource counts GPUs.
func isGPU(name corev1.ResourceName) bool {
	return strings.HasSuffix(string(name), "/gpu")
}

// share returns the dominant share of the requests: the largest quotient of a requested and an allocatable amount, in
// thousandths, at most 1000. It ignores the number of pods.
func share(requests, allocatable model.Resources) uint16 {
	most := 0.0
	for name, v := range requests {
		if have := allocatable[name]; have > 0 && name != corev1.ResourcePods {
			most = max(most, float64(v)/float64(have))
		}
	}
	return uint16(math.Round(min(most, 1) * 1000))
}

// Owners assigns an index to each owner of the pods in one message.
type Owners struct {
	index map[unique.Handle[string]]int
	list  []string
}

func (o *Owners) of(h unique.Handle[string]) int {
	i, ok := o.index[h]
	if !ok {
		if o.index == nil {
			o.index = map[unique.Handle[string]]int{}
		}
		i = len(o.list)
		o.index[h] = i
		o.list = append(o.list, h.Value())
	}
	return i
}

// List returns the owners in the order of their indexes.
func (o *Owners) List() []string {
	if o.list == nil {
		return []string{}
	}
	return o.list
}

// Append appends the JSON of the tile's FleetNode to b. New owners are added to o.
func (t *Tile) Append(b []byte, o *Owners) []byte {
	b = append(b, t.head...)
	for i, p := range t.pods {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		b = appendThousandths(b, p.share)
		b = append(b, ',', '0'+byte(p.kind), ',')
		b = strconv.AppendInt(b, int64(o.of(p.owner)), 10)
		b = append(b, ']')
	}
	return append(b, "]}"...)
}

// appendThousandths appends v/1000 as a JSON number.
func appendThousandths(b []byte, v uint16) []byte {
	b = strconv.AppendInt(b, int64(v/1000), 10)
	rest := v % 1000
	if rest == 0 {
		return b
	}
	b = append(b, '.', '0'+byte(rest/100))
	if rest%100 > 0 {
		b = append(b, '0'+byte(rest/10%10))
	}
	if rest%10 > 0 {
		b = append(b, '0'+byte(rest%10))
	}
	return b
}

// AppendNodes appends the JSON list of the tiles.
func AppendNodes(b []byte, tiles []*Tile, o *Owners) []byte {
	size := 2
	for _, t := range tiles {
		size += len(t.head) + 16*len(t.pods) + 3
	}
	b = slices.Grow(b, size)
	b = append(b, '[')
	for i, t := range tiles {
		if i > 0 {
			b = append(b, ',')
		}
		b = t.Append(b, o)
	}
	return append(b, ']')
}

// AppendFleet appends the JSON of the Fleet of the tiles.
func AppendFleet(b []byte, tiles []*Tile) []byte {
	var o Owners
	b = AppendNodes(append(b, `{"nodes":`...), tiles, &o)
	b = appendJSON(append(b, `,"owners":`...), o.List())
	return append(b, '}')
}

// appendJSON appends the JSON of a value that can be encoded.
func appendJSON(b []byte, v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		return append(b, "null"...) // an error occurs only for infinite numbers, which no view has
	}
	return append(b, data...)
}
