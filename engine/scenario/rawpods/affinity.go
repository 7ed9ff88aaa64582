package rawpods

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// topologyKeys are the topology keys of affinity and spread constraints.
var topologyKeys = []string{corev1.LabelHostname, corev1.LabelTopologyZone, apiv1.CapacityTypeLabelKey, "rack"}

// nodeKeys are the label keys of node selectors and node affinity, and valuesOf are the values that these use.
var (
	nodeKeys = []string{
		corev1.LabelTopologyZone, corev1.LabelArchStable, apiv1.CapacityTypeLabelKey, apiv1.NodePoolLabelKey,
		corev1.LabelInstanceTypeStable, corev1.LabelHostname, "rack", "team",
	}
	valuesOf = map[string][]string{
		corev1.LabelTopologyZone: {"a", "b", "c", "a", "nowhere"}, corev1.LabelArchStable: {"amd64", "arm64"},
		apiv1.CapacityTypeLabelKey: {"on-demand", "spot", "reserved"}, apiv1.NodePoolLabelKey: {"default", "limited", "default", "gone"},
		corev1.LabelInstanceTypeStable: {"m.small", "m.large", "gone"}, corev1.LabelHostname: {"node-0", "gone"},
		"rack": {"1", "2", ""}, "team": {"blue", ""},
	}
)

func (b *Bytes) nodeAffinity() *corev1.NodeAffinity {
	a := &corev1.NodeAffinity{}
	if n := b.below(3); n > 0 {
		a.RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{}
		terms := &a.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
		for range n {
			*terms = append(*terms, b.nodeTerm())
		}
	}
	for range b.below(2) {
		a.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PreferredDuringSchedulingIgnoredDuringExecution,
			corev1.PreferredSchedulingTerm{Weight: Pick(b, int32(1), 100), Preference: b.nodeTerm()})
	}
	return a
}

// nodeTerm returns a node selector term. It may be empty, and then matches no node.
func (b *Bytes) nodeTerm() corev1.NodeSelectorTerm {
	var t corev1.NodeSelectorTerm
	for range b.below(3) {
		key := Pick(b, nodeKeys...)
		r := corev1.NodeSelectorRequirement{Key: key, Operator: Pick(b, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn,
			corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt)}
		switch r.Operator {
		case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
			if r.Values = some(b, valuesOf[key]...); len(r.Values) == 0 {
				r.Values = valuesOf[key][:1]
			}
		case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
			r.Values = []string{Pick(b, "0", "1", "-1", "9223372036854775807", "-9223372036854775808")}
		}
		t.MatchExpressions = append(t.MatchExpressions, r)
	}
	if b.flag(8) {
		t.MatchFields = []corev1.NodeSelectorRequirement{{
			Key: metav1.ObjectNameField, Operator: Pick(b, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn), Values: []string{"node-0"},
		}}
	}
	return t
}

// terms returns up to two terms, none of which selects pods of the namespace Ordinary.
func (b *Bytes) terms() []corev1.PodAffinityTerm {
	var out []corev1.PodAffinityTerm
	for range b.below(3) {
		out = append(out, b.term())
	}
	return out
}

func (b *Bytes) term() corev1.PodAffinityTerm {
	t := corev1.PodAffinityTerm{TopologyKey: Pick(b, topologyKeys...), LabelSelector: b.selector()}
	t.Namespaces = some(b, Tenants...)
	if b.flag(4) {
		t.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"tenant": Pick(b, "yes", "no")}}
	}
	if t.LabelSelector == nil {
		return t
	}
	switch b.below(6) {
	case 4:
		t.MatchLabelKeys = []string{"version"}
	case 5:
		t.MismatchLabelKeys = []string{"version"}
	}
	return t
}

func (b *Bytes) weighted() []corev1.WeightedPodAffinityTerm {
	if !b.flag(4) {
		return nil
	}
	return []corev1.WeightedPodAffinityTerm{{Weight: Pick(b, int32(1), 100), PodAffinityTerm: b.term()}}
}

// selector returns a selector that matches no pod, every pod, or pods by the label app.
func (b *Bytes) selector() *metav1.LabelSelector {
	switch b.below(6) {
	case 0, 1:
		return &metav1.LabelSelector{MatchLabels: map[string]string{"app": Pick(b, "x", "y", "z")}}
	case 2:
		return nil
	case 3:
		return &metav1.LabelSelector{}
	}
	r := metav1.LabelSelectorRequirement{Key: "app", Operator: Pick(b, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn,
		metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)}
	if r.Operator == metav1.LabelSelectorOpIn || r.Operator == metav1.LabelSelectorOpNotIn {
		r.Values = append(some(b, "x", "y"), "z")
	}
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{r}}
}
