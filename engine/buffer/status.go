package buffer

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	autoscalingv1beta1 "github.com/karpenter-go/karpenter/api/autoscaling/v1beta1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/units"
)

// Status returns the new status of b. pods are its virtual pods. The targets of s have the nodes on which these pods
// are planned.
func Status(
	b *autoscalingv1beta1.CapacityBuffer, src Source, pods []*corev1.Pod, s *model.Snapshot,
) autoscalingv1beta1.CapacityBufferStatus {
	status := *b.Status.DeepCopy()
	status.ProvisioningStrategy = b.Spec.ProvisioningStrategy
	status.Replicas, status.PodTemplateRef, status.PodTemplateGeneration = nil, nil, nil
	if src.Template != nil {
		status.Replicas = new(int32(len(pods)))
		status.PodTemplateRef = b.Spec.PodTemplateRef
		status.PodTemplateGeneration = &src.Generation
	}
	conditions := []metav1.Condition{ready(b.Spec, src), provisioning(src, pods, s)}
	if src.Ration != nil && src.Ration.Counted {
		conditions = append(conditions, limited(src.Ration))
	} else {
		meta.RemoveStatusCondition(&status.Conditions, autoscalingv1beta1.ConditionTypeLimitedByQuotas)
	}
	for _, c := range conditions {
		c.ObservedGeneration = b.Generation
		c.LastTransitionTime = metav1.NewTime(s.Now)
		meta.SetStatusCondition(&status.Conditions, c)
	}
	return status
}

// condition returns a condition that is True or False.
func condition(kind string, holds bool, reason, message string) metav1.Condition {
	c := metav1.Condition{Type: kind, Status: metav1.ConditionFalse, Reason: reason, Message: message}
	if holds {
		c.Status = metav1.ConditionTrue
	}
	return c
}

// ready returns the condition ReadyForProvisioning: whether the pods of the buffer can be determined. The message tells that the
// bound of the namespace reduced their number.
func ready(spec autoscalingv1beta1.CapacityBufferSpec, src Source) metav1.Condition {
	reason, message := autoscalingv1beta1.ReasonResolved, "Pod template and number of pods are known"
	switch {
	case src.Problem != nil:
		reason, message = src.Problem.Reason, src.Problem.Message
	case size(spec, src) > mostPods || src.Ration != nil && src.Ration.Bounded:
		message += fmt.Sprintf("; limited to %s, because the buffers of a namespace are for at most %s together",
			units.Counted(int(Count(spec, src)), "pod"), units.Counted(mostPods, "pod"))
	}
	return condition(autoscalingv1beta1.ConditionTypeReadyForProvisioning, src.Problem == nil, reason, message)
}

// limited returns the condition LimitedByQuotas.
func limited(r *Ration) metav1.Condition {
	reason, message := autoscalingv1beta1.ReasonWithinQuotas, "The ResourceQuotas of the namespace allow all pods"
	if len(r.Quotas) > 0 {
		reason = autoscalingv1beta1.ReasonLimitedByQuotas
		message = fmt.Sprintf("Limited to %s by ResourceQuota %s; fix: raise its spec.hard or lower the size of the buffer",
			units.Counted(int(r.Most), "pod"), strings.Join(r.Quotas, ", "))
	}
	return condition(autoscalingv1beta1.ConditionTypeLimitedByQuotas, len(r.Quotas) > 0, reason, message)
}

// provisioning returns the condition Provisioning: True if there are pods and all are planned on initialized nodes that are not
// being deleted.
func provisioning(src Source, pods []*corev1.Pod, s *model.Snapshot) metav1.Condition {
	const kind = autoscalingv1beta1.ConditionTypeProvisioning
	switch {
	case src.Problem != nil:
		return condition(kind, false, autoscalingv1beta1.ReasonNotReadyForProvisioning, src.Problem.Message)
	case len(pods) == 0:
		return condition(kind, false, autoscalingv1beta1.ReasonBufferEmpty, "Buffer size is 0")
	}
	up := 0
	for _, p := range pods {
		if n, ok := s.NodeByName(s.Targets[p.Namespace+"/"+p.Name]); ok && n.Initialized && !n.Deleting {
			up++
		}
	}
	if up < len(pods) {
		return condition(kind, false, autoscalingv1beta1.ReasonRequiresNewCapacity,
			fmt.Sprintf("Capacity for %d of %d buffer pods is available; new nodes are needed for %d", up, len(pods), len(pods)-up))
	}
	return condition(kind, true, autoscalingv1beta1.ReasonFitsExistingCapacity,
		fmt.Sprintf("Capacity for all %d buffer pods is available", up))
}
