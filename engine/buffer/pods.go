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

// A Source is what was found of the objects that a buffer names.
type Source struct {
	// Template is that of the pods; nil if Problem says why there is none.
	Template *corev1.PodTemplateSpec
	// Generation is that of the object that holds the template.
	Generation int64
	// Scale is how many pods the scalableRef wants now; nil without a scalableRef.
	Scale   *int32
	Problem *Problem
	// Ration is what the namespace's quotas leave; nil if they leave all.
	Ration *Ration
}

// A Problem is why it is not known which pods a buffer means.
type Problem struct {
	// Reason is that of the condition ReadyForProvisioning.
	Reason, Message string
}

// mostPods bounds the room of one buffer, so that a slip of the pen does not fill the memory.
const mostPods = 10_000

// Count returns how many pods the buffer wants room for.
//
// With replicas and a percentage the larger number counts, and a percentage above zero means at least one pod. Limits cut
// it to what fits in them, and alone they are the number. Karpenter keeps these rules too: see docs/buffers.md. The quotas of
// the namespace cut it once more.
func Count(spec autoscalingv1beta1.CapacityBufferSpec, src Source) int32 {
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
	n = min(n, mostPods)
	if src.Ration != nil {
		n = min(n, int64(src.Ration.Most))
	}
	return int32(n)
}

// within returns how many pods of the template fit in the limits, and false if these bound none of its resources.
func within(limits *corev1.ResourceList, template *corev1.PodTemplateSpec) (n int64, bounded bool) {
	if limits == nil {
		return 0, false
	}
	one := model.NewPod(&corev1.Pod{Spec: specOf(template)}).Requests
	most := model.CapacityOf(*limits)
	for name, limit := range most {
		if one[name] <= 0 {
			continue
		}
		if fits := limit / one[name]; !bounded || fits < n {
			n, bounded = fits, true
		}
	}
	return n, bounded
}

// Pods returns the virtual pods of the buffer, in order of their numbers.
func Pods(b *autoscalingv1beta1.CapacityBuffer, src Source) []*corev1.Pod {
	n := Count(b.Spec, src)
	if n == 0 {
		return nil
	}
	spec := specOf(src.Template)
	annotations := maps.Clone(src.Template.Annotations)
	if annotations == nil {
		annotations = map[string]string{}
	}
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

// specOf returns the spec of a virtual pod: the template's, without a node and without volumes that would have to be made,
// and with the lowest priority there is, so that it stands in nobody's way.
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
