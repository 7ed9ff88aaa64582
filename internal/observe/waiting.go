package observe

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// OnWork registers f, which is called whenever there may be work for provisioning. Examples are a pending pod, a changed
// pool and a node that is being deleted. f is called without locks held and must return at once.
func (c *Cluster) OnWork(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wake = append(c.wake, f)
}

// OnJoin registers f, which is called whenever an unregistered claim, or an unregistered node of a NodePool, changes. f is
// called without locks held and must return at once.
func (c *Cluster) OnJoin(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.joins = append(c.joins, f)
}

// joins reports whether o is a claim, or a node of a NodePool, that is not registered yet.
func joins(o client.Object) bool {
	switch o := o.(type) {
	case *corev1.Node:
		return o.Labels[apiv1.NodeRegisteredLabelKey] == "" && o.Labels[apiv1.NodePoolLabelKey] != ""
	case *apiv1.NodeClaim:
		return !condition.IsTrue(o, apiv1.ConditionTypeRegistered)
	}
	return false
}

// note updates the times of pending pods. It reports whether the change of o may be work for provisioning. The caller holds mu.
func (c *Cluster) note(o client.Object) bool {
	switch o := o.(type) {
	case *corev1.Pod:
		return c.notePod(o)
	case *apiv1.NodePool:
		return true
	case *corev1.Node:
		return o.DeletionTimestamp != nil
	case *apiv1.NodeClaim:
		return o.DeletionTimestamp != nil
	case *corev1.PersistentVolumeClaim, *corev1.PersistentVolume, *storagev1.StorageClass:
		return len(c.waiting) > 0 // a pod may have been refused because of its PersistentVolumeClaim
	}
	return false
}

func (c *Cluster) notePod(o *corev1.Pod) bool {
	p := model.Pod{Object: o}
	if !p.Provisionable() {
		// A pod that was pending and is now bound needs no promise any more. A pod that was never pending keeps its promise: its
		// node is being removed, and the promise names the node to which it will move.
		if _, waited := c.waiting[o.UID]; waited && p.Bound() {
			delete(c.promises, o.Namespace+"/"+o.Name)
		}
		delete(c.waiting, o.UID)
		return false
	}
	if _, known := c.waiting[o.UID]; !known {
		c.waiting[o.UID] = c.clock.Now()
		if since, ok := c.backlog.seen[o.UID]; ok {
			c.waiting[o.UID] = since // batch windows are measured from when pods appeared, not from when they were refused
		}
	}
	return true
}

// call calls the functions of OnWork if work is true. It calls those of OnJoin if joins(o) is true.
func (c *Cluster) call(work bool, o client.Object) {
	c.mu.Lock()
	wake, joined := c.wake, c.joins
	c.mu.Unlock()
	if work {
		for _, f := range wake {
			f()
		}
	}
	if joins(o) {
		for _, f := range joined {
			f()
		}
	}
}

// WaitingSince returns when the pending pod was first observed, zero if it is not pending.
func (c *Cluster) WaitingSince(p *model.Pod) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting[p.UID]
}

// A promise records the node or claim onto which a pod was planned.
type promise struct {
	node  string
	until time.Time
	// waits is true from when the node was first observed uninitialized until it is initialized.
	waits bool
}

// bind is the minimum time that a promise is kept after the initialization of its node, so that kube-scheduler can bind the pod.
const bind = 20 * time.Second

// Promise records that the pods were planned onto the named node or claim. The promises are valid until `bind` after the
// node was observed to become initialized, and at least until the given time. They end earlier if neither the node nor the
// claim exists.
func (c *Cluster) Promise(node string, pods []*model.Pod, until time.Time) {
	c.mu.Lock()
	c.edits.Add(1)
	for _, p := range pods {
		c.promises[p.Key] = promise{node: node, until: until}
	}
	told := c.told
	c.mu.Unlock()
	for _, f := range told {
		f()
	}
}

// Launching records that claims are being created, until ended is called. In this time a node may join before the promises of its
// pods are recorded.
func (c *Cluster) Launching() (ended func()) {
	c.launching.Add(1)
	return func() { c.launching.Add(-1) }
}

// Launches reports whether claims are being created.
func (c *Cluster) Launches() bool { return c.launching.Load() > 0 }

// Break records that the pods have no promised node until the next Promise, even if they are nominated.
func (c *Cluster) Break(pods []*model.Pod) { c.Promise("", pods, time.Time{}) }

// OnPromise registers f, which is called whenever promises change. f is called without locks held and must return at
// once.
func (c *Cluster) OnPromise(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.told = append(c.told, f)
}

// PodsOf returns the pods that are planned onto the claim and still need a node, in key order.
func (c *Cluster) PodsOf(claim string) []*corev1.Pod {
	s := c.Snapshot()
	var keys []string
	for key, node := range s.Targets {
		if p, there := s.Pods.Get(key); node == claim && there && !p.Virtual() && awaitsNode(p.Object) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	pods := make([]*corev1.Pod, len(keys))
	for i, key := range keys {
		p, _ := s.Pods.Get(key)
		pods[i] = p.Object
	}
	return pods
}

// awaitsNode reports whether the pod is neither bound, nor completed, nor being deleted.
func awaitsNode(pod *corev1.Pod) bool {
	ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
	return pod.Spec.NodeName == "" && !ended && pod.DeletionTimestamp.IsZero()
}

// kept returns the promised node by pod key, and removes promises that are not valid any more. A promise is valid while its
// node exists, until the node is initialized, and then until the promise expires. A promise without a node (see Break) stays
// valid. The caller holds mu.
func (c *Cluster) kept(now time.Time) map[string]string {
	out := make(map[string]string, len(c.promises))
	for key, p := range c.promises {
		if p.node == "" {
			out[key] = ""
			continue
		}
		n, ok := c.snapshot.NodeByName(p.node)
		if ok && n.Initialized == p.waits {
			if p.waits && p.until.Before(now.Add(bind)) {
				p.until = now.Add(bind)
			}
			p.waits = !n.Initialized
			c.promises[key] = p
		}
		if !ok || (n.Initialized && now.After(p.until)) {
			delete(c.promises, key)
			continue
		}
		out[key] = p.node
	}
	return out
}
