package compile

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/pack/encode"
	"github.com/karpenter-go/karpenter/engine/volume"
)

// appendAmounts appends the amounts that the pod requests, by dimension, without those of volumes.
func (c *compiler) appendAmounts(b []byte, pod *model.Pod) []byte {
	for _, name := range c.Dimensions.Names[:c.Dimensions.Plain] {
		b = encode.Int(b, pod.Requests[name])
	}
	return b
}

// appendRequirements appends the fields of a pod that kube-scheduler reads, except labels and amounts of resources. Pods
// with equal encodings, amounts, labels and namespaces are equal to kube-scheduler.
func (c *compiler) appendRequirements(b []byte, pod *model.Pod) []byte {
	spec := &pod.Object.Spec
	b = appendNodeRequirements(b, spec)
	b = encode.Int(b, int64(pod.Priority()))
	b = encode.Int(b, int64(len(spec.ResourceClaims)))
	b = catalog.EncodePorts(b, catalog.PortsOf(spec))
	if defaults := c.defaultsOf(pod); hasPodRules(spec) || len(defaults) > 0 {
		b = encode.String(b, pod.Object.Namespace)
		b = encode.PodRules(b, spec)
		b = encode.Messages(b, defaults)
		b = appendOwnLabels(b, pod.Object)
	}
	if len(spec.Volumes) > 0 {
		b = c.appendVolumes(b, pod)
	}
	return b
}

// appendNodeRequirements appends what the pod requires of nodes: node selector, node affinity and tolerations.
func appendNodeRequirements(b []byte, spec *corev1.PodSpec) []byte {
	b = encode.Map(b, spec.NodeSelector)
	if spec.Affinity != nil && spec.Affinity.NodeAffinity != nil {
		b = encode.Message(append(b, 1), spec.Affinity.NodeAffinity)
	} else {
		b = append(b, 0)
	}
	return encode.Messages(b, spec.Tolerations)
}

// appendVolumes appends the CSI drivers and topologies of the pod's volumes, and what they use of attach limits. If no node
// can satisfy a claim at present, it appends the reason, without drivers and topologies.
func (c *compiler) appendVolumes(b []byte, pod *model.Pod) []byte {
	volumes, no := volume.Of(c.Snapshot, pod)
	b = encode.String(b, no.Subject)
	for _, v := range volumes {
		b = encode.String(b, v.Driver)
		for _, set := range v.Topology {
			b = encode.String(b, set.String())
		}
		b = append(b, 0)
	}
	if c.Volumes.Limited() {
		b = encode.Ints(b, c.Volumes.Demand(pod)[c.Dimensions.Plain:])
	}
	return b
}

// hasPodRules reports whether a pod has affinity, anti-affinity or spread constraints.
func hasPodRules(spec *corev1.PodSpec) bool {
	a := spec.Affinity
	return len(spec.TopologySpreadConstraints) > 0 || a != nil && (a.PodAffinity != nil || a.PodAntiAffinity != nil)
}

// defaultsOf returns the default spread constraints of a pod, none if it has spread constraints of its own.
func (c *compiler) defaultsOf(pod *model.Pod) []corev1.TopologySpreadConstraint {
	if c.Settings.DefaultSpread == nil || len(pod.Object.Spec.TopologySpreadConstraints) > 0 {
		return nil
	}
	return c.Settings.DefaultSpread(pod)
}

// appendOwnLabels appends the values of the pod's labels that its matchLabelKeys and mismatchLabelKeys name.
func appendOwnLabels(b []byte, o *corev1.Pod) []byte {
	for i := range o.Spec.TopologySpreadConstraints {
		b = appendValues(b, o, o.Spec.TopologySpreadConstraints[i].MatchLabelKeys)
	}
	terms := func(hard []corev1.PodAffinityTerm, soft []corev1.WeightedPodAffinityTerm) {
		for i := range hard {
			b = appendValues(b, o, hard[i].MatchLabelKeys, hard[i].MismatchLabelKeys)
		}
		for i := range soft {
			b = appendValues(b, o, soft[i].PodAffinityTerm.MatchLabelKeys, soft[i].PodAffinityTerm.MismatchLabelKeys)
		}
	}
	if a := o.Spec.Affinity; a != nil && a.PodAffinity != nil {
		terms(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if a := o.Spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		terms(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return b
}

// appendValues appends the values of the pod's labels with the keys.
func appendValues(b []byte, o *corev1.Pod, keys ...[]string) []byte {
	for _, list := range keys {
		for _, k := range list {
			b = encode.String(b, o.Labels[k])
		}
	}
	return b
}

// appendSeen appends the namespace of a pod, and those of its labels that some term may use to select pods. keys are
// the label keys of all terms, in rising order.
func appendSeen(b []byte, o *corev1.Pod, keys []string) []byte {
	b = encode.String(b, o.Namespace)
	var list [16]string // so that append allocates only for more labels
	own := list[:0]
	for k := range o.Labels {
		if _, looked := slices.BinarySearch(keys, k); looked {
			own = append(own, k)
		}
	}
	slices.Sort(own)
	for _, k := range own {
		b = encode.String(encode.String(b, k), o.Labels[k])
	}
	return b
}
