package random

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/karpenter-go/karpenter/engine/scenario"
)

// drawPod draws a group of equal pending pods.
func drawPod(d dice, name string, c *scenario.Cluster) scenario.Pod {
	p := scenario.Pod{
		Name: name, Count: d.between(1, 5), Space: pick(d, "", "", "blue", "green"), Labels: podLabels(d),
		CPU:    pick(d, "", "100m", "500m", "900m", "1", "1500m", "3", "7", "20"),
		Memory: pick(d, "", "100Mi", "900Mi", "1Gi", "6Gi"),
	}
	p.Spec.Tolerations = tolerations(d)
	drawDemands(d, &p)
	drawSelection(d, &p.Spec)
	if d.oneIn(2) {
		drawSpread(d, &p)
	}
	if d.oneIn(2) {
		drawPodAffinity(d, &p)
	}
	if d.oneIn(8) {
		drawPorts(d, &p.Spec)
	}
	if d.oneIn(3) {
		drawVolumes(d, &p, c)
	}
	if d.oneIn(6) {
		priority := int32(pick(d, -10, 5, 1000))
		p.Spec.Priority = &priority
	}
	return p
}

// podLabels draws labels that selectors of other pods may match.
func podLabels(d dice) map[string]string {
	labels := map[string]string{"app": pick(d, apps...)}
	if d.oneIn(2) {
		labels["version"] = pick(d, versions...)
	}
	if d.oneIn(4) {
		labels[Team] = pick(d, teams...)
	}
	return labels
}

// drawDemands adds extended resources, init containers, sidecars, overhead and other fields on which the requests of a
// pod depend.
func drawDemands(d dice, p *scenario.Pod) {
	spec := &p.Spec
	main := corev1.Container{Name: "main"}
	for _, r := range resources {
		if !d.oneIn(12) {
			continue
		}
		v := amount(r, d.between(1, 3))
		p.Also = with(p.Also, r, v)
		if r != "ephemeral-storage" { // requests of extended resources and huge pages must equal their limits
			main.Resources.Limits = limit(main.Resources.Limits, r, v)
		}
		if r == "hugepages-2Mi" && p.CPU == "" {
			p.CPU = "100m" // a pod with huge pages must also request cpu or memory
		}
	}
	spec.Containers = []corev1.Container{main}
	if d.oneIn(8) {
		spec.Containers = append(spec.Containers, container(d, "second"))
	}
	always := corev1.ContainerRestartPolicyAlways
	for i := range max(0, d.between(-6, 2)) {
		init := container(d, fmt.Sprintf("init%d", i))
		if d.oneIn(2) {
			init.RestartPolicy = &always
		}
		spec.InitContainers = append(spec.InitContainers, init)
	}
	if d.oneIn(12) {
		spec.Overhead = corev1.ResourceList{"cpu": resource.MustParse("250m")}
	}
	if d.oneIn(12) && len(p.Also) == 0 {
		spec.Resources = &corev1.ResourceRequirements{Requests: corev1.ResourceList{
			"cpu": resource.MustParse(pick(d, "40", "44")), "memory": resource.MustParse(pick(d, "10Gi", "30Gi")),
		}}
		if d.oneIn(2) {
			p.CPU, spec.Resources.Requests["cpu"] = "", resource.MustParse("4")
			spec.InitContainers, spec.Containers = nil, spec.Containers[:1]
		}
	}
}

func container(d dice, name string) corev1.Container {
	requests := corev1.ResourceList{}
	if d.oneIn(2) {
		requests["cpu"] = resource.MustParse(pick(d, "200m", "1", "4"))
	}
	if d.oneIn(2) {
		requests["memory"] = resource.MustParse(pick(d, "200Mi", "2Gi"))
	}
	return corev1.Container{Name: name, Resources: corev1.ResourceRequirements{Requests: requests}}
}

func limit(l corev1.ResourceList, name, v string) corev1.ResourceList {
	if l == nil {
		l = corev1.ResourceList{}
	}
	l[corev1.ResourceName(name)] = resource.MustParse(v)
	return l
}

