package sim

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/awsemu/control"
	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// drainRules are about pods on nodes that are being deleted.
type drainRules struct {
	*judge
	// asked has the UIDs of the pods whose eviction was requested.
	asked map[types.UID]bool
}

// evicted returns how many pods whose eviction was requested are gone or terminate.
func (d *drainRules) evicted() int {
	n := len(d.asked)
	for _, p := range kubeapi.List[*corev1.Pod](d.world.platform.server) {
		if d.asked[p.UID] && p.DeletionTimestamp == nil {
			n--
		}
	}
	return n
}

// call checks an eviction or a deletion of a pod before it is carried out.
func (d *drainRules) call(who string, q *kubeapi.Request, parts []string) {
	evicts, deletes := len(parts) == 7 && parts[6] == "eviction", q.Method == http.MethodDelete
	pod, ok := kubeapi.Find[*corev1.Pod](d.world.platform.server, parts[3], parts[5])
	if !ok || pod.Spec.NodeName == "" || !evicts && !deletes || !meant(pod.UID, evicts, q.Body) {
		return
	}
	node := pod.Spec.NodeName
	if evicts {
		d.asked[pod.UID] = true
	}
	switch {
	case !d.leaving(node):
		d.violate(ruleEviction, "%s evicts or deletes pod %s, and its node %s is not being deleted", who, pod.Name, node)
	case d.due(pod):
	case deletes && pod.DeletionTimestamp == nil && !d.lost(node):
		d.violate(ruleEviction, "%s deletes pod %s, which bypasses PodDisruptionBudgets, and its node %s has no deadline that is near", who, pod.Name, node)
	case evicts && !d.reboots(node) && !d.cordoned(node):
		d.violate(ruleEviction, "%s evicts pod %s, and its node %s takes new pods or traffic of load balancers", who, pod.Name, node)
	case evicts && mustNotBeDisrupted(pod):
		d.violate(ruleEviction, "%s evicts pod %s of node %s, which has the annotation %s", who, pod.Name, node, apiv1.DoNotDisruptAnnotationKey)
	case evicts:
		if first := d.before(who, pod); first != "" {
			d.violate(ruleEviction, "%s evicts pod %s of node %s, and pod %s must leave before", who, pod.Name, node, first)
		}
	}
}

// cordoned reports whether a node has the taint and the label of nodes that are drained.
func (d *drainRules) cordoned(node string) bool {
	n, ok := kubeapi.Find[*corev1.Node](d.world.platform.server, "", node)
	return ok && hasTaint(n, apiv1.DisruptedTaintKey) && n.Labels[corev1.LabelNodeExcludeBalancers] != ""
}

// before returns the name of a pod that must leave the node before a pod is evicted, empty if there is none. Critical pods leave last, and
// pods of DaemonSets after the others.
func (d *drainRules) before(who string, pod *corev1.Pod) string {
	for _, p := range kubeapi.List[*corev1.Pod](d.world.platform.server) {
		if p.Spec.NodeName != pod.Spec.NodeName || turnOf(p) >= turnOf(pod) || ended(p) || stuck(p) || toleratesDisruption(p) {
			continue
		}
		if d.hasSeen(who, boundAt(p), "pods") {
			return p.Name
		}
	}
	return ""
}

// turnOf returns when a drain evicts a pod. Pods with a lower number leave first.
func turnOf(p *corev1.Pod) (turn int) {
	if name := p.Spec.PriorityClassName; name == "system-cluster-critical" || name == "system-node-critical" {
		turn = 2
	}
	if ofDaemonSet(p) {
		turn++
	}
	return turn
}

// meant reports whether a request is for the pod with the uid, and not for an earlier one of its name.
func meant(uid types.UID, evicts bool, body []byte) bool {
	var options metav1.DeleteOptions
	if evicts {
		var e policyv1.Eviction
		if json.Unmarshal(body, &e) == nil && e.DeleteOptions != nil {
			options = *e.DeleteOptions
		}
	} else if len(body) > 0 && json.Unmarshal(body, &options) != nil {
		return true
	}
	return options.Preconditions == nil || options.Preconditions.UID == nil || *options.Preconditions.UID == uid
}

// leaving reports whether a node, or its claim, is being deleted or gone.
func (d *drainRules) leaving(node string) bool {
	n, ok := kubeapi.Find[*corev1.Node](d.world.platform.server, "", node)
	if !ok || n.DeletionTimestamp != nil {
		return true
	}
	c := d.world.platform.claimOf(node)
	return c == nil || c.DeletionTimestamp != nil || d.reboots(node)
}

// reboots reports whether a node is drained because it will be rebooted.
func (d *drainRules) reboots(node string) bool {
	c := d.world.platform.claimOf(node)
	return c != nil && condition.IsTrue(c, apiv1.ConditionTypeRebooting)
}

