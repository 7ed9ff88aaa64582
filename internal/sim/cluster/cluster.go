package cluster

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// Options sets up a Cluster. The zero value is ready to use.
type Options struct {
	// Seed determines all times that vary.
	Seed uint64
	// VolumesPerNode is how many volumes of a driver can be attached to a node. Default 25.
	VolumesPerNode int32
	// LocalDisks returns the number of local disks of an instance type, which count as attached volumes. Default none.
	LocalDisks func(instanceType string) int
	// Latency is the longest time between a change of an object and the reaction of an actor to it, which is drawn for each
	// change. Default 0: actors react in the Step after the change.
	Latency time.Duration
}

// A Cluster is the actors of one API server.
type Cluster struct {
	Kubelets  *Kubelets
	Lifecycle *NodeLifecycle
	Workloads *Workloads
	Garbage   *Garbage
	Volumes   *Volumes
	Load      *Load

	server  *kubeapi.Server
	seed    uint64
	latency time.Duration
	// objects are all objects, and uids are the UIDs of all objects. pods has the pods of each node. owned has, for the UID of
	// each owner, the objects with that owner.
	objects map[ref]client.Object
	uids    map[types.UID]bool
	pods    map[string]map[ref]bool
	owned   map[types.UID]map[ref]bool
	// attachments has the VolumeAttachments of each node. claiming has the pods that use each PersistentVolumeClaim.
	attachments map[string]map[ref]bool
	claiming    map[ref]map[ref]bool
}

// New makes the actors of an API server.
func New(server *kubeapi.Server, o Options) *Cluster {
	if o.VolumesPerNode == 0 {
		o.VolumesPerNode = 25
	}
	if o.LocalDisks == nil {
		o.LocalDisks = func(string) int { return 0 }
	}
	c := &Cluster{
		server: server, seed: o.Seed, latency: o.Latency, objects: map[ref]client.Object{}, uids: map[types.UID]bool{}, pods: map[string]map[ref]bool{},
		owned: map[types.UID]map[ref]bool{}, attachments: map[string]map[ref]bool{}, claiming: map[ref]map[ref]bool{},
	}
	c.Kubelets = newKubelets(c)
	c.Lifecycle = newNodeLifecycle(c)
	c.Workloads = newWorkloads(c)
	c.Garbage = newGarbage(c)
	c.Volumes = newVolumes(c, o.VolumesPerNode, o.LocalDisks)
	c.Load = newLoad(c)
	server.Each(func(o client.Object) { c.observe(nil, o) })
	server.OnWrite(c.observe)
	return c
}

// Actors returns all actors in the order in which they should be stepped.
func (c *Cluster) Actors() []*Actor {
	return []*Actor{c.Kubelets.Actor, c.Lifecycle.Actor, c.Load.Actor, c.Workloads.Actor, c.Garbage.Actor, c.Volumes.Actor}
}

// observe updates the indexes after a write, and marks the changed objects for the actors.
func (c *Cluster) observe(before, after client.Object) {
	o := after
	if o == nil {
		o = before
	}
	r := ref{kindOf(o), o.GetNamespace(), o.GetName()}
	if before != nil {
		c.index(r, before, false)
	}
	if after != nil {
		c.index(r, after, true)
	} else {
		delete(c.Kubelets.pods, o.GetUID())
		delete(c.Lifecycle.since, o.GetUID())
	}
	for _, a := range c.Actors() {
		a.changed(r.kind, r.namespace, r.name)
	}
	c.Workloads.observe(before, after)
	c.Garbage.observe(r, before, after)
	c.Volumes.observe(before, after)
	if node, ok := o.(*corev1.Node); ok {
		c.nodeChanged(before, node)
	}
}

// nodeChanged marks the pods of a node for the actors if the change of the node affects them.
func (c *Cluster) nodeChanged(before client.Object, node *corev1.Node) {
	old, _ := before.(*corev1.Node)
	if old != nil && ready(old) == ready(node) && slices.EqualFunc(old.Spec.Taints, node.Spec.Taints, sameTaint) && old != node &&
		old.Annotations[kwokNode] == node.Annotations[kwokNode] {
		return
	}
	for r := range c.pods[node.Name] {
		c.Kubelets.changed(r.kind, r.namespace, r.name)
		c.Lifecycle.changed(r.kind, r.namespace, r.name)
	}
}

func sameTaint(a, b corev1.Taint) bool { return a.MatchTaint(&b) && a.Value == b.Value }

// kindOf returns the kind of an object of the server, which sets the kind in every object.
func kindOf(o client.Object) string { return o.GetObjectKind().GroupVersionKind().Kind }