func drawPorts(d dice, spec *corev1.PodSpec) {
	port := corev1.ContainerPort{
		ContainerPort: 80, HostPort: int32(pick(d, 80, 8080)),
		HostIP:   pick(d, "", "", "10.0.0.1", "10.0.0.2", "0.0.0.0"),
		Protocol: pick(d, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP),
	}
	if len(spec.InitContainers) > 0 && d.oneIn(2) {
		spec.InitContainers[0].Ports = append(spec.InitContainers[0].Ports, port)
		return
	}
	spec.Containers[0].Ports = append(spec.Containers[0].Ports, port)
}

// drawVolumes mounts at most two volumes, and none in a cluster without disks. A volume is a bound disk that pods may
// share, an unbound disk that only one group of pods mounts, or an ephemeral volume.
func drawVolumes(d dice, p *scenario.Pod, c *scenario.Cluster) {
	for i := range d.between(1, 2) {
		if len(c.Disks) == 0 {
			return
		}
		v := corev1.Volume{Name: fmt.Sprintf("v%d", i)}
		k := pick(d, c.Disks...)
		switch {
		case d.oneIn(4):
			v.Ephemeral = ephemeral(pick(d, c.Storage...).Name)
		case len(k.Zones) == 0 && mounted(c, k.Name):
			continue
		default:
			if len(k.Zones) == 0 {
				p.Count = 1
			}
			p.Space = k.Space
			v.PersistentVolumeClaim = &corev1.PersistentVolumeClaimVolumeSource{ClaimName: k.Name}
		}
		p.Spec.Volumes = append(p.Spec.Volumes, v)
	}
}

// mounted reports whether some group of pods mounts the disk already.
func mounted(c *scenario.Cluster, disk string) bool {
	return slices.ContainsFunc(c.Pods, func(p scenario.Pod) bool {
		return slices.ContainsFunc(p.Spec.Volumes, func(v corev1.Volume) bool {
			return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == disk
		})
	})
}

func ephemeral(class string) *corev1.EphemeralVolumeSource {
	return &corev1.EphemeralVolumeSource{VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: limit(nil, "storage", "1Gi")},
		},
	}}
}

// drawAttached draws a disk, and mounts it if it is bound.
func drawAttached(d dice, p *scenario.Pod, c *scenario.Cluster) {
	if len(c.Disks) == 0 {
		return
	}
	k := pick(d, c.Disks...)
	if len(k.Zones) == 0 {
		return
	}
	p.Space = k.Space
	p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: k.Name},
	}}}
}

// drawBound draws a running pod. It has no node selector or node affinity, since kube-scheduler does not check these
// again. It may have affinity or anti-affinity to other pods.
func drawBound(d dice, name string, c *scenario.Cluster) scenario.Pod {
	p := scenario.Pod{
		Name: name, Space: pick(d, "", "blue"), Labels: podLabels(d), Owner: "ReplicaSet",
		CPU: pick(d, "", "100m", "500m"), Memory: pick(d, "", "100Mi"),
	}
	p.Spec.Containers = []corev1.Container{{Name: "main"}}
	if d.oneIn(3) {
		drawPodAffinity(d, &p)
	}
	if d.oneIn(8) {
		drawPorts(d, &p.Spec)
	}
	if d.oneIn(4) {
		drawAttached(d, &p, c)
	}
	p.Done, p.Terminating = d.oneIn(12), d.oneIn(12)
	return p
}

func drawDaemon(d dice, name string) scenario.Pod {
	p := scenario.Pod{
		Name: name, Space: "system", Labels: map[string]string{"app": name},
		CPU: pick(d, "", "100m", "500m"), Memory: pick(d, "", "100Mi", "500Mi"),
	}
	p.Spec.Containers = []corev1.Container{{Name: "main"}}
	p.Spec.Tolerations = tolerations(d)
	if d.oneIn(3) {
		drawSelection(d, &p.Spec)
	}
	if d.oneIn(8) {
		drawPorts(d, &p.Spec)
	}
	return p
}
