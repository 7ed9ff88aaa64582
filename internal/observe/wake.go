package observe

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// Wake calls the functions of OnWork, for work that no change of a watched object causes.
func (c *Cluster) Wake() { c.call(true, nil) }

// OnCapacity registers f, which is called when the watch delivers a change that affects capacity. These are all changes of
// NodeClaims, new and deleted NodePools, and changes of a NodePool's spec or readiness. Changes of a Node's conditions
// other than heartbeats are the last kind. A Snapshot that f takes has the change. f is called without locks held and must
// return at once.
func (c *Cluster) OnCapacity(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.capacity = append(c.capacity, f)
}

// callCapacity calls the functions of OnCapacity.
func (c *Cluster) callCapacity() {
	c.mu.Lock()
	all := c.capacity
	c.mu.Unlock()
	for _, f := range all {
		f()
	}
}

// changesCapacity reports whether the change of an object may make launches or removals of nodes necessary. before is nil for a
// new or deleted object. The resources in the status of a NodePool are not compared, because they change with each node.
func changesCapacity(before, after client.Object) bool {
	switch after := after.(type) {
	case *apiv1.NodeClaim:
		return true
	case *corev1.Node:
		before, ok := before.(*corev1.Node)
		return ok && !slices.EqualFunc(before.Status.Conditions, after.Status.Conditions, func(a, b corev1.NodeCondition) bool {
			return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.LastTransitionTime.Equal(&b.LastTransitionTime)
		})
	case *apiv1.NodePool:
		before, ok := before.(*apiv1.NodePool)
		return !ok || condition.Ready(before) != condition.Ready(after) || !equality.Semantic.DeepEqual(before.Spec, after.Spec)
	}
	return false
}
