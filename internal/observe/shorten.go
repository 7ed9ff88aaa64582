package observe

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// maxAnnotation is the length in bytes above which Shorten removes an annotation that is not Karpenter's.
const maxAnnotation = 512

// Shorten removes fields that the controller does not read from an object, before a cache stores it. Nodes and pods as production has
// them then take about a third of the memory (docs/bench-engine.md). Shorten is a toolscache.TransformFunc: it changes o and returns it.
//
// It removes metadata.managedFields of every object. Of pods and nodes it also removes long annotations. Of pods it removes what
// neither scheduling nor disruption depends on: commands, environment, mounts, probes, security contexts, volumes that can be
// mounted on any node, addresses, conditions between PodScheduled and Ready, and container statuses that add nothing to the spec. Of nodes it removes the list of images and
// the times of heartbeats.
//
// Objects are written as patches with the changed fields only, so the fields that are missing in the cache stay in the API server.
func Shorten(o any) (any, error) {
	object, ok := o.(client.Object)
	if !ok {
		return o, nil // such as a toolscache.DeletedFinalStateUnknown, which has an object that was shortened before
	}
	if m, err := meta.Accessor(object); err == nil {
		m.SetManagedFields(nil)
	}
	switch x := object.(type) {
	case *corev1.Pod:
		shortenAnnotations(x.Annotations)
		shortenPod(x)
	case *corev1.Node:
		shortenAnnotations(x.Annotations)
		x.Status.Images = nil
		for i := range x.Status.Conditions {
			x.Status.Conditions[i].LastHeartbeatTime = metav1.Time{}
		}
	}
	return o, nil
}

// heartbeat reports whether o differs from old only in its version: a kubelet reports the status of its node at least every five
// minutes, even if it is unchanged. Both must be shortened.
func heartbeat(old, o client.Object) bool {
	before, ok := old.(*corev1.Node)
	after, isNode := o.(*corev1.Node)
	if !ok || !isNode {
		return false
	}
	a, b := *before, *after
	a.ResourceVersion, b.ResourceVersion = "", ""
	return equality.Semantic.DeepEqual(&a, &b)
}

func shortenAnnotations(annotations map[string]string) {
	for key, value := range annotations {
		if len(value) > maxAnnotation && !strings.Contains(key, "karpenter") {
			delete(annotations, key)
		}
	}
}

func shortenPod(p *corev1.Pod) {
	s := &p.Spec
	s.EphemeralContainers, s.HostAliases, s.DNSConfig, s.ImagePullSecrets, s.SecurityContext = nil, nil, nil, nil, nil
	s.InitContainers, s.Containers = shortenContainers(s.InitContainers), shortenContainers(s.Containers)
	s.Volumes = boundToNodes(s.Volumes)
	st := &p.Status
	st.PodIP, st.PodIPs, st.HostIP, st.HostIPs, st.EphemeralContainerStatuses = "", nil, "", nil, nil
	st.Conditions = shortenConditions(st.Conditions)
	st.InitContainerStatuses = shortenStatuses(st.InitContainerStatuses, s.InitContainers)
	st.ContainerStatuses = shortenStatuses(st.ContainerStatuses, s.Containers)
}

// shortenConditions returns the conditions without the steps between PodScheduled and Ready.
func shortenConditions(list []corev1.PodCondition) []corev1.PodCondition {
	var kept []corev1.PodCondition
	for _, c := range list {
		switch c.Type {
		case corev1.PodInitialized, corev1.ContainersReady, corev1.PodReadyToStartContainers:
		default:
			kept = append(kept, c)
		}
	}
	return kept
}

// shortenContainers returns the containers with only their names, resources, host ports and restart policies. The result has no
// spare capacity: decoders leave room for up to twice as many, and a container is a large struct.
func shortenContainers(list []corev1.Container) []corev1.Container {
	if len(list) == 0 {
		return nil
	}
	short := make([]corev1.Container, len(list))
	for i := range list {
		c := &list[i]
		short[i] = corev1.Container{Name: c.Name, Resources: c.Resources, RestartPolicy: c.RestartPolicy}
		for _, port := range c.Ports {
			if port.HostPort != 0 {
				short[i].Ports = append(short[i].Ports, port)
			}
		}
	}
	return short
}

// boundToNodes returns the volumes without those that can be mounted on any node: configMap, secret, projected,
// downwardAPI, emptyDir and hostPath.
func boundToNodes(list []corev1.Volume) []corev1.Volume {
	var kept []corev1.Volume
	for _, v := range list {
		x := v.VolumeSource
		x.ConfigMap, x.Secret, x.Projected, x.DownwardAPI, x.EmptyDir, x.HostPath = nil, nil, nil, nil, nil, nil
		if x != (corev1.VolumeSource{}) {
			kept = append(kept, v)
		}
	}
	return kept
}

// shortenStatuses returns the statuses of ended containers, which say when they ended. It also returns those whose
// resources differ from the container's spec, because a resize in place is not complete. Each has its name and these two
// facts only.
func shortenStatuses(list []corev1.ContainerStatus, containers []corev1.Container) []corev1.ContainerStatus {
	var kept []corev1.ContainerStatus
	for i := range list {
		x := corev1.ContainerStatus{Name: list[i].Name, Resources: list[i].Resources, AllocatedResources: list[i].AllocatedResources}
		if ended := list[i].State.Terminated; ended != nil {
			x.State.Terminated = &corev1.ContainerStateTerminated{FinishedAt: ended.FinishedAt}
		}
		if asSpecified(&x, containers) {
			x.Resources, x.AllocatedResources = nil, nil
		}
		if x.State.Terminated != nil || x.Resources != nil || x.AllocatedResources != nil {
			kept = append(kept, x)
		}
	}
	return kept
}

// asSpecified reports whether the resources of the status, where it has any, are those of the container's spec.
func asSpecified(x *corev1.ContainerStatus, containers []corev1.Container) bool {
	for i := range containers {
		if c := &containers[i]; c.Name == x.Name {
			return (x.Resources == nil || equality.Semantic.DeepEqual(x.Resources.Requests, c.Resources.Requests)) &&
				(x.AllocatedResources == nil || equality.Semantic.DeepEqual(x.AllocatedResources, c.Resources.Requests))
		}
	}
	return false
}
