package cluster

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"

	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// Times of kube-controller-manager.
const (
	// silentFor is how long a kubelet may be silent before the conditions of its node become Unknown.
	silentFor = 40 * time.Second
	// orphanedFor is how long a pod remains after its node was deleted.
	orphanedFor = 40 * time.Second
)

// NodeLifecycle does what the controllers for nodes, taints and orphaned pods of kube-controller-manager do. It does not
// have their limits on evictions when a large part of a zone is not ready.
type NodeLifecycle struct {
	*Actor
	c *Cluster
	// since is when a pod was first seen on a node that was deleted, or on a node with a NoExecute taint.
	since map[types.UID]time.Time
}

func newNodeLifecycle(c *Cluster) *NodeLifecycle {
	l := &NodeLifecycle{Actor: newActor("node-lifecycle", c), c: c, since: map[types.UID]time.Time{}}
	l.reconcilers["Node"], l.reconcilers["Pod"] = l.node, l.pod
	return l
}

// node sets the conditions of a node whose kubelet is silent, and the taints that follow from conditions.
func (l *NodeLifecycle) node(now time.Time, r ref) (next time.Time, err error) {
	node, ok := kubeapi.Find[*corev1.Node](l.c.server, "", r.name)
	if !ok {
		return time.Time{}, nil
	}
	if s := l.c.Kubelets.of(node); !s.silentSince.IsZero() {
		if at := s.silentSince.Add(silentFor); now.Before(at) {
			next = at
		} else if node, err = l.unknown(now, node); err != nil {
			return next, err
		}
	}
	if taints := wantedTaints(now, node); !slices.EqualFunc(taints, node.Spec.Taints, sameTaint) {
		node = node.DeepCopy()
		node.Spec.Taints = taints
		if node, err = kubeapi.Update(l.c.server, node); err != nil {
			return next, err
		}
	}
	if ready(node) {
		return next, nil
	}
	return next, l.podsNotReady(now, node.Name)
}

// unknown sets the conditions of a node whose kubelet is silent.
func (l *NodeLifecycle) unknown(now time.Time, node *corev1.Node) (*corev1.Node, error) {
	node = node.DeepCopy()
	changed := false
	for _, kind := range append([]corev1.NodeConditionType{corev1.NodeReady}, pressures...) {
		changed = setNodeCondition(node, kind, corev1.ConditionUnknown, "NodeStatusUnknown", now) || changed
	}
	if !changed {
		return node, nil
	}
	return kubeapi.UpdateStatus(l.c.server, node)
}

// podsNotReady sets the condition Ready of the pods on a node to false.
func (l *NodeLifecycle) podsNotReady(now time.Time, node string) error {
	for _, pod := range l.c.podsOn(node) {
		if ok, _ := podReady(pod); !ok {
			continue
		}
		pod = pod.DeepCopy()
		setPodCondition(pod, corev1.PodReady, false, "NodeNotReady", now)
		if _, err := kubeapi.UpdateStatus(l.c.server, pod); err != nil {
			return err
		}
	}
	return nil
}

// taintsOf are the taints that follow from the conditions of a node.
var taintsOf = []struct {
	condition corev1.NodeConditionType
	status    corev1.ConditionStatus
	key       string
	evicts    bool
}{
	{corev1.NodeReady, corev1.ConditionFalse, corev1.TaintNodeNotReady, true},
	{corev1.NodeReady, corev1.ConditionUnknown, corev1.TaintNodeUnreachable, true},
	{corev1.NodeMemoryPressure, corev1.ConditionTrue, corev1.TaintNodeMemoryPressure, false},
	{corev1.NodeDiskPressure, corev1.ConditionTrue, corev1.TaintNodeDiskPressure, false},
	{corev1.NodePIDPressure, corev1.ConditionTrue, corev1.TaintNodePIDPressure, false},
	{corev1.NodeNetworkUnavailable, corev1.ConditionTrue, corev1.TaintNodeNetworkUnavailable, false},
}