// index adds or removes an object.
func (c *Cluster) index(r ref, o client.Object, add bool) {
	if add {
		c.objects[r], c.uids[o.GetUID()] = o, true
	} else {
		delete(c.objects, r)
		delete(c.uids, o.GetUID())
	}
	switch o := o.(type) {
	case *corev1.Pod:
		put(c.pods, o.Spec.NodeName, r, add)
		for _, name := range claimNames(o) {
			put(c.claiming, ref{"PersistentVolumeClaim", o.Namespace, name}, r, add)
		}
	case *storagev1.VolumeAttachment:
		put(c.attachments, o.Spec.NodeName, r, add)
	}
	for _, owner := range o.GetOwnerReferences() {
		put(c.owned, owner.UID, r, add)
	}
}

func put[K comparable](m map[K]map[ref]bool, k K, r ref, add bool) {
	switch {
	case add && m[k] == nil:
		m[k] = map[ref]bool{r: true}
	case add:
		m[k][r] = true
	default:
		delete(m[k], r)
		if len(m[k]) == 0 {
			delete(m, k)
		}
	}
}

// sortedRefs returns the names in a set, in order.
func sortedRefs(set map[ref]bool) []ref {
	out := make([]ref, 0, len(set))
	for r := range set {
		out = append(out, r)
	}
	slices.SortFunc(out, ref.compare)
	return out
}

// podsOn returns the pods that are bound to a node, by namespace and name. The empty name gives pods without a node.
func (c *Cluster) podsOn(node string) []*corev1.Pod {
	var out []*corev1.Pod
	for _, r := range sortedRefs(c.pods[node]) {
		out = append(out, c.objects[r].(*corev1.Pod))
	}
	return out
}

// children returns the objects of type T whose controller has the UID owner, by namespace and name.
func children[T client.Object](c *Cluster, owner types.UID) []T {
	var out []T
	for _, r := range sortedRefs(c.owned[owner]) {
		if o, ok := c.objects[r].(T); ok {
			if ref := metav1.GetControllerOf(o); ref != nil && ref.UID == owner {
				out = append(out, o)
			}
		}
	}
	return out
}

// seconds returns a time in whole seconds, which is the resolution of times in objects.
func seconds(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }

// active reports whether a pod runs or will run.
func active(pod *corev1.Pod) bool { return !terminal(pod) && pod.DeletionTimestamp == nil }

// terminal reports whether the containers of a pod have ended for good.
func terminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// podReady reports whether the condition Ready of a pod is True, and when it last changed, the zero time if the pod does
// not have it.
func podReady(pod *corev1.Pod) (bool, time.Time) {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue, c.LastTransitionTime.Time
		}
	}
	return false, time.Time{}
}

// setPodCondition sets a condition of a pod, and its time if its status changes.
func setPodCondition(pod *corev1.Pod, kind corev1.PodConditionType, value bool, reason string, now time.Time) {
	status := corev1.ConditionFalse
	if value {
		status = corev1.ConditionTrue
	}
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == kind {
			if c.Status != status {
				c.Status, c.LastTransitionTime = status, seconds(now)
			}
			c.Reason = reason
			return
		}
	}
	pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{
		Type: kind, Status: status, Reason: reason, LastTransitionTime: seconds(now),
	})
}

// nodeCondition returns a condition of a node, nil if it has none.
func nodeCondition(node *corev1.Node, kind corev1.NodeConditionType) *corev1.NodeCondition {
	for i := range node.Status.Conditions {
		if node.Status.Conditions[i].Type == kind {
			return &node.Status.Conditions[i]
		}
	}
	return nil
}

// setNodeCondition sets a condition of a node, and its time if its status changes. It reports whether anything changed.
func setNodeCondition(node *corev1.Node, kind corev1.NodeConditionType, status corev1.ConditionStatus, reason string, now time.Time) bool {
	c := nodeCondition(node, kind)
	if c == nil {
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{Type: kind})
		c = &node.Status.Conditions[len(node.Status.Conditions)-1]
	}
	if c.Status == status && c.Reason == reason {
		return false
	}
	if c.Status != status {
		c.LastTransitionTime = seconds(now)
	}
	c.Status, c.Reason, c.Message, c.LastHeartbeatTime = status, reason, "", seconds(now)
	return true
}

func ready(node *corev1.Node) bool {
	c := nodeCondition(node, corev1.NodeReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

// duration returns the duration in an annotation, and false if the annotation is missing or invalid.
func duration(o client.Object, annotation string) (time.Duration, bool) {
	text := strings.TrimSpace(o.GetAnnotations()[annotation])
	d, err := time.ParseDuration(text)
	return d, text != "" && err == nil
}
