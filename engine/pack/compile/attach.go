package compile

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/volume"
)

// Attachments are the volumes that are attached to a node.
type Attachments struct {
	left     map[string]int // how many more volumes of each CSI driver fit. A driver without an entry has no known limit
	attached map[catalog.VolumeKey]bool
}

// Clone returns a deep copy.
func (a Attachments) Clone() Attachments {
	return Attachments{left: maps.Clone(a.left), attached: maps.Clone(a.attached)}
}

// attach attaches the volumes. It changes nothing for a volume that is attached already, or whose driver has no limit. It
// returns false if too many volumes of a driver are attached then.
func (a Attachments) attach(volumes ...catalog.VolumeKey) bool {
	ok := true
	for _, v := range volumes {
		if _, limited := a.left[v.Driver]; limited && !a.attached[v] {
			a.attached[v] = true
			a.left[v.Driver]--
		}
		ok = ok && a.left[v.Driver] >= 0
	}
	return ok
}

// Attach attaches the volumes of one pod after another, until too many are attached. It returns how many pods come before
// that.
func (p *Problem) Attach(a Attachments, pods []*model.Pod) int {
	for i, pod := range pods {
		if !a.attach(p.Volumes.Of(pod)...) {
			return i
		}
	}
	return len(pods)
}

// setVolumesInFlight sets Volumes of a node in flight. The limits are what compileInFlight left in the volume dimensions of
// Room: the least number of volumes, besides those of DaemonSets, of any type that the node may become. setVolumesInFlight then
// sets these dimensions to ManyVolumes.
func setVolumesInFlight(c *compiler, n *Node) {
	n.Volumes = Attachments{left: map[string]int{}, attached: map[catalog.VolumeKey]bool{}}
	for driver, dimension := range c.Volumes.At {
		n.Volumes.left[driver] = int(n.Room[dimension])
	}
	ignoreAttachments(c, n)
}

// ignoreAttachments sets the volume dimensions of Room to ManyVolumes. On the nodes of a Problem, Node.Volumes limits volumes
// instead, because it counts a shared volume once.
func ignoreAttachments(c *compiler, n *Node) {
	for i := c.Dimensions.Plain; i < c.Dimensions.Len(); i++ {
		n.Room[i] = catalog.ManyVolumes
	}
}

// setVolumesLaunched sets Volumes of a node that has an instance. daemons are the DaemonSets with volumes that may run on the
// node. The volumes of those without a pod there yet count as attached.
func setVolumesLaunched(c *compiler, n *Node, daemons []*model.Daemon) {
	n.Volumes = Attachments{left: attachLimits(c, n.Node), attached: map[catalog.VolumeKey]bool{}}
	if len(n.Volumes.left) == 0 {
		return
	}
	for driver, keys := range volume.AttachedTo(c.Snapshot, n.Node) {
		for key := range keys {
			n.Volumes.attach(catalog.VolumeKey{Driver: driver, Key: key})
		}
	}
	for _, d := range daemons {
		if !runs(n.Node, d) {
			n.Volumes.attach(c.Volumes.Of(d.Pod)...)
		}
	}
}

// attachLimits returns how many volumes of each CSI driver a node can attach. A driver without an entry has no known limit.
// For a driver that has not registered on the node yet, it uses Volumes.Limit of the instance type.
func attachLimits(c *compiler, n *model.Node) map[string]int {
	limits := volume.AttachLimits(c.Snapshot, n)
	if !c.Volumes.Limited() {
		return limits
	}
	name := n.Labels[corev1.LabelInstanceTypeStable]
	types := c.Snapshot.Types(n.Pool)
	at := slices.IndexFunc(types, func(t *model.InstanceType) bool { return t.Name == name })
	if at < 0 {
		return limits
	}
	for driver := range c.Volumes.At {
		if _, reported := limits[driver]; reported {
			continue
		}
		if most, known := c.Volumes.Limit(types[at], driver); known {
			if limits == nil {
				limits = map[string]int{}
			}
			limits[driver] = most
		}
	}
	return limits
}

// UsesAttachments reports whether pods of the class use volumes of a CSI driver with an attach limit.
func (p *Problem) UsesAttachments(c *Class) bool {
	return slices.ContainsFunc(c.Demand.Amount[p.Dimensions.Plain:], func(volumes int64) bool { return volumes > 0 })
}