// wantedTaints returns the taints that a node should have. Taints that it has already come first, in their order.
func wantedTaints(now time.Time, node *corev1.Node) []corev1.Taint {
	var want []corev1.Taint
	at := seconds(now)
	add := func(key string, effect corev1.TaintEffect) {
		want = append(want, corev1.Taint{Key: key, Effect: effect, TimeAdded: &at})
	}
	for _, t := range taintsOf {
		if c := nodeCondition(node, t.condition); c == nil || c.Status != t.status {
			continue
		}
		add(t.key, corev1.TaintEffectNoSchedule)
		if t.evicts {
			add(t.key, corev1.TaintEffectNoExecute)
		}
	}
	if node.Spec.Unschedulable {
		add(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule)
	}
	var out []corev1.Taint
	for _, t := range node.Spec.Taints {
		i := slices.IndexFunc(want, func(w corev1.Taint) bool { return w.MatchTaint(&t) })
		switch {
		case i >= 0:
			out = append(out, t)
			want = slices.Delete(want, i, i+1)
		case !derived(t.Key):
			out = append(out, t)
		}
	}
	return append(out, want...)
}

// derived reports whether taints with a key follow from conditions or spec.unschedulable of the node.
func derived(key string) bool {
	if key == corev1.TaintNodeUnschedulable {
		return true
	}
	for _, t := range taintsOf {
		if t.key == key {
			return true
		}
	}
	return false
}

// pod deletes a pod that does not tolerate a NoExecute taint of its node, or whose node was deleted.
func (l *NodeLifecycle) pod(now time.Time, r ref) (time.Time, error) {
	pod, ok := kubeapi.Find[*corev1.Pod](l.c.server, r.namespace, r.name)
	if !ok || pod.Spec.NodeName == "" {
		return time.Time{}, nil
	}
	node, ok := kubeapi.Find[*corev1.Node](l.c.server, "", pod.Spec.NodeName)
	var at time.Time
	switch {
	case !ok:
		if at = l.first(pod.UID, now).Add(orphanedFor); !now.Before(at) {
			return time.Time{}, l.collect(now, pod)
		}
	case pod.DeletionTimestamp != nil:
	default:
		if at = l.evictAt(now, pod, node); !at.IsZero() && !now.Before(at) {
			return time.Time{}, kubeapi.Delete(l.c.server, pod)
		}
	}
	if at.IsZero() {
		delete(l.since, pod.UID)
	}
	return at, nil
}

// first returns the time in l.since at which the pod was first seen, which is now if there is none.
func (l *NodeLifecycle) first(pod types.UID, now time.Time) time.Time {
	if _, known := l.since[pod]; !known {
		l.since[pod] = now
	}
	return l.since[pod]
}

// collect removes a pod whose node does not exist. A pod with finalizers remains, as failed.
func (l *NodeLifecycle) collect(now time.Time, pod *corev1.Pod) error {
	if !terminal(pod) {
		if err := l.c.Kubelets.finish(now, pod, corev1.PodFailed); err != nil {
			return err
		}
	}
	if _, ok := kubeapi.Find[*corev1.Pod](l.c.server, pod.Namespace, pod.Name); !ok {
		return nil
	}
	return deleteNow(l.c.server, pod)
}

// evictAt returns when a pod must be deleted because of NoExecute taints of its node; the zero time for never.
func (l *NodeLifecycle) evictAt(now time.Time, pod *corev1.Pod, node *corev1.Node) time.Time {
	var at time.Time
	for i := range node.Spec.Taints {
		t := &node.Spec.Taints[i]
		if t.Effect != corev1.TaintEffectNoExecute {
			continue
		}
		since := l.first(pod.UID, now)
		if t.TimeAdded != nil {
			since = t.TimeAdded.Time
		}
		tolerated := false
		for _, toleration := range pod.Spec.Tolerations {
			if !corev1helpers.TolerationsTolerateTaint(klog.Background(), []corev1.Toleration{toleration}, t, false) {
				continue
			}
			tolerated = true
			if s := toleration.TolerationSeconds; s != nil {
				at = earliest(at, since.Add(time.Duration(max(0, *s))*time.Second))
			}
		}
		if !tolerated {
			return now
		}
	}
	return at
}
