package catalog

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/pack/encode"
)

// A Port is a host port that a pod uses.
type Port struct {
	Number   int32
	Protocol corev1.Protocol
	IP       string // empty: all addresses
}

// PortsOf returns the host ports of a pod's containers, then those of its sidecar containers.
func PortsOf(spec *corev1.PodSpec) []Port {
	var out []Port
	for i := range spec.Containers {
		out = appendPorts(out, spec.Containers[i].Ports)
	}
	for i := range spec.InitContainers {
		if p := spec.InitContainers[i].RestartPolicy; p != nil && *p == corev1.ContainerRestartPolicyAlways {
			out = appendPorts(out, spec.InitContainers[i].Ports)
		}
	}
	return out
}

func appendPorts(out []Port, list []corev1.ContainerPort) []Port {
	for _, p := range list {
		if p.HostPort == 0 {
			continue
		}
		q := Port{Number: p.HostPort, Protocol: cmp.Or(p.Protocol, corev1.ProtocolTCP), IP: p.HostIP}
		if q.IP == "0.0.0.0" || q.IP == "::" {
			q.IP = ""
		}
		out = append(out, q)
	}
	return out
}

// EncodePorts appends an encoding of the ports to b, for use in cache keys.
func EncodePorts(b []byte, ports []Port) []byte {
	b = encode.Int(b, int64(len(ports)))
	for _, p := range ports {
		b = encode.String(encode.String(encode.Int(b, int64(p.Number)), string(p.Protocol)), p.IP)
	}
	return b
}

// Conflicts reports whether a pod with host port p and one with host port q cannot run on the same node.
func (p Port) Conflicts(q Port) bool {
	return p.Number == q.Number && p.Protocol == q.Protocol && (p.IP == "" || q.IP == "" || p.IP == q.IP)
}

// PortsConflict reports whether some port of a conflicts with some port of b.
func PortsConflict(a, b []Port) bool {
	return slices.ContainsFunc(a, func(p Port) bool { return slices.ContainsFunc(b, p.Conflicts) })
}
