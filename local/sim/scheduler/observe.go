package scheduler

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/tools/cache"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// load observes the objects that exist.
func (s *Scheduler) load() {
	added(s, kubeapi.List[*corev1.Namespace](s.server))
	added(s, kubeapi.List[*corev1.Node](s.server))
	added(s, kubeapi.List[*storagev1.StorageClass](s.server))
	added(s, kubeapi.List[*storagev1.CSINode](s.server))
	added(s, kubeapi.List[*storagev1.VolumeAttachment](s.server))
	added(s, kubeapi.List[*corev1.PersistentVolume](s.server))
	added(s, kubeapi.List[*corev1.PersistentVolumeClaim](s.server))
	added(s, kubeapi.List[*corev1.Service](s.server))
	added(s, kubeapi.List[*corev1.ReplicationController](s.server))
	added(s, kubeapi.List[*appsv1.ReplicaSet](s.server))
	added(s, kubeapi.List[*appsv1.StatefulSet](s.server))
	added(s, kubeapi.List[*corev1.Pod](s.server))
}

// added observes new objects.
func added[T client.Object](s *Scheduler, objects []T) {
	for _, o := range objects {
		s.observe(nil, o)
	}
}

// observe updates the index and the queue after a write.
func (s *Scheduler) observe(before, after client.Object) {
	o := after
	if o == nil {
		o = before
	}
	switch o.(type) {
	case *corev1.Pod:
		s.observePod(typed[*corev1.Pod](before), typed[*corev1.Pod](after))
	case *corev1.Node:
		s.observeNode(typed[*corev1.Node](before), typed[*corev1.Node](after))
	default:
		s.observeOther(before, after, o)
	}
}

// typed returns an object as one of type T, nil for nil.
func typed[T client.Object](o client.Object) T {
	t, _ := o.(T)
	return t
}

// fail keeps the first error of the index.
func (s *Scheduler) fail(err error) {
	if err != nil && s.broken == nil {
		s.broken = fmt.Errorf("index of the scheduler: %w", err)
	}
}

// happened makes those pods ready that may be schedulable after the event.
func (s *Scheduler) happened(event fwk.ClusterEvent, before, after any) {
	s.queue.happened(s.profile.hints, event, before, after, everyPriority)
}

func (s *Scheduler) observeNode(before, after *corev1.Node) {
	s.changed = true
	switch {
	case before == nil:
		s.profile.cache.AddNode(klog.Logger{}, after)
		s.happened(fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Add}, nil, after)
	case after == nil:
		s.fail(s.profile.cache.RemoveNode(klog.Logger{}, before))
		s.happened(fwk.ClusterEvent{Resource: fwk.Node, ActionType: fwk.Delete}, before, nil)
	default:
		s.profile.cache.UpdateNode(klog.Logger{}, before, after)
		for _, event := range framework.NodeSchedulingPropertiesChange(after, before) {
			s.happened(event, before, after)
		}
	}
}

// running reports whether a pod is bound to a node and uses resources there.
func running(pod *corev1.Pod) bool { return pod != nil && pod.Spec.NodeName != "" && !ended(pod) }

