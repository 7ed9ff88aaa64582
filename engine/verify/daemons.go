package verify

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/verify/podtopology"
)

// A daemon is a DaemonSet with the demand of its pod on a node that does not run it yet.
type daemon struct {
	*demand
	pod *corev1.Pod // not bound
	// uncertain is true if a host port or a volume may keep the pod from a node that the DaemonSet selects.
	uncertain bool
}

// readDaemonSets sets daemons to the DaemonSets, in key order, that are not being deleted and whose pod fits on some empty
// node. A DaemonSet is uncertain if its pod has a volume claim, or a host port in common with another DaemonSet.
func (c *catalog) readDaemonSets() {
	for _, d := range c.snapshot.Daemons() {
		if d.Object.DeletionTimestamp != nil {
			continue
		}
		pod := podOfDaemonSet(d.Object)
		one := &daemon{demand: demandOf(pod, c.index), pod: pod, uncertain: hasVolumeClaims(pod)}
		if !fitsAlone(c.snapshot, one.requests) {
			continue
		}
		one.volumes = slices.DeleteFunc(c.attachmentsOf(d.Pod.Object), func(a *attachment) bool { return a.problem != "" })
		c.daemons = append(c.daemons, one)
	}
	for _, a := range c.daemons {
		for _, b := range c.daemons {
			if _, conflict := a.clash(b.demand); conflict && a != b {
				a.uncertain = true
			}
		}
	}
}

// fitsAlone reports whether the requests fit on an empty node: a new node of some type, or an existing one.
func fitsAlone(s *model.Snapshot, requests model.Resources) bool {
	within := func(have model.Resources) bool {
		_, _, short := requests.Short(have)
		return !short
	}
	for _, pool := range s.Pools() {
		if slices.ContainsFunc(s.Types(pool.Name), func(t *model.InstanceType) bool { return within(t.Allocatable) }) {
			return true
		}
	}
	return slices.ContainsFunc(s.Nodes(), func(n *model.Node) bool {
		_, allocatable := reported(n)
		return within(allocatable)
	})
}

// hasVolumeClaims reports whether the pod has a volume claim. Such a pod may not run, because the claim does not exist or is
// bound in another zone.
func hasVolumeClaims(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.PersistentVolumeClaim != nil || v.Ephemeral != nil
	})
}

// podOfDaemonSet returns the pod that the DaemonSet creates on a node. As in the API server, missing requests are set
// to the limits. The tolerations that the DaemonSet controller adds are included.
func podOfDaemonSet(set *appsv1.DaemonSet) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: set.Namespace, Name: set.Name, Labels: set.Spec.Template.Labels},
		Spec:       *set.Spec.Template.Spec.DeepCopy(),
	}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			r := &containers[i].Resources
			requests := maps.Clone(r.Limits)
			if requests == nil {
				requests = corev1.ResourceList{}
			}
			maps.Copy(requests, r.Requests)
			r.Requests = requests
		}
	}
	tolerated := []corev1.Taint{
		{Key: corev1.TaintNodeNotReady, Effect: corev1.TaintEffectNoExecute},
		{Key: corev1.TaintNodeUnreachable, Effect: corev1.TaintEffectNoExecute},
		{Key: corev1.TaintNodeDiskPressure, Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodeMemoryPressure, Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodePIDPressure, Effect: corev1.TaintEffectNoSchedule},
		{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule},
	}
	if pod.Spec.HostNetwork {
		tolerated = append(tolerated, corev1.Taint{
			Key: corev1.TaintNodeNetworkUnavailable, Effect: corev1.TaintEffectNoSchedule,
		})
	}
	for _, t := range tolerated {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
			Key: t.Key, Effect: t.Effect, Operator: corev1.TolerationOpExists,
		})
	}
	return pod
}

// runsAmong reports whether one of the pods belongs to the DaemonSet.
func (d *daemon) runsAmong(pods []*corev1.Pod) bool {
	return slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return ownedBy(p, d.pod.Namespace, d.pod.Name) })
}

// daemonsOn returns the DaemonSet pods that the node may get by its labels and taints. A pod is certain if its DaemonSet is,
// and if the selector matches all label sets that the node may have.
func (c *catalog) daemonsOn(n *podtopology.Node) []podtopology.Daemon {
	var out []podtopology.Daemon
	for _, d := range c.daemons {
		if _, kept := d.untolerated(n.Taints); kept || d.runsAmong(n.Running) {
			continue
		}
		matches := 0
		for _, l := range n.Labels {
			if l.MatchedBy(d.selector) {
				matches++
			}
		}
		if matches > 0 {
			out = append(out, podtopology.Daemon{Pod: d.pod, Selector: d.selector, Certain: !d.uncertain && matches == len(n.Labels)})
		}
	}
	return out
}
