package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// kwokNode is the annotation of nodes without a real kubelet. A node that loses it has no kubelet any more.
const kwokNode = "kwok.x-k8s.io/node"

// NeverReady is an annotation of pods whose containers run and never become ready, whatever its value.
const NeverReady = "sim/never-ready"

// Annotations of pods that say what their containers do. The values are durations.
const (
	// StartsAfter is the time from when the kubelet can start the pod until the pod is ready. Default 1 to 4 seconds.
	StartsAfter = "sim/starts-after"
	// RunsFor is the time after which the containers of a started pod succeed. Without it they run until they are stopped.
	RunsFor = "sim/runs-for"
	// FailsAfter is the time after which the containers of a started pod fail.
	FailsAfter = "sim/fails-after"
	// EndsAfter is the time that the containers take to end after the signal to terminate. Default and maximum: their grace
	// period.
	EndsAfter = "sim/ends-after"
)

// Kubelets runs the pods of all nodes with the annotation that marks nodes without a real kubelet.
type Kubelets struct {
	*Actor
	c     *Cluster
	nodes map[string]*kubelet
	pods  map[types.UID]time.Time // when a pod that can start is ready
}

// kubelet is the state of one node.
type kubelet struct {
	uid types.UID
	// readyAt is when a new node becomes ready. Zero until the kubelet is seen for the first time.
	readyAt time.Time
	killed  bool
	// silentSince is when the kubelet was seen to have stopped; zero while it runs.
	silentSince time.Time
	// conditions are those that a test has set, and reasons their reasons. A condition without one has a usual reason.
	conditions map[corev1.NodeConditionType]corev1.ConditionStatus
	reasons    map[corev1.NodeConditionType]string
}

func newKubelets(c *Cluster) *Kubelets {
	k := &Kubelets{Actor: newActor("kubelets", c), c: c, nodes: map[string]*kubelet{}, pods: map[types.UID]time.Time{}}
	k.reconcilers["Node"], k.reconcilers["Pod"] = k.node, k.pod
	return k
}

// Kill stops a kubelet and the containers of its node, as a crash of the machine does.
func (k *Kubelets) Kill(node string) error {
	return k.change(node, func(s *kubelet) { s.killed = true })
}

// SetCondition makes a running kubelet, or a problem detector on its node, report a condition.
func (k *Kubelets) SetCondition(node string, kind corev1.NodeConditionType, status corev1.ConditionStatus) error {
	return k.change(node, func(s *kubelet) { s.conditions[kind] = status })
}

// SetReason sets the reason of a condition that SetCondition sets.
func (k *Kubelets) SetReason(node string, kind corev1.NodeConditionType, reason string) error {
	return k.change(node, func(s *kubelet) { s.reasons[kind] = reason })
}

// MakeNotReady makes a kubelet report that its node is not ready. The kubelet and its pods continue to run.
func (k *Kubelets) MakeNotReady(node string) error {
	return k.SetCondition(node, corev1.NodeReady, corev1.ConditionFalse)
}

// Restore starts a stopped kubelet again. Conditions that SetCondition set become healthy again.
func (k *Kubelets) Restore(node string) error {
	return k.change(node, func(s *kubelet) {
		s.killed = false
		for kind := range s.conditions {
			s.conditions[kind] = healthy(kind)
			delete(s.reasons, kind)
		}
	})
}

// change changes the state of the kubelet of a node, and marks the node and its pods for the next Step.
func (k *Kubelets) change(name string, f func(*kubelet)) error {
	node, ok := kubeapi.Find[*corev1.Node](k.c.server, "", name)
	if !ok {
		return fmt.Errorf("node %s does not exist", name)
	}
	f(k.of(node))
	k.wake(name)
	return nil
}

// wake marks a node and its pods for the next Step.
func (k *Kubelets) wake(name string) {
	k.changed("Node", "", name)
	for r := range k.c.pods[name] {
		k.changed(r.kind, r.namespace, r.name)
	}
}

// of returns the state of the kubelet of a node.
func (k *Kubelets) of(node *corev1.Node) *kubelet {
	s := k.nodes[node.Name]
	if s == nil || s.uid != node.UID {
		s = &kubelet{
			uid: node.UID, conditions: map[corev1.NodeConditionType]corev1.ConditionStatus{}, reasons: map[corev1.NodeConditionType]string{},
		}
		k.nodes[node.Name] = s
	}
	return s
}

// silent reports whether the node has no running kubelet.
func (k *Kubelets) silent(node *corev1.Node) bool {
	return k.of(node).killed || node.Annotations[kwokNode] == ""
}

