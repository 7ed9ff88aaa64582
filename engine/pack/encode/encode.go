// Package encode writes what kube-scheduler reads of a pod as bytes. Pods with equal bytes are equal to kube-scheduler.
//
// Functions append to b and return the result. Strings and lists are preceded by their length, so that different pods
// have different encodings.
package encode

import (
	"encoding/binary"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Int appends v as a varint.
func Int(b []byte, v int64) []byte { return binary.AppendVarint(b, v) }

// String appends the length of s and s.
func String(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// Strings appends the length of the list and its strings.
func Strings(b []byte, list []string) []byte {
	b = Int(b, int64(len(list)))
	for _, s := range list {
		b = String(b, s)
	}
	return b
}

// Map appends m in order of its keys.
func Map(b []byte, m map[string]string) []byte {
	b = Int(b, int64(len(m)))
	switch len(m) {
	case 0:
		return b
	case 1:
		for k, v := range m {
			b = String(String(b, k), v)
		}
		return b
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		b = String(String(b, k), m[k])
	}
	return b
}

// Vector appends the elements of v, without its length.
func Vector(b []byte, v []int64) []byte {
	for _, x := range v {
		b = Int(b, x)
	}
	return b
}

func expressions(b []byte, list []corev1.NodeSelectorRequirement) []byte {
	b = Int(b, int64(len(list)))
	for i := range list {
		b = Strings(String(String(b, list[i].Key), string(list[i].Operator)), list[i].Values)
	}
	return b
}

func nodeTerm(b []byte, t *corev1.NodeSelectorTerm) []byte {
	return expressions(expressions(b, t.MatchExpressions), t.MatchFields)
}

// NodeAffinity appends the required and preferred terms of a.
func NodeAffinity(b []byte, a *corev1.NodeAffinity) []byte {
	if r := a.RequiredDuringSchedulingIgnoredDuringExecution; r != nil {
		b = Int(b, int64(len(r.NodeSelectorTerms)))
		for i := range r.NodeSelectorTerms {
			b = nodeTerm(b, &r.NodeSelectorTerms[i])
		}
	} else {
		b = Int(b, -1)
	}
	b = Int(b, int64(len(a.PreferredDuringSchedulingIgnoredDuringExecution)))
	for i := range a.PreferredDuringSchedulingIgnoredDuringExecution {
		p := &a.PreferredDuringSchedulingIgnoredDuringExecution[i]
		b = nodeTerm(Int(b, int64(p.Weight)), &p.Preference)
	}
	return b
}

func selector(b []byte, s *metav1.LabelSelector) []byte {
	if s == nil {
		return append(b, 0)
	}
	b = Map(append(b, 1), s.MatchLabels)
	b = Int(b, int64(len(s.MatchExpressions)))
	for i := range s.MatchExpressions {
		e := &s.MatchExpressions[i]
		b = Strings(String(String(b, e.Key), string(e.Operator)), e.Values)
	}
	return b
}

// AffinityTerms appends terms of pod affinity or anti-affinity.
func AffinityTerms(b []byte, terms []corev1.PodAffinityTerm) []byte {
	b = Int(b, int64(len(terms)))
	for i := range terms {
		b = affinityTerm(b, &terms[i])
	}
	return b
}

func affinityTerm(b []byte, t *corev1.PodAffinityTerm) []byte {
	b = selector(String(b, t.TopologyKey), t.LabelSelector)
	b = selector(Strings(b, t.Namespaces), t.NamespaceSelector)
	return Strings(Strings(b, t.MatchLabelKeys), t.MismatchLabelKeys)
}

func weighted(b []byte, terms []corev1.WeightedPodAffinityTerm) []byte {
	b = Int(b, int64(len(terms)))
	for i := range terms {
		b = affinityTerm(Int(b, int64(terms[i].Weight)), &terms[i].PodAffinityTerm)
	}
	return b
}

// Spread appends topology spread constraints.
func Spread(b []byte, list []corev1.TopologySpreadConstraint) []byte {
	b = Int(b, int64(len(list)))
	for i := range list {
		c := &list[i]
		b = String(String(Int(b, int64(c.MaxSkew)), c.TopologyKey), string(c.WhenUnsatisfiable))
		b = Strings(selector(b, c.LabelSelector), c.MatchLabelKeys)
		b = String(String(optional(b, c.MinDomains), policy(c.NodeAffinityPolicy)), policy(c.NodeTaintsPolicy))
	}
	return b
}

func optional(b []byte, v *int32) []byte {
	if v == nil {
		return Int(b, -1)
	}
	return Int(b, int64(*v))
}

func policy(p *corev1.NodeInclusionPolicy) string {
	if p == nil {
		return ""
	}
	return string(*p)
}

// Tolerations appends the tolerations of the list.
func Tolerations(b []byte, list []corev1.Toleration) []byte {
	b = Int(b, int64(len(list)))
	for i := range list {
		t := &list[i]
		b = String(String(String(String(b, t.Key), string(t.Operator)), t.Value), string(t.Effect))
	}
	return b
}

// PodRules appends the constraints of a pod on other pods: topology spread, pod affinity and anti-affinity.
func PodRules(b []byte, spec *corev1.PodSpec) []byte {
	b = Spread(b, spec.TopologySpreadConstraints)
	a := spec.Affinity
	if a == nil || a.PodAffinity == nil && a.PodAntiAffinity == nil {
		return append(b, 0)
	}
	if p := a.PodAffinity; p != nil {
		b = AffinityTerms(append(b, 1), p.RequiredDuringSchedulingIgnoredDuringExecution)
		b = weighted(b, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if p := a.PodAntiAffinity; p != nil {
		b = AffinityTerms(append(b, 2), p.RequiredDuringSchedulingIgnoredDuringExecution)
		b = weighted(b, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return b
}

// Ints appends the elements of the list, without its length.
func Ints(b []byte, list []int) []byte {
	for _, v := range list {
		b = Int(b, int64(v))
	}
	return b
}

// Bool returns 1 if v is true, else 0.
func Bool(v bool) byte {
	if v {
		return 1
	}
	return 0
}
