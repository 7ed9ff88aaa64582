package compile

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
)

// limitInFlight sets how many volumes a node whose type is not known can attach: as many as every type that it may become has
// room for. attached are the shared volumes that DaemonSets bring on all of them.
func limitInFlight(c *compiler, n *Node, attached catalog.SharedVolumes) {
	if !c.Volumes.Limited() {
		return
	}
	n.Attachable, n.Attached = map[string]int{}, map[string]bool{}
	c.Volumes.Drivers(func(driver string, dimension int) { n.Attachable[driver] = int(n.Room[dimension]) })
	c.Volumes.Keys(func(key catalog.VolumeKey, x catalog.SharedVolume) {
		if attached.Has(x) {
			n.Attached[attachmentOf(key)] = true
		}
	})
	leaveAttachments(c, n)
}

// leaveAttachments takes attach limits out of the room of a node: Attachable tells its volumes apart.
func leaveAttachments(c *compiler, n *Node) {
	for i := c.Dimensions.Plain; i < c.Dimensions.Len(); i++ {
		n.Room[i] = catalog.ManyVolumes
	}
}

// limitLaunched sets how many more volumes a node with an instance can attach, beside those of DaemonSet pods to come.
func limitLaunched(c *compiler, n *Node, daemons []*model.Daemon) {
	limits := attachLimits(c, n.Node)
	if len(limits) == 0 {
		return
	}
	used := c.Snapshot.AttachedTo(n.Node)
	n.Attachable, n.Attached = map[string]int{}, map[string]bool{}
	for driver, limit := range limits {
		n.Attachable[driver] = limit - len(used[driver])
		for key := range used[driver] {
			n.Attached[attachmentOf(catalog.VolumeKey{Driver: driver, Key: key})] = true
		}
	}
	for _, d := range daemons {
		if slices.ContainsFunc(n.Pods, func(pod *model.Pod) bool { return catalog.Owns(d, pod) }) {
			continue
		}
		for _, v := range c.Volumes.Of(d.Pod) {
			AttachVolume(n.Attachable, n.Attached, v)
		}
	}
}

// attachLimits returns how many volumes each driver can attach to a node. What its drivers have not reported yet is as on
// other nodes of its type.
func attachLimits(c *compiler, n *model.Node) map[string]int {
	limits := c.Snapshot.AttachLimits(n)
	if !c.Volumes.Limited() {
		return limits
	}
	name := n.Labels[corev1.LabelInstanceTypeStable]
	types := c.Snapshot.Types(n.Pool)
	at := slices.IndexFunc(types, func(t *model.InstanceType) bool { return t.Name == name })
	if at < 0 {
		return limits
	}
	c.Volumes.Drivers(func(driver string, _ int) {
		if _, reported := limits[driver]; reported {
			return
		}
		if most, known := c.Volumes.Limit(types[at], driver); known {
			if limits == nil {
				limits = map[string]int{}
			}
			limits[driver] = most
		}
	})
	return limits
}

// attachmentOf identifies a volume in Node.Attached.
func attachmentOf(v catalog.VolumeKey) string { return v.Driver + " " + v.Key }

// AttachVolume counts a volume that comes to a node with these limits and attachments.
func AttachVolume(attachable map[string]int, attached map[string]bool, v catalog.VolumeKey) {
	key := attachmentOf(v)
	if _, limited := attachable[v.Driver]; limited && !attached[key] {
		attached[key] = true
		attachable[v.Driver]--
	}
}

// IsAttached reports whether the volume counts already.
func IsAttached(attached map[string]bool, v catalog.VolumeKey) bool { return attached[attachmentOf(v)] }
