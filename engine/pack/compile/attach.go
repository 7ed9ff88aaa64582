package compile

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/volume"
)

// limitInFlight sets Attachable and Attached of a node in flight. Attachable is what compileInFlight left in the volume
// dimensions of Room: the least number of volumes, besides those of DaemonSets, of any type that the node may become.
// limitInFlight then sets these dimensions to ManyVolumes.
func limitInFlight(c *compiler, n *Node) {
	if !c.Volumes.Limited() {
		return
	}
	n.Attachable, n.Attached = map[string]int{}, map[string]bool{}
	for driver, dimension := range c.Volumes.At {
		n.Attachable[driver] = int(n.Room[dimension])
	}
	ignoreAttachments(c, n)
}

// ignoreAttachments sets the volume dimensions of Room to ManyVolumes. On the nodes of a Problem, Node.Attachable limits
// volumes instead, because it counts a shared volume once.
func ignoreAttachments(c *compiler, n *Node) {
	for i := c.Dimensions.Plain; i < c.Dimensions.Len(); i++ {
		n.Room[i] = catalog.ManyVolumes
	}
}

// limitLaunched sets Attachable and Attached of a node that has an instance. They are empty if no limit of the node is
// known. daemons are the DaemonSets with volumes that may run on the node. For those without a pod there yet, it subtracts
// the volumes that the pod would attach.
func limitLaunched(c *compiler, n *Node, daemons []*model.Daemon) {
	n.Attachable = attachLimits(c, n.Node)
	if len(n.Attachable) == 0 {
		return
	}
	n.Attached = map[string]bool{}
	for driver, keys := range volume.AttachedTo(c.Snapshot, n.Node) {
		for key := range keys {
			AttachVolume(n.Attachable, n.Attached, catalog.VolumeKey{Driver: driver, Key: key})
		}
	}
	for _, d := range daemons {
		if runs(n.Node, d) {
			continue
		}
		for _, v := range c.Volumes.Of(d.Pod) {
			AttachVolume(n.Attachable, n.Attached, v)
		}
	}
}

// attachLimits returns how many volumes of each CSI driver a node can attach. A driver without an entry has no known limit.
// For a driver that has not reported a limit on the node, it uses Volumes.Limit of the instance type.
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

// AttachVolume attaches the volume to the node with these maps (Node.Attachable and Node.Attached). It changes nothing
// if the volume is attached already or its driver has no limit.
func AttachVolume(attachable map[string]int, attached map[string]bool, v catalog.VolumeKey) {
	key := v.Driver + " " + v.Key
	if _, limited := attachable[v.Driver]; limited && !attached[key] {
		attached[key] = true
		attachable[v.Driver]--
	}
}
