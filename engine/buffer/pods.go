package buffer

import (
	"fmt"
	"maps"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	autoscalingv1beta1 "github.com/karpenter-go/karpenter/api/autoscaling/v1beta1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A Source is the objects to which a buffer refers.
type Source struct {
	// Template is the pod template. If it is nil, Problem has the reason.
	Template *corev1.PodTemplateSpec
	// Generation is the generation of the object with the template.
	Generation int64
	// Scale is the number of replicas of the object in scalableRef; nil without a scalableRef.
	Scale   *int32
	Problem *Problem
	// Ration is how many pods the other buffers and the ResourceQuotas of the namespace leave; nil if that is not known.
	Ration *Ration
}

// A Problem is the reason why the pods of a buffer cannot be determined.
type Problem struct {
	// Reason and Message are those of the condition ReadyForProvisioning, which is then False.
	Reason, Message string
}

// mostPods bounds the number of pods of all buffers of a namespace, so that neither a typing error nor one tenant exhausts memory.
const mostPods = 10_000

// Count returns the number of pods for which the buffer keeps free capacity, at most mostPods and what the Ration allows.
func Count(spec autoscalingv1beta1.CapacityBufferSpec, src Source) int32 {
	n := min(size(spec, src), mostPods)
	if src.Ration != nil {
		n = min(n, int64(src.Ration.Most))
	}
	return int32(n)
}

// size returns the number of pods that the spec asks for. Without a template it is 0.
//
// It is the larger of spec.replicas and spec.percentage of Scale. A percentage above zero means at least one pod. Without
// Scale, the percentage is ignored. Then spec.limits reduce the number to the pods that fit in them. If neither replicas nor
// a percentage applies, the number is the pods that fit in spec.limits, or 0 without limits. No pod fits in a negative
// limit. These are Karpenter's rules: see docs/buffers.md.
func size(spec autoscalingv1beta1.CapacityBufferSpec, src Source) int64 {
	if src.Template == nil {
		return 0
	}
	n, said := int64(0), false
	if spec.Replicas != nil {
		n, said = int64(*spec.Replicas), true
	}
	if spec.Percentage != nil && src.Scale != nil {
		said = true
		if *spec.Percentage > 0 {
			part := math.Ceil(float64(*src.Scale) * float64(*spec.Percentage) / 100)
			n = max(n, int64(part), 1)
		}
	}
	if fits, bounded := within(spec.Limits, src.Template); bounded && (fits < n || !said) {
		n = fits
	}
	return max(0, n) // n is negative if a limit is
}

// within returns how many pods of the template fit in the limits. bounded is false if the limits name no resource that
// the pods request.
func within(limits *corev1.ResourceList, template *corev1.PodTemplateSpec) (n int64, bounded bool) {
	if limits == nil {
		return 0, false
	}
	one := requestsOf(template)
	for name, limit := range model.CapacityOf(*limits) {
		if one[name] <= 0 {
			continue
		}
		if fits := limit / one[name]; !bounded || fits < n {
			n, bounded = fits, true
		}
	}
	return n, bounded
}

// Pods returns the virtual pods of the buffer, numbered from 0.
func Pods(b *autoscalingv1beta1.CapacityBuffer, src Source) []*corev1.Pod {
	n := Count(b.Spec, src)
	if n == 0 {
		return nil
	}
	spec := specOf(src.Template)
	annotations := map[string]string{}
	maps.Copy(annotations, src.Template.Annotations)
	annotations[apiv1.CapacityBufferFakePodAnnotationKey] = "true"
	annotations[apiv1.CapacityBufferNameAnnotationKey] = b.Name
	annotations[apiv1.CapacityBufferNamespaceAnnotationKey] = b.Namespace
	out := make([]*corev1.Pod, n)
	for i := range out {
		out[i] = &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: fmt.Sprintf("capacity-buffer-%s-%d", b.Name, i), Namespace: b.Namespace,
				UID:    types.UID(fmt.Sprintf("%s-%d", b.UID, i)),
				Labels: src.Template.Labels, Annotations: annotations,
			},
			Spec: spec,
		}
		out[i].Status.Phase = corev1.PodPending
		out[i].Status.Conditions = []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}
	}
	return out
}

// requestsOf returns the requests of one virtual pod.
func requestsOf(template *corev1.PodTemplateSpec) model.Resources {
	return model.NewPod(&corev1.Pod{Spec: specOf(template)}).Requests
}

// specOf returns the spec of a virtual pod: the spec of the template, but with the lowest priority, without a node and
// without volumes that need a PersistentVolumeClaim. Each missing request is set to the limit of the container.
func specOf(template *corev1.PodTemplateSpec) corev1.PodSpec {
	spec := *template.Spec.DeepCopy()
	spec.NodeName, spec.PriorityClassName = "", ""
	lowest := int32(math.MinInt32)
	spec.Priority = &lowest
	gone := map[string]bool{}
	spec.Volumes = slices.DeleteFunc(spec.Volumes, func(v corev1.Volume) bool {
		gone[v.Name] = v.PersistentVolumeClaim != nil || v.Ephemeral != nil
		return gone[v.Name]
	})
	for _, containers := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range containers {
			containers[i].VolumeMounts = slices.DeleteFunc(containers[i].VolumeMounts, func(m corev1.VolumeMount) bool {
				return gone[m.Name]
			})
		}
	}
	model.RequestLimits(&spec)
	return spec
}