// pending reports whether the scheduler must find a node for a pod.
func pending(pod *corev1.Pod) bool {
	return pod != nil && pod.Spec.NodeName == "" && pod.Spec.SchedulerName == corev1.DefaultSchedulerName && !ended(pod)
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func (s *Scheduler) observePod(before, after *corev1.Pod) {
	switch {
	case running(before) && running(after):
		s.fail(s.profile.cache.UpdatePod(klog.Logger{}, before, after))
		s.updated(before, after)
	case running(before):
		s.changed = true
		s.fail(s.profile.cache.RemovePod(klog.Logger{}, before))
		s.happened(framework.EventAssignedPodDelete, before, nil)
	case running(after):
		s.changed = true
		if pending(before) {
			s.bound(before)
		}
		s.fail(s.profile.cache.AddPod(klog.Logger{}, after))
		s.happened(framework.EventAssignedPodAdd, nil, after)
	case pending(after):
		s.changed = true
		s.queued(before, after)
	case pending(before):
		s.changed = true
		s.gone(before)
	}
}

// updated observes a new version of a pod on a node.
func (s *Scheduler) updated(before, after *corev1.Pod) {
	for _, event := range framework.PodSchedulingPropertiesChange(after, before) {
		// The general event Update means that nothing changed on which decisions depend, except if the deletion of the pod began.
		if event.ActionType != fwk.Update || before.DeletionTimestamp == nil && after.DeletionTimestamp != nil {
			s.changed = true
			s.happened(event, before, after)
		}
	}
}

// queued observes a pod that is pending.
func (s *Scheduler) queued(before, after *corev1.Pod) {
	e := s.queue.put(after)
	if !pending(before) {
		return
	}
	if e.waiting != nil && after.DeletionTimestamp != nil {
		s.release(e)
	}
	for _, event := range framework.PodSchedulingPropertiesChange(after, before) {
		if event.ActionType != fwk.Update {
			e.ready = true
		}
	}
	if node := before.Status.NominatedNodeName; node != "" && node != after.Status.NominatedNodeName && e.waiting == nil {
		s.vacated(before)
	}
}

// bound observes that a pod left the queue for a node.
func (s *Scheduler) bound(pod *corev1.Pod) {
	if e := s.queue.entries[pod.UID]; e != nil && e.waiting != nil {
		s.forgetWait(e.waiting)
	}
	s.queue.drop(pod.UID)
}

// gone observes that a pending pod no longer exists or has ended.
func (s *Scheduler) gone(pod *corev1.Pod) {
	if e := s.queue.entries[pod.UID]; e != nil && e.waiting != nil {
		s.release(e)
	} else if pod.Status.NominatedNodeName != "" {
		s.vacated(pod)
	}
	s.queue.drop(pod.UID)
}

// vacated makes ready the pods for which an ended nomination had reserved capacity: pods of at most the same priority.
func (s *Scheduler) vacated(pod *corev1.Pod) {
	s.queue.happened(s.profile.hints, framework.EventAssignedPodDelete, pod, nil, corev1helpers.PodPriority(pod))
}

// observeOther stores objects that plugins look up.
func (s *Scheduler) observeOther(before, after, o client.Object) {
	store, resource := s.storeOf(o)
	if store == nil {
		return
	}
	s.changed = true
	event := fwk.ClusterEvent{Resource: resource, ActionType: fwk.Update}
	switch {
	case after == nil:
		event.ActionType = fwk.Delete
		s.fail(store.Delete(before))
	case before == nil:
		event.ActionType = fwk.Add
		s.fail(store.Add(after))
	default:
		s.fail(store.Update(after))
	}
	if resource != "" {
		s.happened(event, untyped(before), untyped(after))
	}
}

// untyped returns an object as an argument of queueing hints, which need an untyped nil for no object.
func untyped(o client.Object) any {
	if o == nil {
		return nil
	}
	return o
}

// storeOf returns the store for objects of a kind, and the resource of their events, "" if they cause no events. The store is
// nil for kinds that no plugin reads.
func (s *Scheduler) storeOf(o client.Object) (cache.Store, fwk.EventResource) {
	core, storage, apps := s.profile.informers.Core().V1(), s.profile.informers.Storage().V1(), s.profile.informers.Apps().V1()
	switch o.(type) {
	case *corev1.PersistentVolume:
		return core.PersistentVolumes().Informer().GetStore(), fwk.PersistentVolume
	case *corev1.PersistentVolumeClaim:
		return core.PersistentVolumeClaims().Informer().GetStore(), fwk.PersistentVolumeClaim
	case *storagev1.StorageClass:
		return storage.StorageClasses().Informer().GetStore(), fwk.StorageClass
	case *storagev1.CSINode:
		return storage.CSINodes().Informer().GetStore(), fwk.CSINode
	case *storagev1.VolumeAttachment:
		return storage.VolumeAttachments().Informer().GetStore(), fwk.VolumeAttachment
	case *corev1.Namespace:
		return core.Namespaces().Informer().GetStore(), ""
	case *corev1.Service:
		return core.Services().Informer().GetStore(), ""
	case *corev1.ReplicationController:
		return core.ReplicationControllers().Informer().GetStore(), ""
	case *appsv1.ReplicaSet:
		return apps.ReplicaSets().Informer().GetStore(), ""
	case *appsv1.StatefulSet:
		return apps.StatefulSets().Informer().GetStore(), ""
	}
	return nil, ""
}
