package model

import (
	"cmp"
	"encoding/binary"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/resource"
	schedulingcorev1 "k8s.io/component-helpers/scheduling/corev1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// A Pod is a pod with the sum of its requests, which is computed once when the pod enters the Snapshot.
type Pod struct {
	// Key is namespace/name.
	Key string
	UID types.UID
	// Object is shared and must not be changed.
	Object *corev1.Pod
	// Requests are the requests that kube-scheduler counts: containers, init containers, sidecars, overhead, pod-level
	// and resized resources, and 1 of the resource "pods".
	Requests Resources
	// Buffer is the namespace/name of the capacity buffer for which the pod reserves room. It is empty for a real pod.
	Buffer string
}

// NewPod returns the Pod for o.
func NewPod(o *corev1.Pod) *Pod { return (&podMaker{}).pod(o) }

// A podMaker creates Pods. If known is not nil, pods with equal requests, such as replicas, share one Requests map.
type podMaker struct {
	known map[string]Resources // by encoded requests
	key   []byte
	list  []amountOf
}

// An amountOf is the requested amount of one resource.
type amountOf struct {
	name corev1.ResourceName
	v    int64
}

func (m *podMaker) pod(o *corev1.Pod) *Pod {
	return &Pod{Key: o.Namespace + "/" + o.Name, UID: o.UID, Object: o, Requests: m.requests(requestsOf(o))}
}

// requests converts the requests of a pod to Resources and adds 1 of the resource "pods" for the pod itself.
func (m *podMaker) requests(l corev1.ResourceList) Resources {
	m.list = m.list[:0]
	for name, q := range l {
		m.list = append(m.list, amountOf{name, amount(name, q, true)})
	}
	slices.SortFunc(m.list, func(a, b amountOf) int { return cmp.Compare(a.name, b.name) })
	m.key = m.key[:0]
	for _, a := range m.list {
		m.key = append(binary.AppendUvarint(m.key, uint64(len(a.name))), a.name...)
		m.key = binary.AppendVarint(m.key, a.v)
	}
	if r := m.known[string(m.key)]; r != nil {
		return r
	}
	r := make(Resources, len(l)+1)
	for _, a := range m.list {
		r[a.name] = a.v
	}
	r[corev1.ResourcePods]++
	if m.known != nil {
		m.known[string(m.key)] = r
	}
	return r
}

// newPods returns the Pods of the objects, in order, and which of them are provisionable. The work is divided among
// goroutines.
func newPods(objects []*corev1.Pod) (pods []*Pod, waiting []bool) {
	pods, waiting = make([]*Pod, len(objects)), make([]bool, len(objects))
	fill := func(from, to int) {
		m := podMaker{known: map[string]Resources{}}
		for i := from; i < to; i++ {
			pods[i] = m.pod(objects[i])
			waiting[i] = pods[i].Provisionable()
		}
	}
	parts := max(1, min(runtime.GOMAXPROCS(0), len(objects)/podsPerPart))
	var all sync.WaitGroup
	for part := range parts - 1 {
		all.Go(func() { fill(part*len(objects)/parts, (part+1)*len(objects)/parts) })
	}
	fill((parts-1)*len(objects)/parts, len(objects))
	all.Wait()
	return pods, waiting
}

// podsPerPart is the least number of pods that newPods gives to a goroutine if it uses several.
const podsPerPart = 500

// newVirtualPod returns the Pod of a placeholder for the room that a capacity buffer reserves.
func newVirtualPod(o *corev1.Pod) *Pod {
	p := NewPod(o)
	p.Buffer = o.Annotations[apiv1.CapacityBufferNamespaceAnnotationKey] + "/" + o.Annotations[apiv1.CapacityBufferNameAnnotationKey]
	return p
}

// Virtual reports whether the pod is a placeholder for the room of a capacity buffer.
func (p *Pod) Virtual() bool { return p.Buffer != "" }

// requestsOf returns the requests that kube-scheduler counts for o. For the usual pod with one container these are the
// requests of the container, which is much cheaper to compute.
func requestsOf(o *corev1.Pod) corev1.ResourceList {
	s := &o.Spec
	if len(s.Containers) == 1 && len(s.InitContainers) == 0 && s.Overhead == nil && s.Resources == nil &&
		len(o.Status.ContainerStatuses) == 0 {
		return s.Containers[0].Resources.Requests
	}
	return resource.PodRequests(o, resource.PodResourcesOptions{UseStatusResources: true})
}

// Terminal reports whether the pod has succeeded or failed. It uses no resources any more.
func (p *Pod) Terminal() bool {
	return p.Object.Status.Phase == corev1.PodSucceeded || p.Object.Status.Phase == corev1.PodFailed
}

// hasRequiredAntiAffinity reports whether the pod has required anti-affinity.
func (p *Pod) hasRequiredAntiAffinity() bool {
	a := p.Object.Spec.Affinity
	return a != nil && a.PodAntiAffinity != nil && len(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0
}

// Terminating reports whether the pod is being deleted.
func (p *Pod) Terminating() bool { return p.Object.DeletionTimestamp != nil }

// Bound reports whether the pod is bound to a node.
func (p *Pod) Bound() bool { return p.Object.Spec.NodeName != "" }

// Daemon reports whether a DaemonSet owns the pod. No node is ever launched for such a pod.
func (p *Pod) Daemon() bool { return p.ownedBy("DaemonSet", "apps") }

// Mirror reports whether the pod is the mirror pod of a static pod.
func (p *Pod) Mirror() bool { return p.ownedBy("Node", "") }

func (p *Pod) ownedBy(kind, group string) bool { return ownerOf(p.Object, kind, group) != nil }

// ownerOf returns the first owner reference of the object with the kind and group, nil if there is none.
func ownerOf(o metav1.Object, kind, group string) *metav1.OwnerReference {
	owners := o.GetOwnerReferences()
	i := slices.IndexFunc(owners, func(r metav1.OwnerReference) bool { return r.Kind == kind && groupOf(r.APIVersion) == group })
	if i < 0 {
		return nil
	}
	return &owners[i]
}

// groupOf returns the group of an apiVersion: apps for apps/v1, empty for v1.
func groupOf(apiVersion string) string {
	return apiVersion[:max(0, strings.IndexByte(apiVersion, '/'))]
}

// OptsOut reports whether the pod excludes nodes of every NodePool: each term of its required node affinity has
// karpenter.sh/nodepool DoesNotExist.
func (p *Pod) OptsOut() bool {
	a := p.Object.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return false
	}
	terms := a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	return len(terms) > 0 && !slices.ContainsFunc(terms, func(t corev1.NodeSelectorTerm) bool {
		return !slices.ContainsFunc(t.MatchExpressions, func(r corev1.NodeSelectorRequirement) bool {
			return r.Key == apiv1.NodePoolLabelKey && r.Operator == corev1.NodeSelectorOpDoesNotExist
		})
	})
}

// Provisionable reports whether the pod needs a node: it is unbound, and its scheduler has marked it unschedulable. Finished
// and terminating pods, pods of DaemonSets, static pods and pods that opt out are excluded.
//
// Upstream Karpenter also excludes pods that are nominated to a node. Here a nomination is only a hint
// (Snapshot.TargetOf), because pods are also nominated to nodes that may never start.
func (p *Pod) Provisionable() bool {
	c := PodCondition(p.Object, corev1.PodScheduled)
	return !p.Bound() && !p.Terminal() && !p.Terminating() && !p.Daemon() && !p.Mirror() && !p.OptsOut() &&
		c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable
}

// Unjudged reports whether no scheduler has tried the pod yet: it is unbound and has no condition PodScheduled. Finished and
// terminating pods, pods of DaemonSets, static pods, pods that opt out and pods with scheduling gates are excluded.
func (p *Pod) Unjudged() bool {
	return !p.Bound() && !p.Terminal() && !p.Terminating() && !p.Daemon() && !p.Mirror() &&
		len(p.Object.Spec.SchedulingGates) == 0 && !p.OptsOut() && PodCondition(p.Object, corev1.PodScheduled).Type == ""
}

// ByDefault reports whether the default scheduler is responsible for the pod. Other schedulers may keep pods pending
// for their own reasons.
func ByDefault(o *corev1.Pod) bool {
	return o.Spec.SchedulerName == "" || o.Spec.SchedulerName == corev1.DefaultSchedulerName
}

// Priority returns the pod's priority, 0 if it has none. Higher is more important.
func (p *Pod) Priority() int32 {
	if p.Object.Spec.Priority == nil {
		return 0
	}
	return *p.Object.Spec.Priority
}

// PodCondition returns the condition of the pod with the type, zero if there is none.
func PodCondition(o *corev1.Pod, kind corev1.PodConditionType) corev1.PodCondition {
	i := slices.IndexFunc(o.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == kind })
	if i < 0 {
		return corev1.PodCondition{}
	}
	return o.Status.Conditions[i]
}