// due reports whether the deadline of a pod's node is so near that the pod may be deleted by force.
func (d *drainRules) due(pod *corev1.Pod) bool {
	deadline, ok := d.deadline(pod.Spec.NodeName)
	grace := 30 * time.Second
	if s := pod.Spec.TerminationGracePeriodSeconds; s != nil {
		grace = time.Duration(min(*s, 1<<30)) * time.Second
	}
	return ok && !time.Now().Add(grace).Before(deadline.Add(-2*time.Second))
}

// deadline returns when a node's drain ends by force.
func (d *drainRules) deadline(node string) (time.Time, bool) {
	c := d.world.platform.claimOf(node)
	if c == nil {
		return time.Time{}, false
	}
	if t, err := time.Parse(time.RFC3339, c.Annotations[apiv1.NodeClaimTerminationTimestampAnnotationKey]); err == nil {
		return t, true
	}
	grace, began := c.Spec.TerminationGracePeriod, c.DeletionTimestamp
	if n, ok := kubeapi.Find[*corev1.Node](d.world.platform.server, "", node); ok && began == nil {
		began = n.DeletionTimestamp
	}
	if grace == nil || began == nil {
		return time.Time{}, false
	}
	return began.Add(grace.Duration), true
}

// lost reports whether a node's instance does not run any more.
func (d *drainRules) lost(node string) bool {
	for _, i := range d.world.account.emulator.Instances() {
		if i.Node == node && i.State == "running" {
			return false
		}
	}
	return true
}

// bound is how long ago a pod must have been bound to a node so that the operator must have seen it.
const bound = 20 * time.Second

// stuck reports whether a pod should have ended a minute ago. A drain does not wait for it any longer. The clock of the replica is inexact.
func stuck(p *corev1.Pod) bool {
	return p.DeletionTimestamp != nil && time.Since(p.DeletionTimestamp.Time) > time.Minute-inexact
}

// remaining returns the pods of a node that a drain must remove first.
func (d *drainRules) remaining(node string) (names []string) {
	for _, p := range kubeapi.List[*corev1.Pod](d.world.platform.server) {
		if p.Spec.NodeName != node || ended(p) || stuck(p) {
			continue
		}
		owner := metav1.GetControllerOf(p)
		stays := owner != nil && (owner.Kind == "DaemonSet" || owner.Kind == "Node") || toleratesDisruption(p)
		fresh := slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodScheduled && time.Since(c.LastTransitionTime.Time) < bound
		})
		if !stays && !fresh {
			names = append(names, p.Name)
		}
	}
	return names
}

// end checks that the node of an instance is drained before the instance is ended. A replica whose clock just jumped is not
// checked: to it, pods that are being deleted have been so for longer than a drain waits.
func (d *drainRules) end(who string, i control.Instance) {
	if d.wrongClock() {
		return
	}
	n, ok := kubeapi.Find[*corev1.Node](d.world.platform.server, "", i.Node)
	if !ok || i.State != "running" || d.world.platform.dark[n.Name] {
		return
	}
	if deadline, ok := d.deadline(n.Name); ok && !time.Now().Before(deadline.Add(-2*time.Second)) {
		return
	}
	if !nodeReady(n) && d.world.platform.claimOf(n.Name) == nil {
		return // see no-orphan-instance
	}
	if pods := d.remaining(n.Name); len(pods) > 0 {
		d.violate(ruleDrained, "%s ends instance %s of node %s, which has the pods %s and no deadline that passed", who, i.ID, n.Name, strings.Join(pods, ", "))
	}
	if volumes := d.attached(n.Name); len(volumes) > 0 {
		d.violate(ruleVolumes, "%s ends instance %s of node %s, to which the volumes %s are attached, and no deadline passed", who, i.ID, n.Name,
			strings.Join(volumes, ", "))
	}
}

// attached returns the volumes that are attached to a node. Those of pods that the drain leaves there, and those that were attached within
// the time bound, do not count.
func (d *drainRules) attached(node string) (names []string) {
	stay := map[string]bool{}
	for _, p := range kubeapi.List[*corev1.Pod](d.world.platform.server) {
		if p.Spec.NodeName == node && !ended(p) {
			for _, pv := range d.world.platform.cluster.Volumes.Of(p) {
				stay[pv.Name] = true
			}
		}
	}
	for _, a := range kubeapi.List[*storagev1.VolumeAttachment](d.world.platform.server) {
		if pv := a.Spec.Source.PersistentVolumeName; a.Spec.NodeName == node && pv != nil && !stay[*pv] && time.Since(a.CreationTimestamp.Time) > bound {
			names = append(names, *pv)
		}
	}
	return names
}

// look checks that nodes end at their deadlines.
func (d *drainRules) look() {
	for _, c := range kubeapi.List[*apiv1.NodeClaim](d.world.platform.server) {
		if c.DeletionTimestamp == nil || c.Status.NodeName == "" {
			continue
		}
		deadline, ok := d.deadline(c.Status.NodeName)
		if ok && min(time.Since(deadline), d.undisturbed()) > periodicBound && !d.lost(c.Status.NodeName) {
			d.violate(ruleDeadline, "the instance of claim %s runs %s after the deadline of its node", c.Name, time.Since(deadline).Round(time.Second))
		}
	}
}

func nodeReady(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
