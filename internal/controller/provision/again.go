package provision

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-go/karpenter/engine/model"
)

// A place is the node that was planned for a pending pod, and the time of the plan.
type place struct {
	node string
	at   time.Time
}

// whyAgain returns the reason why a pod is not bound to the node that was planned for it before, empty if the reason is not
// known. planned has the planned nodes of recent pods. before is the earlier plan for the pod.
func whyAgain(s *model.Snapshot, planned map[types.UID]place, before place) string {
	n, ok := s.NodeByName(before.node)
	switch {
	case !ok:
		return fmt.Sprintf("earlier target %s no longer exists", before.node)
	case n.Deleting:
		return fmt.Sprintf("earlier target %s is being deleted", n.Name)
	case n.Disrupted():
		return fmt.Sprintf("earlier target %s is being disrupted", n.Name)
	case n.Silent(s.Now):
		return fmt.Sprintf("the kubelet of earlier target %s does not report", n.Name)
	}
	for _, p := range n.Pods {
		if p.Daemon() || p.Mirror() || !boundSince(p.Object, before.at) {
			continue
		}
		if to, known := planned[p.UID]; known {
			if there, ok := s.NodeByName(to.node); ok && there == n {
				continue // this pod was planned for the same node
			}
		}
		return fmt.Sprintf("earlier target %s was filled by pod %s", n.Name, p.Key)
	}
	return ""
}

// boundSince reports whether the pod was bound at or after the given time.
func boundSince(o *corev1.Pod, at time.Time) bool {
	for _, c := range o.Status.Conditions {
		if c.Type == corev1.PodScheduled {
			return c.Status == corev1.ConditionTrue && !c.LastTransitionTime.Time.Before(at.Truncate(time.Second))
		}
	}
	return false
}