// node keeps the conditions of a node up to date.
func (k *Kubelets) node(now time.Time, r ref) (time.Time, error) {
	node, ok := kubeapi.Find[*corev1.Node](k.c.server, "", r.name)
	if !ok {
		delete(k.nodes, r.name)
		return time.Time{}, nil
	}
	s := k.of(node)
	if k.silent(node) {
		if s.silentSince.IsZero() {
			s.silentSince = now
			k.c.Lifecycle.changed("Node", "", r.name)
		}
		return time.Time{}, nil
	}
	if !s.silentSince.IsZero() {
		s.silentSince = time.Time{}
		k.c.Lifecycle.changed("Node", "", r.name)
		k.wake(r.name)
	}
	if s.readyAt.IsZero() {
		s.readyAt = now
		if !ready(node) {
			s.readyAt = now.Add(between(time.Second, 3*time.Second, k.c.seed, string(node.UID), "ready"))
		}
	}
	if now.Before(s.readyAt) {
		return s.readyAt, nil
	}
	if err := k.report(now, node, s); err != nil {
		return time.Time{}, err
	}
	return k.startAgent(now, r.name, s)
}

// AgentTaint is the key of a startup taint that an agent, such as that of a network plugin, removes 20 to 40 seconds after the node is
// ready.
const AgentTaint = "sim/agent-not-ready"

// startAgent removes AgentTaint when the agent of a node has started, and returns when that will be.
func (k *Kubelets) startAgent(now time.Time, name string, s *kubelet) (time.Time, error) {
	node, ok := kubeapi.Find[*corev1.Node](k.c.server, "", name)
	tainted := func(t corev1.Taint) bool { return t.Key == AgentTaint }
	if !ok || !slices.ContainsFunc(node.Spec.Taints, tainted) {
		return time.Time{}, nil
	}
	if at := s.readyAt.Add(between(20*time.Second, 40*time.Second, k.c.seed, string(node.UID), "agent")); now.Before(at) {
		return at, nil
	}
	node = node.DeepCopy()
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, tainted)
	_, err := kubeapi.Update(k.c.server, node)
	return time.Time{}, err
}

// pressures are the conditions that a kubelet reports besides Ready.
var pressures = []corev1.NodeConditionType{corev1.NodeMemoryPressure, corev1.NodeDiskPressure, corev1.NodePIDPressure}

// healthy returns the status of a condition of a healthy node.
func healthy(kind corev1.NodeConditionType) corev1.ConditionStatus {
	if kind == corev1.NodeReady {
		return corev1.ConditionTrue
	}
	if slices.Contains(pressures, kind) || kind == corev1.NodeNetworkUnavailable {
		return corev1.ConditionFalse
	}
	return "" // a condition of a problem detector is removed when it is healthy
}

// report writes the conditions that a kubelet reports, if they differ from those of its node.
func (k *Kubelets) report(now time.Time, node *corev1.Node, s *kubelet) error {
	want := map[corev1.NodeConditionType]corev1.ConditionStatus{corev1.NodeReady: corev1.ConditionTrue}
	for _, kind := range pressures {
		want[kind] = corev1.ConditionFalse
	}
	maps.Copy(want, s.conditions)
	node = node.DeepCopy()
	changed := false
	for _, kind := range slices.Sorted(maps.Keys(want)) {
		if want[kind] == "" {
			n := len(node.Status.Conditions)
			node.Status.Conditions = slices.DeleteFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == kind })
			changed = changed || len(node.Status.Conditions) != n
			delete(s.conditions, kind)
			continue
		}
		changed = setNodeCondition(node, kind, want[kind], cmp.Or(s.reasons[kind], reasonOf(kind, want[kind])), now) || changed
	}
	if !changed {
		return nil
	}
	_, err := kubeapi.UpdateStatus(k.c.server, node)
	return err
}

// reasonOf returns the reason that a kubelet gives for a condition.
func reasonOf(kind corev1.NodeConditionType, status corev1.ConditionStatus) string {
	switch {
	case kind == corev1.NodeReady && status == corev1.ConditionTrue:
		return "KubeletReady"
	case kind == corev1.NodeReady:
		return "KubeletNotReady"
	case kind == corev1.NodeMemoryPressure && status == corev1.ConditionFalse:
		return "KubeletHasSufficientMemory"
	case kind == corev1.NodeDiskPressure && status == corev1.ConditionFalse:
		return "KubeletHasNoDiskPressure"
	case kind == corev1.NodePIDPressure && status == corev1.ConditionFalse:
		return "KubeletHasSufficientPID"
	}
	return string(kind) + string(status)
}

// deleteNow deletes a pod without a grace period.
func deleteNow(s *kubeapi.Server, pod *corev1.Pod) error {
	grace := int64(0)
	return kubeapi.Delete(s, pod, metav1.DeleteOptions{GracePeriodSeconds: &grace})
}
