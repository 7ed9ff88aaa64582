package offline

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	autoscalingv1beta1 "github.com/karpenter-go/karpenter/api/autoscaling/v1beta1"
	"github.com/karpenter-go/karpenter/engine/buffer"
	"github.com/karpenter-go/karpenter/internal/manifest"
)

// addBuffers adds the virtual pods that stand for the spare capacity of CapacityBuffers. The bound of each namespace applies, in
// the order of the names. ResourceQuotas do not, because their status may not be in the input.
func (a *assembly) addBuffers() {
	buffers := slices.Clone(manifest.Of[*autoscalingv1beta1.CapacityBuffer](a.set))
	slices.SortStableFunc(buffers, func(x, y *autoscalingv1beta1.CapacityBuffer) int { return strings.Compare(x.Name, y.Name) })
	quotas := map[string]*buffer.Quotas{}
	for _, b := range buffers {
		src, ok := a.sourceOf(b)
		if !ok {
			a.warn("CapacityBuffer %s keeps no room: what it refers to is not in the input", b.Name)
			continue
		}
		if quotas[b.Namespace] == nil {
			quotas[b.Namespace] = buffer.NewQuotas(nil)
		}
		src.Ration = quotas[b.Namespace].Give(src.Template, buffer.Count(b.Spec, src))
		for _, p := range buffer.Pods(b, src) {
			a.limits.admit(&p.Spec, p.Namespace)
			a.Delta.Virtual = append(a.Delta.Virtual, p)
		}
	}
}

// sourceOf returns the pod template of a buffer, or that of its workload with the number of replicas. It returns false if
// the input has neither, or if the workload is not of the API group apps.
func (a *assembly) sourceOf(b *autoscalingv1beta1.CapacityBuffer) (buffer.Source, bool) {
	if ref := b.Spec.PodTemplateRef; ref != nil {
		for _, o := range manifest.Of[*corev1.PodTemplate](a.set) {
			if o.Name == ref.Name && o.Namespace == b.Namespace {
				return buffer.Source{Template: &o.Template}, true
			}
		}
		return buffer.Source{}, false
	}
	ref := b.Spec.ScalableRef
	if ref == nil || ref.APIGroup != appsv1.GroupName {
		return buffer.Source{}, false
	}
	for _, w := range a.workloads() {
		if w.kind == ref.Kind && w.object.GetName() == ref.Name && w.object.GetNamespace() == b.Namespace {
			n := int32(w.want)
			return buffer.Source{Template: w.template, Scale: &n}, true
		}
	}
	return buffer.Source{}, false
}