// Reschedulable reports whether the pod needs another node if its node is removed. Finished pods, pods of DaemonSets
// and static pods do not. A terminating pod does only if a StatefulSet owns it, because the StatefulSet creates its
// successor only when it is gone.
func (p *Pod) Reschedulable() bool {
	active := !p.Terminal() && (!p.Terminating() || p.ownedBy("StatefulSet", "apps"))
	return active && !p.Daemon() && !p.Mirror()
}

// Owner returns the owner reference of the pod to its controller, nil if there is none. It is part of the pod's object
// and must not be changed.
func (p *Pod) Owner() *metav1.OwnerReference { return metav1.GetControllerOfNoCopy(p.Object) }

// HasTaint reports whether one of the taints has the key and effect of t.
func HasTaint(taints []corev1.Taint, t corev1.Taint) bool {
	return slices.ContainsFunc(taints, func(o corev1.Taint) bool { return o.MatchTaint(&t) })
}

// Untolerated returns the first taint that excludes pods with these tolerations from a node, if any. Taints with effect
// PreferNoSchedule exclude no pod.
func Untolerated(tolerations []corev1.Toleration, taints []corev1.Taint) (corev1.Taint, bool) {
	for _, taint := range taints {
		if taint.Effect != corev1.TaintEffectPreferNoSchedule && !Tolerates(tolerations, taint) {
			return taint, true
		}
	}
	return corev1.Taint{}, false
}

// Tolerates reports whether one of the tolerations tolerates the taint, whatever its effect. It uses the helper of
// kube-scheduler, whose last argument enables the operators Lt and Gt.
func Tolerates(tolerations []corev1.Toleration, taint corev1.Taint) bool {
	return schedulingcorev1.TolerationsTolerateTaint(logr.Discard(), tolerations, &taint, true)
}
