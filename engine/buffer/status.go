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

// Status returns the new status of b. pods are its virtual pods. The promises of s have the nodes on which these pods
// are planned.
func Status(
	b *autoscalingv1beta1.CapacityBuffer, src Source, pods []*corev1.Pod, s *model.Snapshot,
) autoscalingv1beta1.CapacityBufferStatus {
	status := *b.Status.DeepCopy()
	status.ProvisioningStrategy = b.Spec.ProvisioningStrategy
	status.PodTemplateRef, status.PodTemplateGeneration = nil, nil
	if src.Template != nil {
		n := int32(len(pods))
		status.Replicas = &n
		status.PodTemplateRef = b.Spec.PodTemplateRef
		status.PodTemplateGeneration = &src.Generation
	} else {
		status.Replicas = nil
	}
	conditions := []metav1.Condition{ready(src), provisioning(src, pods, s)}
	if src.Ration != nil {
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

// ready returns the condition ReadyForProvisioning: whether the pods of the buffer can be determined.
func ready(src Source) metav1.Condition {
	c := metav1.Condition{Type: autoscalingv1beta1.ConditionTypeReadyForProvisioning, Status: metav1.ConditionTrue,
		Reason: autoscalingv1beta1.ReasonResolved, Message: "Pod template and number of pods are known"}
	if src.Problem != nil {
		c.Status, c.Reason, c.Message = metav1.ConditionFalse, src.Problem.Reason, src.Problem.Message
	}
	return c
}

// limited returns the condition LimitedByQuotas.
func limited(r *Ration) metav1.Condition {
	c := metav1.Condition{Type: autoscalingv1beta1.ConditionTypeLimitedByQuotas, Status: metav1.ConditionFalse,
		Reason: autoscalingv1beta1.ReasonWithinQuotas, Message: "The ResourceQuotas of the namespace allow all pods"}
	if len(r.Quotas) > 0 {
		c.Status, c.Reason = metav1.ConditionTrue, autoscalingv1beta1.ReasonLimitedByQuotas
		c.Message = fmt.Sprintf("Limited to %s by ResourceQuota %s; fix: raise its spec.hard or lower the size of the buffer",
			units.Counted(int(r.Most), "pod"), strings.Join(r.Quotas, ", "))
	}
	return c
}

// provisioning returns the condition Provisioning: True if all pods are planned on initialized nodes.
func provisioning(src Source, pods []*corev1.Pod, s *model.Snapshot) metav1.Condition {
	no := func(reason, message string) metav1.Condition {
		return metav1.Condition{Type: autoscalingv1beta1.ConditionTypeProvisioning, Status: metav1.ConditionFalse,
			Reason: reason, Message: message}
	}
	switch {
	case src.Problem != nil:
		return no(autoscalingv1beta1.ReasonNotReadyForProvisioning, src.Problem.Message)
	case len(pods) == 0:
		return no(autoscalingv1beta1.ReasonBufferEmpty, "Buffer size is 0")
	}
	up := 0
	for _, p := range pods {
		if n, ok := s.NodeByName(s.Promises[p.Namespace+"/"+p.Name]); ok && n.Initialized && !n.Deleting {
			up++
		}
	}
	if up < len(pods) {
		return no(autoscalingv1beta1.ReasonRequiresNewCapacity,
			fmt.Sprintf("Capacity for %d of %d buffer pods is available; new nodes are needed for %d", up, len(pods), len(pods)-up))
	}
	return metav1.Condition{Type: autoscalingv1beta1.ConditionTypeProvisioning, Status: metav1.ConditionTrue,
		Reason: autoscalingv1beta1.ReasonFitsExistingCapacity, Message: fmt.Sprintf("Capacity for all %d buffer pods is available", up)}
}
