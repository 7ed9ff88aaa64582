package cluster

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// ordinals is one StatefulSet and its pods by number.
type ordinals struct {
	w        *Workloads
	set      *appsv1.StatefulSet
	hash     string
	pods     map[int]*corev1.Pod
	replicas int
	parallel bool
}

// statefulSet creates, deletes and updates the pods of a StatefulSet. It changes one pod at a time and in order, unless the
// podManagementPolicy is Parallel.
func (w *Workloads) statefulSet(now time.Time, r ref) (time.Time, error) {
	set, ok := kubeapi.Find[*appsv1.StatefulSet](w.c.server, r.namespace, r.name)
	if !ok || set.DeletionTimestamp != nil {
		return time.Time{}, nil
	}
	hash, err := hashOf(&set.Spec.Template)
	if err != nil {
		return time.Time{}, err
	}
	s := &ordinals{
		w: w, set: set, hash: hash, replicas: int(replicasOf(set.Spec.Replicas)), parallel: set.Spec.PodManagementPolicy == appsv1.ParallelPodManagement,
	}
	s.read()
	done, err := s.fill(now)
	if err == nil && (done || s.parallel) {
		done, err = s.trim(now)
		if err == nil && done {
			err = s.update(now)
		}
	}
	if err != nil {
		return time.Time{}, err
	}
	s.read()
	return s.status(now)
}

// read reads the pods of the set.
func (s *ordinals) read() {
	s.pods = map[int]*corev1.Pod{}
	for _, pod := range children[*corev1.Pod](s.w.c, s.set.UID) {
		if n, err := strconv.Atoi(pod.Labels[appsv1.PodIndexLabel]); err == nil {
			s.pods[n] = pod
		}
	}
}

// healthy reports whether a pod is available and not being deleted.
func (s *ordinals) healthy(pod *corev1.Pod, now time.Time) bool {
	if pod == nil || !active(pod) {
		return false
	}
	ok, _ := available(pod, s.set.Spec.MinReadySeconds, now)
	return ok
}

// fill creates missing pods and deletes ended ones. It reports whether all pods are healthy. Unless the policy is Parallel,
// it stops at the first pod that is not healthy.
func (s *ordinals) fill(now time.Time) (done bool, err error) {
	done = true
	for n := range s.replicas {
		pod := s.pods[n]
		switch {
		case pod == nil:
			err = s.create(n)
		case terminal(pod) && pod.DeletionTimestamp == nil:
			err = s.w.delete(pod)
		}
		if err != nil {
			return false, err
		}
		if !s.healthy(pod, now) {
			done = false
			if !s.parallel {
				return false, nil
			}
		}
	}
	return done, nil
}

// create adds the pod with a number, and the claims that it lacks.
func (s *ordinals) create(n int) error {
	pod := newPod(s.set, &s.set.Spec.Template)
	pod.GenerateName, pod.Name = "", fmt.Sprintf("%s-%d", s.set.Name, n)
	setLabel(pod, appsv1.StatefulSetPodNameLabel, pod.Name)
	setLabel(pod, appsv1.PodIndexLabel, strconv.Itoa(n))
	setLabel(pod, appsv1.ControllerRevisionHashLabelKey, s.hash)
	pod.Spec.Hostname, pod.Spec.Subdomain = pod.Name, s.set.Spec.ServiceName
	for i := range s.set.Spec.VolumeClaimTemplates {
		t := &s.set.Spec.VolumeClaimTemplates[i]
		name := t.Name + "-" + pod.Name
		pod.Spec.Volumes = slices.DeleteFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == t.Name })
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: t.Name, VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: name},
		}})
		if _, exists := kubeapi.Find[*corev1.PersistentVolumeClaim](s.w.c.server, s.set.Namespace, name); exists {
			continue
		}
		claim := &corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: s.set.Namespace, Annotations: maps.Clone(t.Annotations), Labels: maps.Clone(t.Labels)},
			Spec:       *t.Spec.DeepCopy(),
		}
		if _, err := kubeapi.Create(s.w.c.server, claim); err != nil {
			return err
		}
	}
	return s.w.create(pod)
}

// numbers returns the numbers of the pods from the highest to least.
func (s *ordinals) numbers(least int) []int {
	out := slices.DeleteFunc(slices.Sorted(maps.Keys(s.pods)), func(n int) bool { return n < least })
	slices.Reverse(out)
	return out
}

// trim deletes pods whose number is too high, the highest first. It reports whether no such pod exists.
func (s *ordinals) trim(_ time.Time) (done bool, err error) {
	surplus := s.numbers(s.replicas)
	for _, n := range surplus {
		if pod := s.pods[n]; pod.DeletionTimestamp == nil {
			if err := s.w.delete(pod); err != nil {
				return false, err
			}
		}
		if !s.parallel {
			break
		}
	}
	return len(surplus) == 0, nil
}

// update deletes one pod with an older template: the one with the highest number. All pods with higher numbers must be
// healthy.
func (s *ordinals) update(now time.Time) error {
	if s.set.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType {
		return nil
	}
	partition := 0
	if rolling := s.set.Spec.UpdateStrategy.RollingUpdate; rolling != nil && rolling.Partition != nil {
		partition = int(*rolling.Partition)
	}
	for _, n := range s.numbers(partition) {
		pod := s.pods[n]
		if pod.Labels[appsv1.ControllerRevisionHashLabelKey] != s.hash && pod.DeletionTimestamp == nil {
			return s.w.delete(pod)
		}
		if !s.healthy(pod, now) {
			return nil
		}
	}
	return nil
}

// status writes the status of the set.
func (s *ordinals) status(now time.Time) (time.Time, error) {
	pods := slices.Collect(maps.Values(s.pods))
	n := count(pods, s.set.Spec.MinReadySeconds, now)
	set := s.set.DeepCopy()
	set.Status = appsv1.StatefulSetStatus{
		ObservedGeneration: set.Generation, Replicas: n.total, ReadyReplicas: n.ready, AvailableReplicas: n.available, UpdateRevision: s.hash,
		CurrentRevision: set.Status.CurrentRevision, Conditions: set.Status.Conditions,
	}
	for _, pod := range pods {
		if pod.Labels[appsv1.ControllerRevisionHashLabelKey] == s.hash {
			set.Status.UpdatedReplicas++
		}
	}
	if set.Status.UpdatedReplicas == n.total || set.Status.CurrentRevision == "" {
		set.Status.CurrentRevision = s.hash
	}
	for _, pod := range pods {
		if pod.Labels[appsv1.ControllerRevisionHashLabelKey] == set.Status.CurrentRevision {
			set.Status.CurrentReplicas++
		}
	}
	_, err := kubeapi.UpdateStatus(s.w.c.server, set)
	return n.next, err
}
