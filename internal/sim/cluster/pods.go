package cluster

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// pod moves a pod to the next stage of its life (start, run, end), if the kubelet of its node runs.
func (k *Kubelets) pod(now time.Time, r ref) (time.Time, error) {
	pod, ok := kubeapi.Find[*corev1.Pod](k.c.server, r.namespace, r.name)
	if !ok || pod.Spec.NodeName == "" {
		return time.Time{}, nil
	}
	node, ok := kubeapi.Find[*corev1.Node](k.c.server, "", pod.Spec.NodeName)
	if !ok || k.silent(node) {
		return time.Time{}, nil
	}
	switch {
	case pod.DeletionTimestamp != nil:
		return k.end(now, pod)
	case terminal(pod):
		return time.Time{}, nil
	case pod.Status.Phase == corev1.PodRunning:
		return k.run(now, pod, node)
	}
	return k.start(now, pod, node)
}

// start makes a pod run and ready when its node, its volumes and its start delay allow it.
func (k *Kubelets) start(now time.Time, pod *corev1.Pod, node *corev1.Node) (time.Time, error) {
	if !ready(node) && !pod.Spec.HostNetwork || !k.c.Volumes.attached(pod) {
		return time.Time{}, nil
	}
	at, known := k.pods[pod.UID]
	if !known {
		delay, ok := duration(pod, StartsAfter)
		if !ok {
			delay = between(time.Second, 4*time.Second, k.c.seed, string(pod.UID), "start")
		}
		at = now.Add(delay)
		k.pods[pod.UID] = at
	}
	if now.Before(at) {
		return at, nil
	}
	delete(k.pods, pod.UID)
	pod = pod.DeepCopy()
	started := seconds(now)
	pod.Status.Phase, pod.Status.StartTime = corev1.PodRunning, &started
	healthy := !neverReady(pod)
	for _, kind := range []corev1.PodConditionType{corev1.PodReadyToStartContainers, corev1.PodInitialized} {
		setPodCondition(pod, kind, true, "", now)
	}
	for _, kind := range []corev1.PodConditionType{corev1.ContainersReady, corev1.PodReady} {
		setPodCondition(pod, kind, healthy, "", now)
	}
	pod.Status.ContainerStatuses = nil
	running := true
	for _, c := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: c.Name, Image: c.Image, Ready: healthy, Started: &running,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started}},
		})
	}
	_, err := kubeapi.UpdateStatus(k.c.server, pod)
	return time.Time{}, err
}

// run makes a pod ready again on a node that has recovered, and ends it when its containers end by themselves.
func (k *Kubelets) run(now time.Time, pod *corev1.Pod, node *corev1.Node) (time.Time, error) {
	var next time.Time
	for _, end := range []struct {
		annotation string
		phase      corev1.PodPhase
	}{{FailsAfter, corev1.PodFailed}, {RunsFor, corev1.PodSucceeded}} {
		d, ok := duration(pod, end.annotation)
		if !ok || pod.Status.StartTime == nil {
			continue
		}
		if at := pod.Status.StartTime.Add(d); now.Before(at) {
			next = earliest(next, at)
		} else {
			return time.Time{}, k.finish(now, pod, end.phase)
		}
	}
	if ok, _ := podReady(pod); ok || !ready(node) || neverReady(pod) {
		return next, nil
	}
	pod = pod.DeepCopy()
	setPodCondition(pod, corev1.ContainersReady, true, "", now)
	setPodCondition(pod, corev1.PodReady, true, "", now)
	_, err := kubeapi.UpdateStatus(k.c.server, pod)
	return next, err
}

func neverReady(pod *corev1.Pod) bool { return pod.Annotations[NeverReady] != "" }

// finish writes that the containers of a pod have ended.
func (k *Kubelets) finish(now time.Time, pod *corev1.Pod, phase corev1.PodPhase) error {
	pod = pod.DeepCopy()
	pod.Status.Phase = phase
	reason, code := "PodCompleted", int32(0)
	if phase == corev1.PodFailed {
		reason, code = "PodFailed", 1
	}
	setPodCondition(pod, corev1.ContainersReady, false, reason, now)
	setPodCondition(pod, corev1.PodReady, false, reason, now)
	for i := range pod.Status.ContainerStatuses {
		s := &pod.Status.ContainerStatuses[i]
		ended := &corev1.ContainerStateTerminated{ExitCode: code, FinishedAt: seconds(now)}
		if s.State.Running != nil {
			ended.StartedAt = s.State.Running.StartedAt
		}
		s.Ready, s.State = false, corev1.ContainerState{Terminated: ended}
	}
	_, err := kubeapi.UpdateStatus(k.c.server, pod)
	return err
}

// longestGrace is the longest grace period in seconds that the API server applies, see package kubeapi. A longer one would overflow.
const longestGrace = 1 << 32

// end stops the containers of a pod that is being deleted, and removes it. A pod with finalizers remains, with its phase.
func (k *Kubelets) end(now time.Time, pod *corev1.Pod) (time.Time, error) {
	delete(k.pods, pod.UID)
	grace := time.Duration(0)
	if g := pod.DeletionGracePeriodSeconds; g != nil {
		grace = time.Duration(min(*g, longestGrace)) * time.Second
	}
	phase := corev1.PodFailed // killed at the end of its grace period
	takes := grace
	if d, ok := duration(pod, EndsAfter); ok && d < grace {
		takes, phase = d, corev1.PodSucceeded
	}
	if pod.Status.Phase == corev1.PodRunning {
		if at := pod.DeletionTimestamp.Add(takes - grace); now.Before(at) {
			return at, nil
		}
	}
	if !terminal(pod) {
		if err := k.finish(now, pod, phase); err != nil {
			return time.Time{}, err
		}
	}
	if _, ok := kubeapi.Find[*corev1.Pod](k.c.server, pod.Namespace, pod.Name); ok && grace > 0 {
		return time.Time{}, deleteNow(k.c.server, pod)
	}
	return time.Time{}, nil
}
