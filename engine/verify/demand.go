package verify

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/verify/nodematch"
)

// A demand is what one pod requires of its node: resources, host ports, labels and volumes, and the taints that it
// tolerates. The method daemonsAt uses it for the sum over several DaemonSets.
type demand struct {
	key         string
	requests    model.Resources // including 1 of the resource "pods"
	ports       []corev1.ContainerPort
	tolerations []corev1.Toleration
	selector    *nodematch.Selector
	volumes     []*attachment
}

// demandOf returns the demand of a pod without its volumes.
func demandOf(pod *corev1.Pod, index *nodematch.Index) *demand {
	return &demand{
		key:         pod.Namespace + "/" + pod.Name,
		requests:    requestsOf(pod),
		ports:       hostPorts(pod),
		tolerations: pod.Spec.Tolerations,
		selector:    index.Selector(pod),
	}
}

// hostPorts returns the ports with a host port of the containers that run as long as the pod, which includes sidecars.
func hostPorts(pod *corev1.Pod) []corev1.ContainerPort {
	var out []corev1.ContainerPort
	add := func(container corev1.Container) {
		for _, port := range container.Ports {
			if port.HostPort > 0 {
				out = append(out, port)
			}
		}
	}
	for _, container := range pod.Spec.Containers {
		add(container)
	}
	for _, container := range pod.Spec.InitContainers {
		if container.RestartPolicy != nil && *container.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			add(container)
		}
	}
	return out
}

// requestsOf returns the requests that kube-scheduler counts for the pod.
func requestsOf(pod *corev1.Pod) model.Resources {
	out := model.RequestsOf(resource.PodRequests(pod, resource.PodResourcesOptions{UseStatusResources: true}))
	out[corev1.ResourcePods]++
	return out
}

// clash returns the first host port of a that b has too.
func clash(a, b []corev1.ContainerPort) (int32, bool) {
	for _, p := range a {
		for _, q := range b {
			sameProtocol := cmp.Or(p.Protocol, corev1.ProtocolTCP) == cmp.Or(q.Protocol, corev1.ProtocolTCP)
			if p.HostPort == q.HostPort && sameProtocol && (anyIP(p.HostIP) || anyIP(q.HostIP) || p.HostIP == q.HostIP) {
				return p.HostPort, true
			}
		}
	}
	return 0, false
}

func anyIP(ip string) bool { return ip == "" || ip == "0.0.0.0" }
