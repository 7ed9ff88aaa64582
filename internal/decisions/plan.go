package decisions

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/units"
)

// A Launched is a planned node with the name of its NodeClaim.
type Launched struct {
	Claim string
	Node  *model.PlannedNode
}

// Provisioned returns the episode of a plan for pending pods. launched has the nodes that are launched. refused has the
// alternatives that were not chosen: pods without a node, and nodes that are withheld.
func Provisioned(s *model.Snapshot, plan *model.Plan, launched []Launched, refused []Refusal) Episode {
	e := Episode{
		Kind: KindProvisioning, Reason: "Pending", Action: "launch", Pools: []string{}, Refused: refused, DollarsBefore: Dollars(s),
	}
	var pods []*model.Pod
	mix := map[string]int{}
	for _, l := range launched {
		pods = append(pods, l.Node.Pods...)
		mix[l.Node.Options[0].Name]++
		e.DollarsAfter += l.Node.Price()
		e.launch(l)
	}
	for _, p := range plan.Placements {
		pods = append(pods, p.Pods...)
		e.Placed += len(p.Pods)
	}
	for _, r := range plan.Refusals {
		pods = append(pods, r.Pods...)
	}
	for _, r := range refused {
		e.RefusedTotal += r.Count
	}
	e.DollarsAfter += e.DollarsBefore
	e.Pods = len(pods)
	e.Cause = units.Counted(len(pods), "pending pod") + ownersOf(pods)
	switch {
	case len(launched) > 0:
		e.Decision = fmt.Sprintf("launch %s (%s)", units.Counted(len(launched), "node"), mixed(mix))
	case len(refused) > 0:
		e.Action, e.Decision = "refuse", "launch no node"
	default:
		e.Decision = "use existing nodes"
	}
	if e.Placed > 0 && len(launched) > 0 {
		e.Decision += fmt.Sprintf(", place %s on existing nodes", units.Counted(e.Placed, "pod"))
	}
	return e
}

// Static returns the episode of launches for static NodePools.
func Static(s *model.Snapshot, launched []Launched) Episode {
	e := Episode{
		Kind: KindStatic, Reason: "Static", Action: "launch", Pools: []string{}, DollarsBefore: Dollars(s),
		Cause: "static NodePools have fewer nodes than spec.replicas",
	}
	e.DollarsAfter = e.DollarsBefore
	mix := map[string]int{}
	for _, l := range launched {
		mix[l.Node.Options[0].Name]++
		e.DollarsAfter += l.Node.Price()
		e.launch(l)
	}
	e.Decision = fmt.Sprintf("launch %s (%s)", units.Counted(len(launched), "node"), mixed(mix))
	return e
}

// launch adds a launch to the episode.
func (e *Episode) launch(l Launched) {
	n := l.Node
	e.LaunchedNodes++
	e.Launches = append(e.Launches, Launch{
		Claim: l.Claim, Pool: n.Pool.Name, InstanceType: n.Options[0].Name, Zone: n.Offering.Zone,
		CapacityType: n.Offering.CapacityType, DollarsPerHour: n.Price(), Options: len(n.Options), Pods: len(n.Pods),
	})
	e.inPool(n.Pool.Name)
}

// inPool adds the pool to Pools in alphabetical order, unless Pools has it.
func (e *Episode) inPool(pool string) {
	if at, there := slices.BinarySearch(e.Pools, pool); !there && pool != "" {
		e.Pools = slices.Insert(e.Pools, at, pool)
	}
}

// remove adds a removal to the episode.
func (e *Episode) remove(s *model.Snapshot, n *model.Node) {
	r := RemovalOf(n.Claim)
	r.Node, r.DollarsPerHour, r.Pods = n.NodeName(), s.PriceOf(n), len(n.Reschedulable())
	if r.Pool == "" {
		r.Pool = n.Pool
	}
	e.RemovedNodes++
	e.Removals = append(e.Removals, r)
	e.inPool(r.Pool)
}

// RemovalOf returns the removal of a NodeClaim with the fields that the NodeClaim has: all but DollarsPerHour and Pods.
func RemovalOf(claim *apiv1.NodeClaim) Removal {
	return Removal{
		Node: claim.Status.NodeName, Claim: claim.Name, Pool: claim.Labels[apiv1.NodePoolLabelKey],
		InstanceType: claim.Labels[corev1.LabelInstanceTypeStable], Zone: claim.Labels[corev1.LabelTopologyZone],
		CapacityType: claim.Labels[apiv1.CapacityTypeLabelKey],
	}
}

// Removed returns the episode of a NodeClaim that is deleted without a command of disruption. cause is a sentence
// without a full stop.
func Removed(kind Kind, reason, cause string, claim *apiv1.NodeClaim) Episode {
	r := RemovalOf(claim)
	e := Episode{
		Kind: kind, Reason: reason, Cause: cause, Action: "delete", Decision: "delete node " + cmp.Or(r.Node, r.Claim),
		Pools: []string{}, Removals: []Removal{r}, RemovedNodes: 1,
	}
	e.inPool(r.Pool)
	return e
}

// Dollars returns the price of all launched nodes of NodePools in dollars per hour. Nodes with an unknown price count
// as zero.
func Dollars(s *model.Snapshot) float64 {
	sum := 0.0
	for _, n := range s.Nodes() {
		if n.Managed() && n.Launched() {
			sum += s.PriceOf(n)
		}
	}
	return sum
}

// maxOwners bounds how many owners of pods a cause names.
const maxOwners = 3

// ownersOf returns the owners with the most pods and their number of pods, such as ": Deployment shop/web (10)", and the
// number of other owners. It returns "" without pods.
func ownersOf(pods []*model.Pod) string {
	count := map[string]int{}
	for _, p := range pods {
		count[ownerOf(p)]++
	}
	owners := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, o := range owners[:min(len(owners), maxOwners)] {
		parts = append(parts, fmt.Sprintf("%s (%d)", o, count[o]))
	}
	if more := len(owners) - maxOwners; more > 0 {
		parts = append(parts, units.Counted(more, "more owner"))
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

// ownerOf returns kind, namespace and name of the pod's controller. It returns the Deployment of a ReplicaSet, the CapacityBuffer
// of a virtual pod, and the pod itself if it has no controller.
func ownerOf(p *model.Pod) string {
	if p.Virtual() {
		return "CapacityBuffer " + p.Buffer
	}
	if o := p.Owner(); o != nil {
		name := o.Name
		if hash := p.Object.Labels["pod-template-hash"]; o.Kind == "ReplicaSet" && hash != "" {
			if deployment, ok := strings.CutSuffix(name, "-"+hash); ok {
				return "Deployment " + p.Object.Namespace + "/" + deployment
			}
		}
		return o.Kind + " " + p.Object.Namespace + "/" + name
	}
	return "Pod " + p.Key
}

// mixed returns counts by name, such as "2 x c7a.xlarge, 1 x m7a.large", in descending order of the counts. After six
// names, "…" stands for the others.
func mixed(count map[string]int) string {
	names := slices.SortedFunc(maps.Keys(count), func(a, b string) int {
		return cmp.Or(cmp.Compare(count[b], count[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, name := range names[:min(len(names), 2*maxOwners)] {
		parts = append(parts, fmt.Sprintf("%d x %s", count[name], name))
	}
	if len(names) > 2*maxOwners {
		parts = append(parts, "…")
	}
	return strings.Join(parts, ", ")
}
