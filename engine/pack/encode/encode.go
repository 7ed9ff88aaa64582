// Package encode appends values to bytes that serve as map keys: equal values have equal encodings. Package compile uses it
// to find pods that are equal to kube-scheduler, and to identify cached results.
//
// All functions except Bool append to b and return the result. Strings and lists are preceded by their length, so that
// different values have different encodings. Ints omits the length. Callers append it if it can differ and other data
// follow.
package encode

import (
	"encoding/binary"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Int appends v as a varint.
func Int(b []byte, v int64) []byte { return binary.AppendVarint(b, v) }

// String appends the length of s, then s itself.
func String(b []byte, s string) []byte {
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// Map appends the number of entries of m, then the entries in order of their keys.
func Map(b []byte, m map[string]string) []byte {
	b = Int(b, int64(len(m)))
	for _, k := range slices.Sorted(maps.Keys(m)) {
		b = String(String(b, k), m[k])
	}
	return b
}

// A message is a type of the Kubernetes API with a protobuf encoding. The encoding lists maps in order of their keys.
type message interface {
	Size() int
	MarshalToSizedBuffer([]byte) (int, error)
}

// Message appends the length of m's protobuf encoding and the encoding.
func Message(b []byte, m message) []byte {
	n := m.Size()
	b = Int(b, int64(n))
	b = append(b, make([]byte, n)...)
	if _, err := m.MarshalToSizedBuffer(b[len(b)-n:]); err != nil {
		panic("encode: " + err.Error()) // Size returned too few bytes
	}
	return b
}

// Messages appends the number of messages in the list, then each as Message does.
func Messages[T any, P interface {
	*T
	message
}](b []byte, list []T) []byte {
	b = Int(b, int64(len(list)))
	for i := range list {
		b = Message(b, P(&list[i]))
	}
	return b
}

// PodRules appends the constraints of a pod on other pods: topology spread, pod affinity and anti-affinity.
func PodRules(b []byte, spec *corev1.PodSpec) []byte {
	b = Messages(b, spec.TopologySpreadConstraints)
	if a := spec.Affinity; a != nil && a.PodAffinity != nil {
		b = Message(append(b, 1), a.PodAffinity)
	}
	if a := spec.Affinity; a != nil && a.PodAntiAffinity != nil {
		b = Message(append(b, 2), a.PodAntiAffinity)
	}
	return append(b, 0)
}

// Ints appends the elements of the list, without its length.
func Ints[T int | int64](b []byte, list []T) []byte {
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
