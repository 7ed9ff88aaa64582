package cluster

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// replicaSet creates or deletes pods until a ReplicaSet has as many active ones as it should.
func (w *Workloads) replicaSet(now time.Time, r ref) (time.Time, error) {
	set, ok := kubeapi.Find[*appsv1.ReplicaSet](w.c.server, r.namespace, r.name)
	if !ok || set.DeletionTimestamp != nil {
		return time.Time{}, nil
	}
	pods := w.activePods(set)
	missing := int(replicasOf(set.Spec.Replicas)) - len(pods)
	for range missing {
		if err := w.create(newPod(set, &set.Spec.Template)); err != nil {
			return time.Time{}, err
		}
	}
	if missing < 0 {
		w.rank(pods)
		for _, pod := range pods[:-missing] {
			if err := w.delete(pod); err != nil {
				return time.Time{}, err
			}
		}
	}
	n := count(w.activePods(set), set.Spec.MinReadySeconds, now)
	status := set.DeepCopy()
	status.Status.Replicas, status.Status.FullyLabeledReplicas = n.total, n.total
	status.Status.ReadyReplicas, status.Status.AvailableReplicas = n.ready, n.available
	status.Status.ObservedGeneration = set.Generation
	_, err := kubeapi.UpdateStatus(w.c.server, status)
	return n.next, err
}

// activePods returns the active pods of a ReplicaSet.
func (w *Workloads) activePods(set *appsv1.ReplicaSet) []*corev1.Pod {
	return slices.DeleteFunc(children[*corev1.Pod](w.c, set.UID), func(p *corev1.Pod) bool { return !active(p) })
}

// rank orders pods from the first to the last that is deleted when a ReplicaSet is scaled in: without a node, pending, not
// ready, low deletion cost, on a node with many of the pods, ready for a short time, new.
func (w *Workloads) rank(pods []*corev1.Pod) {
	onNode := map[string]int{}
	for _, p := range pods {
		if p.Spec.NodeName != "" {
			onNode[p.Spec.NodeName]++
		}
	}
	slices.SortStableFunc(pods, func(a, b *corev1.Pod) int {
		readyA, sinceA := podReady(a)
		readyB, sinceB := podReady(b)
		if c := cmp.Or(
			falseFirst(a.Spec.NodeName != "", b.Spec.NodeName != ""),
			falseFirst(a.Status.Phase == corev1.PodRunning, b.Status.Phase == corev1.PodRunning),
			falseFirst(readyA, readyB),
			cmp.Compare(deletionCost(a), deletionCost(b)),
			cmp.Compare(onNode[b.Spec.NodeName], onNode[a.Spec.NodeName]),
		); c != 0 {
			return c
		}
		return cmp.Or(sinceB.Compare(sinceA), b.CreationTimestamp.Time.Compare(a.CreationTimestamp.Time), cmp.Compare(a.UID, b.UID))
	})
}

func falseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// deletionCost returns the cost in the annotation of a pod, 0 if there is none.
func deletionCost(pod *corev1.Pod) int64 {
	n, err := strconv.ParseInt(pod.Annotations[corev1.PodDeletionCost], 10, 32)
	if err != nil {
		return 0
	}
	return n
}
