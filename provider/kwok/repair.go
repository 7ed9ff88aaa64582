package kwok

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/cloud"
)

// Conditions that tests set on nodes. The first is repaired by a replacement, the second by a reboot.
const (
	conditionUnhealthy      corev1.NodeConditionType = "KWOKUnhealthy"
	conditionRebootRequired corev1.NodeConditionType = "KWOKRebootRequired"
)

// repairPolicies returns the policies of node repair. They are those of upstream Karpenter's kwok provider.
func repairPolicies() []cloud.RepairPolicy {
	policy := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason string, after, drain time.Duration) cloud.RepairPolicy {
		return cloud.RepairPolicy{
			ConditionType: kind, ConditionStatus: status, ReasonRegex: reason, TolerationDuration: after,
			TerminationGracePeriod: &drain, Action: cloud.ReplaceNode,
		}
	}
	reboot := policy(conditionRebootRequired, corev1.ConditionTrue, ".*", 30*time.Second, time.Minute)
	reboot.Action = cloud.RebootNode
	return []cloud.RepairPolicy{
		policy(corev1.NodeReady, corev1.ConditionFalse, "", 10*time.Minute, 0),
		policy(corev1.NodeReady, corev1.ConditionUnknown, ".*", 10*time.Minute, 0),
		policy(conditionUnhealthy, corev1.ConditionTrue, ".*", 30*time.Second, 45*time.Second),
		reboot,
	}
}
