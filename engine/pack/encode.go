package pack

import (
	"encoding/binary"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The functions of this file write what the scheduler looks at in a pod as bytes: equal bytes, equal treatment. Strings
// carry their length and lists their count, so that no two pods that differ are written alike.

func putInt(b []byte, v int64) []byte { return binary.AppendVarint(b, v) }

func putString(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

func putStrings(b []byte, list []string) []byte {
	b = putInt(b, int64(len(list)))
	for _, s := range list {
		b = putString(b, s)
	}
	return b
}

func putMap(b []byte, m map[string]string) []byte {
	b = putInt(b, int64(len(m)))
	switch len(m) {
	case 0:
		return b
	case 1:
		for k, v := range m {
			b = putString(putString(b, k), v)
		}
		return b
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		b = putString(putString(b, k), m[k])
	}
	return b
}

func putVector(b []byte, v []int64) []byte {
	for _, x := range v {
		b = putInt(b, x)
	}
	return b
}

func putExpressions(b []byte, list []corev1.NodeSelectorRequirement) []byte {
	b = putInt(b, int64(len(list)))
	for i := range list {
		b = putStrings(putString(putString(b, list[i].Key), string(list[i].Operator)), list[i].Values)
	}
	return b
}

func putTerm(b []byte, t *corev1.NodeSelectorTerm) []byte {
	return putExpressions(putExpressions(b, t.MatchExpressions), t.MatchFields)
}

func putNodeAffinity(b []byte, a *corev1.NodeAffinity) []byte {
	if r := a.RequiredDuringSchedulingIgnoredDuringExecution; r != nil {
		b = putInt(b, int64(len(r.NodeSelectorTerms)))
		for i := range r.NodeSelectorTerms {
			b = putTerm(b, &r.NodeSelectorTerms[i])
		}
	} else {
		b = putInt(b, -1)
	}
	b = putInt(b, int64(len(a.PreferredDuringSchedulingIgnoredDuringExecution)))
	for i := range a.PreferredDuringSchedulingIgnoredDuringExecution {
		p := &a.PreferredDuringSchedulingIgnoredDuringExecution[i]
		b = putTerm(putInt(b, int64(p.Weight)), &p.Preference)
	}
	return b
}

func putSelector(b []byte, s *metav1.LabelSelector) []byte {
	if s == nil {
		return append(b, 0)
	}
	b = putMap(append(b, 1), s.MatchLabels)
	b = putInt(b, int64(len(s.MatchExpressions)))
	for i := range s.MatchExpressions {
		e := &s.MatchExpressions[i]
		b = putStrings(putString(putString(b, e.Key), string(e.Operator)), e.Values)
	}
	return b
}

func putAffinityTerms(b []byte, terms []corev1.PodAffinityTerm) []byte {
	b = putInt(b, int64(len(terms)))
	for i := range terms {
		b = putAffinityTerm(b, &terms[i])
	}
	return b
}

func putAffinityTerm(b []byte, t *corev1.PodAffinityTerm) []byte {
	b = putSelector(putString(b, t.TopologyKey), t.LabelSelector)
	b = putSelector(putStrings(b, t.Namespaces), t.NamespaceSelector)
	return putStrings(putStrings(b, t.MatchLabelKeys), t.MismatchLabelKeys)
}

func putWeighted(b []byte, terms []corev1.WeightedPodAffinityTerm) []byte {
	b = putInt(b, int64(len(terms)))
	for i := range terms {
		b = putAffinityTerm(putInt(b, int64(terms[i].Weight)), &terms[i].PodAffinityTerm)
	}
	return b
}

func putSpread(b []byte, list []corev1.TopologySpreadConstraint) []byte {
	b = putInt(b, int64(len(list)))
	for i := range list {
		c := &list[i]
		b = putString(putString(putInt(b, int64(c.MaxSkew)), c.TopologyKey), string(c.WhenUnsatisfiable))
		b = putStrings(putSelector(b, c.LabelSelector), c.MatchLabelKeys)
		b = putString(putString(putOptional(b, c.MinDomains), policy(c.NodeAffinityPolicy)), policy(c.NodeTaintsPolicy))
	}
	return b
}

func putOptional(b []byte, v *int32) []byte {
	if v == nil {
		return putInt(b, -1)
	}
	return putInt(b, int64(*v))
}

func policy(p *corev1.NodeInclusionPolicy) string {
	if p == nil {
		return ""
	}
	return string(*p)
}

func putTolerations(b []byte, list []corev1.Toleration) []byte {
	b = putInt(b, int64(len(list)))
	for i := range list {
		t := &list[i]
		b = putString(putString(putString(putString(b, t.Key), string(t.Operator)), t.Value), string(t.Effect))
	}
	return b
}

// putRules writes what a pod asks of other pods; it writes one zero for a pod that asks for nothing.
func putRules(b []byte, spec *corev1.PodSpec) []byte {
	b = putSpread(b, spec.TopologySpreadConstraints)
	a := spec.Affinity
	if a == nil || a.PodAffinity == nil && a.PodAntiAffinity == nil {
		return append(b, 0)
	}
	if p := a.PodAffinity; p != nil {
		b = putAffinityTerms(append(b, 1), p.RequiredDuringSchedulingIgnoredDuringExecution)
		b = putWeighted(b, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	if p := a.PodAntiAffinity; p != nil {
		b = putAffinityTerms(append(b, 2), p.RequiredDuringSchedulingIgnoredDuringExecution)
		b = putWeighted(b, p.PreferredDuringSchedulingIgnoredDuringExecution)
	}
	return b
}

// social reports whether a pod asks anything of other pods.
func social(spec *corev1.PodSpec) bool {
	a := spec.Affinity
	return len(spec.TopologySpreadConstraints) > 0 || a != nil && (a.PodAffinity != nil || a.PodAntiAffinity != nil)
}

// A port is a host port that a pod takes.
type port struct {
	number   int32
	protocol corev1.Protocol
	ip       string // empty for all addresses
}

// portsOf returns the host ports of a pod, in order: those of containers that run with it, sidecars among them.
func portsOf(spec *corev1.PodSpec) []port {
	var out []port
	add := func(list []corev1.ContainerPort) {
		for _, p := range list {
			if p.HostPort == 0 {
				continue
			}
			q := port{number: p.HostPort, protocol: p.Protocol, ip: p.HostIP}
			if q.protocol == "" {
				q.protocol = corev1.ProtocolTCP
			}
			if q.ip == "0.0.0.0" || q.ip == "::" {
				q.ip = ""
			}
			out = append(out, q)
		}
	}
	for i := range spec.Containers {
		add(spec.Containers[i].Ports)
	}
	for i := range spec.InitContainers {
		if p := spec.InitContainers[i].RestartPolicy; p != nil && *p == corev1.ContainerRestartPolicyAlways {
			add(spec.InitContainers[i].Ports)
		}
	}
	return out
}

func putPorts(b []byte, ports []port) []byte {
	b = putInt(b, int64(len(ports)))
	for _, p := range ports {
		b = putString(putString(putInt(b, int64(p.number)), string(p.protocol)), p.ip)
	}
	return b
}

// clash reports whether two host ports cannot be on one node.
func (p port) clash(q port) bool {
	return p.number == q.number && p.protocol == q.protocol && (p.ip == "" || q.ip == "" || p.ip == q.ip)
}
