package random

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

// The labels that clusters use in addition to the well-known ones. Every type has Family and Generation, like labels of
// a provider. Rack and Team are labels of users: pools or nodes may have them.
const (
	Family     = "example.com/family"
	Generation = "example.com/generation"
	Rack       = "example.com/rack"
	Team       = "example.com/team"
)

// Labels are the label rules of the cloud of these clusters.
var Labels = apiv1.CoreLabels().With(apiv1.LabelRules{WellKnown: sets.New(Family, Generation, scenario.ReservationLabel)})

// The values from which clusters are drawn.
var (
	zones       = []string{"a", "b", "c"}
	families    = []string{"x", "y"}
	generations = []string{"3", "5", "7"}
	racks       = []string{"r1", "r2"}
	teams       = []string{"blue", "green"}
	apps        = []string{"web", "db", "job"}
	versions    = []string{"1", "2"}
	spaces      = []string{"default", "blue", "green"}
	resources   = []string{"nvidia.com/gpu", "example.com/widget", "hugepages-2Mi", "ephemeral-storage"}
)

// Cluster returns the random cluster that the seed determines.
func Cluster(seed uint64) *scenario.Cluster {
	d := roll(seed)
	c := &scenario.Cluster{}
	for _, name := range spaces {
		c.Namespaces = append(c.Namespaces, scenario.Namespace{
			Name: name, Labels: map[string]string{Team: pick(d, teams...), "tier": pick(d, "front", "back")},
		})
	}
	c.Namespaces = append(c.Namespaces, scenario.Namespace{Name: "system"})
	for i := range d.between(1, 5) {
		c.Types = append(c.Types, drawType(d, fmt.Sprintf("t%d", i)))
	}
	for i := range d.between(1, 3) {
		c.Pools = append(c.Pools, drawPool(d, fmt.Sprintf("pool%d", i), c))
	}
	drawStorage(d, c)
	for i := range d.between(0, 2) {
		c.Daemons = append(c.Daemons, drawDaemon(d, fmt.Sprintf("daemon%d", i)))
	}
	for i := range max(0, d.between(-2, 4)) {
		c.Nodes = append(c.Nodes, drawNode(d, fmt.Sprintf("node%d", i), c))
	}
	for i := range max(0, d.between(-3, 2)) {
		cl := drawClaim(d, fmt.Sprintf("claim%d", i), c)
		if !zonal(c, cl.Pool) { // otherwise the claim might list types that its pool cannot launch
			c.Claims = append(c.Claims, cl)
		}
	}
	for i := range d.between(1, 6) {
		c.Pods = append(c.Pods, drawPod(d, fmt.Sprintf("p%d", i), c))
	}
	drawPromises(d, c)
	drawAttach(d, c)
	drawDaemonSetRules(d, c)
	drawChain(d, c)
	drawDefaultSpread(d, c)
	drawUncertainDaemonSets(d, c)
	return c
}

// zonal reports whether the pool of that name has a requirement on zones.
func zonal(c *scenario.Cluster, pool string) bool {
	return slices.ContainsFunc(c.Pools, func(p scenario.Pool) bool {
		return p.Name == pool && slices.ContainsFunc(p.Requirements, func(r apiv1.NodeSelectorRequirementWithMinValues) bool {
			return r.Key == corev1.LabelTopologyZone
		})
	})
}

// drawStorage adds two storage classes and one to four disks to one cluster in four.
func drawStorage(d dice, c *scenario.Cluster) {
	if !d.oneIn(4) {
		return
	}
	c.Storage = append(c.Storage, scenario.StorageClass{Name: "anywhere"})
	c.Storage = append(c.Storage, scenario.StorageClass{Name: "zonal", Zones: some(d, zones...)})
	for i := range d.between(1, 4) {
		disk := scenario.Disk{Name: fmt.Sprintf("disk%d", i), Class: pick(d, "anywhere", "zonal")}
		if d.oneIn(2) {
			disk.Zones = []string{pick(d, zones...)}
		}
		c.Disks = append(c.Disks, disk)
	}
}

// drawPromises adds promises of some pods to one cluster in four. A promise names any node, whether or not the pod fits there.
func drawPromises(d dice, c *scenario.Cluster) {
	if len(c.Nodes) == 0 || !d.oneIn(4) {
		return
	}
	c.Promise = map[string]string{}
	for _, p := range some(d, c.Pods...) {
		name := cmp.Or(p.Space, "default") + "/" + p.Name
		if p.Count > 1 {
			name += "-1"
		}
		c.Promise[name] = pick(d, c.Nodes...).Name
	}
}

// taint draws one of a few taints.
func taint(d dice) corev1.Taint {
	return corev1.Taint{
		Key: pick(d, "dedicated", "noisy"), Value: pick(d, "", "yes", "no"),
		Effect: pick(d, corev1.TaintEffectNoSchedule, corev1.TaintEffectNoSchedule,
			corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute),
	}
}

// tolerations draws the tolerations of a pod. Half of the pods have none.
func tolerations(d dice) []corev1.Toleration {
	switch d.IntN(8) {
	case 0:
		return []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	case 1, 2:
		return []corev1.Toleration{{Key: pick(d, "dedicated", "noisy"), Operator: corev1.TolerationOpExists,
			Effect: pick(d, "", corev1.TaintEffectNoSchedule)}}
	case 3:
		return []corev1.Toleration{
			{Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: pick(d, "yes", "no")},
			{Key: "noisy", Value: "yes", Effect: corev1.TaintEffectNoSchedule},
		}
	}
	return nil
}
