package verify

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/verify/nodematch"
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
		pod := podOfDaemonSet(d)
		one := &daemon{demand: demandOf(pod, c.index), pod: pod}
		if !fitsAlone(c.snapshot, one.requests) {
			continue
		}
		for _, a := range c.attachmentsOf(pod) {
			if a.problem == "" {
				one.volumes = append(one.volumes, a)
			}
			// The pod may not run if its claim does not exist, or if the claim is bound in another zone.
			one.uncertain = one.uncertain || a.claim != ""
		}
		c.daemons = append(c.daemons, one)
	}
	for _, a := range c.daemons {
		for _, b := range c.daemons {
			if _, conflict := clash(a.ports, b.ports); conflict && a != b {
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
	return slices.ContainsFunc(s.Nodes(), func(n *model.Node) bool { return within(n.Allocatable) })
}

// podOfDaemonSet returns the pod that the DaemonSet creates on a node, with the tolerations that the DaemonSet controller adds.
func podOfDaemonSet(d *model.Daemon) *corev1.Pod {
	pod := d.Pod.Object.DeepCopy()
	add := func(effect corev1.TaintEffect, taints ...string) {
		for _, key := range taints {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations,
				corev1.Toleration{Key: key, Effect: effect, Operator: corev1.TolerationOpExists})
		}
	}
	add(corev1.TaintEffectNoExecute, corev1.TaintNodeNotReady, corev1.TaintNodeUnreachable)
	add(corev1.TaintEffectNoSchedule, corev1.TaintNodeDiskPressure, corev1.TaintNodeMemoryPressure,
		corev1.TaintNodePIDPressure, corev1.TaintNodeUnschedulable)
	if pod.Spec.HostNetwork {
		add(corev1.TaintEffectNoSchedule, corev1.TaintNodeNetworkUnavailable)
	}
	return pod
}

// admittedTo reports whether taints and labels of a node admit the pod.
func (d *daemon) admittedTo(l *nodematch.LabelSet, taints []corev1.Taint) bool {
	_, kept := model.Untolerated(d.tolerations, taints)
	return !kept && l.MatchedBy(d.selector)
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
		if _, kept := model.Untolerated(d.tolerations, n.Taints); kept || d.runsAmong(n.Running) {
			continue
		}
		matches := 0
		for _, l := range n.Labels {
			if l.MatchedBy(d.selector) {
				matches++
			}
		}
		if matches > 0 {
			certain := !d.uncertain && matches == len(n.Labels)
			out = append(out, podtopology.Daemon{Pod: d.pod, Selector: d.selector, Certain: certain})
		}
	}
	return out
}
