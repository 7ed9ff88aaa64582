package aws

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/cloud"
)

// acceleratorsReady is the condition that the node monitoring agent sets for GPUs and Neuron devices. Its reason
// contains the error number of the NVIDIA driver, such as NvidiaXID48Error.
const acceleratorsReady corev1.NodeConditionType = "AcceleratedHardwareReady"

// Regular expressions for the reason of acceleratorsReady: errors that a reboot repairs, and errors of broken hardware.
// No digit may follow the number, so XID64 does not match XID640.
const (
	rebootableXIDs  = `XID(46|48|54|62|63|95|109|110|136|140|143|155|156|158)([^0-9]|$)`
	replaceableXIDs = `XID(64|74|79|119|120)([^0-9]|$)`
)

// anyReason matches every reason.
const anyReason = ".*"

// How long a condition must be reported before a node is repaired (patience, acceleratorPatience), and how long the drain
// may take then (drainBound, acceleratorBound).
const (
	patience            = 30 * time.Minute
	acceleratorPatience = 10 * time.Minute
	drainBound          = 10 * time.Minute
	acceleratorBound    = 5 * time.Minute
)

// repairPolicies returns the policies of node repair. If reboots is true, some errors of accelerators are repaired by a
// reboot.
func repairPolicies(reboots bool) []cloud.RepairPolicy {
	policy := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason string, after, drain time.Duration) cloud.RepairPolicy {
		return cloud.RepairPolicy{
			ConditionType: kind, ConditionStatus: status, ReasonRegex: reason, TolerationDuration: after,
			TerminationGracePeriod: &drain, Action: cloud.ReplaceNode,
		}
	}
	rebootable := policy(acceleratorsReady, corev1.ConditionFalse, rebootableXIDs, acceleratorPatience, acceleratorBound)
	if reboots {
		rebootable.Action = cloud.RebootNode
	}
	policies := []cloud.RepairPolicy{
		policy(corev1.NodeReady, corev1.ConditionFalse, anyReason, patience, drainBound),
		policy(corev1.NodeReady, corev1.ConditionUnknown, anyReason, patience, drainBound),
		rebootable,
		policy(acceleratorsReady, corev1.ConditionFalse, replaceableXIDs, acceleratorPatience, acceleratorBound),
		policy(acceleratorsReady, corev1.ConditionFalse, "", patience, drainBound),
	}
	for _, kind := range agentConditions() {
		policies = append(policies, policy(kind, corev1.ConditionFalse, anyReason, patience, drainBound))
	}
	return policies
}

// agentConditions are the other conditions of the node monitoring agent.
func agentConditions() []corev1.NodeConditionType {
	return []corev1.NodeConditionType{"StorageReady", "NetworkingReady", "KernelReady", "ContainerRuntimeReady"}
}

// legacyRepairPolicies returns the policies of --legacy-node-repair.
func legacyRepairPolicies() []cloud.RepairPolicy {
	policy := func(kind corev1.NodeConditionType, status corev1.ConditionStatus, after time.Duration) cloud.RepairPolicy {
		return cloud.RepairPolicy{ConditionType: kind, ConditionStatus: status, TolerationDuration: after, Action: cloud.ReplaceNode}
	}
	policies := []cloud.RepairPolicy{
		policy(corev1.NodeReady, corev1.ConditionFalse, patience),
		policy(corev1.NodeReady, corev1.ConditionUnknown, patience),
		policy(acceleratorsReady, corev1.ConditionFalse, acceleratorPatience),
	}
	for _, kind := range agentConditions() {
		policies = append(policies, policy(kind, corev1.ConditionFalse, patience))
	}
	return policies
}
