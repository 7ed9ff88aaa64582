package sim

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/sim/cluster"
	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// demandRules are about pods without a node, and nodes without a pod.
type demandRules struct {
	*judge
	// waits are the pods that needed a node within the last hour, by UID. A pod needs a node if it is not bound, or if its
	// node is leaving.
	waits map[types.UID]wait
	// ended are the pods that began to terminate, or were deleted, within the last hour, by UID. Pods of DaemonSets are left out.
	ended map[types.UID]wait
	// seen has the NodeClaims that a replica planned whose watch of pods was behind, by UID, and up to when it had seen all pods.
	seen map[types.UID]time.Time
}

// A wait is a pod that needs a node.
type wait struct {
	until time.Time // when the pod was last seen without a node, or on a leaving node
	cpu   int64     // the cpu requests of the pod in millicores
}

func newDemandRules(j *judge) demandRules {
	return demandRules{judge: j, waits: map[types.UID]wait{}, ended: map[types.UID]wait{}, seen: map[types.UID]time.Time{}}
}

// expectPending is the annotation of pods that no node can run.
const expectPending = "sim/expect-pending"

// look checks that all pods run when recovery has passed since the last event, and that nodes without pods and replacements
// that nothing needs are deleted.
func (d *demandRules) look() {
	d.noteWaits()
	joining := d.joining()
	for _, p := range kubeapi.List[*corev1.Pod](d.world.platform.server) {
		if d.runs(p) {
			continue
		}
		if d.lasts(rulePodsRun, p.Namespace+"/"+p.Name+" "+string(p.UID)) > recovery && !joining {
			d.violate(rulePodsRun, "pod %s/%s is %s on node %q, deletion %v: %s", p.Namespace, p.Name, p.Status.Phase, p.Spec.NodeName, p.DeletionTimestamp, scheduled(p))
		}
	}
	for _, c := range kubeapi.List[*apiv1.NodeClaim](d.world.platform.server) {
		if d.leftOver(c) && d.lasts(ruleLeft, c.Name) > recovery {
			d.violate(ruleLeft, "claim %s replaces %s, which stay, and its node %q has had no pods for %s", c.Name,
				c.Annotations[apiv1.ReplacesAnnotationKey], c.Status.NodeName, recovery)
		}
		if d.idle(c) && d.lasts(ruleIdle, c.Name) > recovery && d.undisturbed() > settled {
			d.violate(ruleIdle, "node %s of claim %s has had no pods for %s, and its pool consolidates empty nodes", c.Status.NodeName, c.Name, recovery)
		}
	}
}

// joining reports whether the node of a claim may still be initialized, or was initialized within the time periodicBound. The pods that are planned
// onto the node wait until then. If the node never joins, they wait until the operator gives it up, after the time registers.
func (d *demandRules) joining() bool {
	return slices.ContainsFunc(kubeapi.List[*apiv1.NodeClaim](d.world.platform.server), func(c *apiv1.NodeClaim) bool {
		done := condition.Get(c, apiv1.ConditionTypeInitialized)
		if done == nil || done.Status != metav1.ConditionTrue {
			return time.Since(c.CreationTimestamp.Time) < registers+recovery
		}
		return time.Since(done.LastTransitionTime.Time) < periodicBound
	})
}

// runs reports whether a pod runs, has ended, or cannot run.
func (d *demandRules) runs(p *corev1.Pod) bool {
	switch {
	case p.Annotations[expectPending] != "", strings.Contains(scheduled(p), invalidScore), ended(p):
		return true
	case staysOnDeadNode(p) && p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodPending && d.world.platform.dark[cluster.TargetNode(p)]:
		return true // The kubelet has stopped, so the pod waits for the end of the node, which budgets may delay.
	case ofDaemonSet(p) && p.Spec.NodeName == "":
		// Other pods may have taken its room on its node, for example before a startup taint was removed. No other node helps.
		return strings.Contains(scheduled(p), "Insufficient") || strings.Contains(scheduled(p), "Too many pods")
	case p.Spec.NodeName != "" && p.DeletionTimestamp == nil:
		return p.Status.Phase != corev1.PodPending
	case p.DeletionTimestamp != nil && d.world.platform.dark[p.Spec.NodeName]:
		// The pod's kubelet has stopped, so the pod ends only when its node is removed. A drain waits for pods within their grace period.
		return !d.drains.leaving(p.Spec.NodeName) || d.graceLasts(p.Spec.NodeName)
	}
	return false
}

// staysOnDeadNode reports whether a pod is not evicted when its node is unreachable: it belongs to a DaemonSet, or tolerates all taints.
func staysOnDeadNode(p *corev1.Pod) bool {
	return ofDaemonSet(p) || slices.ContainsFunc(p.Spec.Tolerations, func(t corev1.Toleration) bool {
		return t.Key == "" && t.Operator == corev1.TolerationOpExists && t.TolerationSeconds == nil
	})
}

// graceLasts reports whether a pod of a node is being deleted and its grace period has not passed.
func (d *demandRules) graceLasts(node string) bool {
	return slices.ContainsFunc(kubeapi.List[*corev1.Pod](d.world.platform.server), func(p *corev1.Pod) bool {
		return p.Spec.NodeName == node && !ended(p) && p.DeletionTimestamp != nil && p.DeletionTimestamp.After(time.Now())
	})
}

// invalidScore is a part of the message of kube-scheduler about a pod that it cannot schedule because the requests of another pod, which is
// on one of the nodes, are beyond the range of its scores.
const invalidScore = "returns an invalid score"

// scheduled returns the message of the condition PodScheduled, empty if the pod has none.
func scheduled(p *corev1.Pod) string {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodScheduled {
			return c.Message
		}
	}
	return ""
}

// idle reports whether the node of a claim must be deleted: it has no pods, and the settings and budgets of its pool allow
// its deletion.
func (d *demandRules) idle(c *apiv1.NodeClaim) bool {
	pool, ok := kubeapi.Find[*apiv1.NodePool](d.world.platform.server, "", c.Labels[apiv1.NodePoolLabelKey])
	if !ok || pool.Spec.Replicas != nil || pool.Spec.Disruption.ConsolidateAfter.Duration == nil || *pool.Spec.Disruption.ConsolidateAfter.Duration > recovery {
		return false
	}
	if slices.ContainsFunc(pool.Spec.Disruption.Budgets, func(b apiv1.Budget) bool { return b.Nodes == "0" }) {
		return false
	}
	if _, ok := kubeapi.Find[*corev1.Node](d.world.platform.server, "", c.Status.NodeName); !ok {
		return false
	}
	for _, o := range kubeapi.List[*corev1.Node](d.world.platform.server) {
		if o.Labels[apiv1.NodePoolLabelKey] == pool.Name && (!nodeReady(o) || d.world.platform.dark[o.Name]) {
			return false // an unready node counts against the budgets
		}
	}
	for _, o := range kubeapi.List[*apiv1.NodeClaim](d.world.platform.server) {
		if o.Labels[apiv1.NodePoolLabelKey] == pool.Name && o.DeletionTimestamp != nil {
			return false // and so does a node that is being drained, which an expired node with karpenter.sh/do-not-disrupt is for good
		}
		if slices.Contains(strings.Split(c.Annotations[apiv1.ReplacesAnnotationKey], ","), o.Name) {
			return false // the node waits for the pods of one that is being drained, perhaps of another NodePool
		}
	}
	// A CapacityBuffer keeps free capacity, also on nodes without pods.
	return d.supply.planned() == 0 && d.empty(c.Status.NodeName)
}

// empty reports whether a node has no pods but those of DaemonSets.
func (d *demandRules) empty(node string) bool {
	return !slices.ContainsFunc(kubeapi.List[*corev1.Pod](d.world.platform.server), func(p *corev1.Pod) bool {
		return p.Spec.NodeName == node && !ofDaemonSet(p)
	})
}

// leftOver reports whether a claim is a replacement without pods that nothing needs: a claim that it was to replace exists,
// and none of these claims is being deleted or has it as its replacement any more.
func (d *demandRules) leftOver(c *apiv1.NodeClaim) bool {
	if c.DeletionTimestamp != nil || c.Annotations[apiv1.ReplacesAnnotationKey] == "" || c.Status.NodeName != "" && !d.empty(c.Status.NodeName) {
		return false
	}
	stay := false
	for _, name := range strings.Split(c.Annotations[apiv1.ReplacesAnnotationKey], ",") {
		o, ok := kubeapi.Find[*apiv1.NodeClaim](d.world.platform.server, "", name)
		switch {
		case !ok:
		case o.DeletionTimestamp != nil, slices.Contains(strings.Split(o.Annotations[apiv1.ReplacedByAnnotationKey], ","), c.Name):
			return false
		default:
			stay = true
		}
	}
	return stay
}

// noteWaits updates d.waits: it adds the pods that need a node now, and drops entries older than an hour.
func (d *demandRules) noteWaits() {
	now := time.Now()
	leaving := map[string]bool{}
	for _, p := range kubeapi.List[*corev1.Pod](d.world.platform.server) {
		node := p.Spec.NodeName
		if _, ok := leaving[node]; !ok {
			leaving[node] = d.needsNode(node)
		}
		if leaving[node] {
			d.noteWait(p)
		}
	}
	for _, m := range []map[types.UID]wait{d.waits, d.ended} {
		for uid, w := range m {
			if now.Sub(w.until) > time.Hour {
				delete(m, uid)
			}
		}
	}
}

// needsNode reports whether pods on a node need another one: the node is leaving, or the pods are not bound yet and node is empty.
func (d *demandRules) needsNode(node string) bool {
	return node == "" || d.drains.leaving(node) || d.moves.marked[node] != ""
}

// noteWait notes a pod that is not bound, or whose node is leaving. A DaemonSet's pod needs no other node.
func (d *demandRules) noteWait(p *corev1.Pod) {
	if p.Spec.NodeName == "" || !ofDaemonSet(p) {
		d.waits[p.UID] = wait{until: time.Now(), cpu: cpuOf(&p.Spec)}
	}
}

// noteEnds notes the pods that need a node until this write. Without it, a pod that is bound or deleted between two calls of
// noteWaits would not count, although the operator has planned a node for it.
func (d *demandRules) noteEnds(before, after client.Object) {
	switch o := before.(type) {
	case *corev1.Pod:
		now, ok := after.(*corev1.Pod)
		if d.needsNode(o.Spec.NodeName) && (!ok || now.Spec.NodeName != o.Spec.NodeName) {
			d.noteWait(o)
		}
		if o.DeletionTimestamp == nil && (!ok || now.DeletionTimestamp != nil) && !ofDaemonSet(o) {
			d.ended[o.UID] = wait{until: time.Now(), cpu: cpuOf(&o.Spec)}
		}
	case *corev1.Node:
		if now, ok := after.(*corev1.Node); hasTaint(o, apiv1.DisruptedTaintKey) && ok && !hasTaint(now, apiv1.DisruptedTaintKey) {
			for _, p := range kubeapi.List[*corev1.Pod](d.world.platform.server) {
				if p.Spec.NodeName == o.Name {
					d.noteWait(p)
				}
			}
		}
	}
}

// cpuOf returns how much cpu a pod requests, in millicores: for the pod as a whole, or else for its containers and sidecars, or for one of
// its other init containers if that is more.
func cpuOf(spec *corev1.PodSpec) int64 {
	if spec.Resources != nil && !spec.Resources.Requests.Cpu().IsZero() {
		return spec.Resources.Requests.Cpu().MilliValue()
	}
	sidecars, first, sum := int64(0), int64(0), int64(0)
	for _, c := range spec.InitContainers {
		cpu := c.Resources.Requests.Cpu().MilliValue()
		first = max(first, plus(sidecars, cpu))
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			sidecars = plus(sidecars, cpu)
		}
	}
	for _, c := range spec.Containers {
		sum = plus(sum, c.Resources.Requests.Cpu().MilliValue())
	}
	return max(first, plus(sum, sidecars))
}

// plus returns the sum of two numbers that are not negative, at most the largest int64. Some pods request that much.
func plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// written checks, when a claim is created, that there are pods for all nodes that are on their way.
func (d *demandRules) written(before, after client.Object) {
	d.noteEnds(before, after)
	c, ok := after.(*apiv1.NodeClaim)
	if !ok || before != nil || d.writer() == "" || c.Annotations[apiv1.ReplacesAnnotationKey] != "" {
		return
	}
	if d.static(c) {
		return
	}
	d.noteWaits()
	oldest, on, ending := c.CreationTimestamp.Time, map[string]int64{}, map[string]bool{}
	var planned []types.UID
	for _, n := range kubeapi.List[*corev1.Node](d.world.platform.server) {
		ending[n.Spec.ProviderID] = n.DeletionTimestamp != nil
	}
	for _, o := range kubeapi.List[*apiv1.NodeClaim](d.world.platform.server) {
		if o.DeletionTimestamp != nil || o.Status.ProviderID != "" && ending[o.Status.ProviderID] {
			continue
		}
		if o.Annotations[apiv1.ReplacesAnnotationKey] != "" || condition.IsTrue(o, apiv1.ConditionTypeRegistered) || d.static(o) {
			continue
		}
		if o.CreationTimestamp.Time.Before(oldest) {
			oldest = o.CreationTimestamp.Time
		}
		on[o.Name], planned = d.purpose(o), append(planned, o.UID)
	}
	known, behind := d.knownSince(c, oldest, planned)
	claimed, wanted := int64(0), d.supply.planned()
	for _, cpu := range on {
		claimed += cpu
	}
	for _, w := range d.waits {
		if !w.until.Before(known) {
			wanted = plus(wanted, w.cpu)
		}
	}
	for uid, w := range d.ended {
		if waits, ok := d.waits[uid]; ok && !waits.until.Before(known) {
			continue // counted already
		}
		if behind && !w.until.Before(known) { // the pod was still in a replica's cache, and its node may be leaving
			wanted = plus(wanted, w.cpu)
		}
	}
	if claimed > wanted {
		d.violate(ruleDemand, "%d claims without a node are for pods with %dm of cpu, claim %s the newest, and pods with %dm have waited since the oldest of them: %s",
			len(on), claimed, c.Name, wanted, fmt.Sprint(slices.Sorted(maps.Keys(on))))
	}
}

// knownSince returns up to when the replicas that planned the claims with the UIDs planned had seen all pods. c is the newest claim, and
// oldest the creation of the oldest one. behind is true if the watch of pods of one of the replicas was late.
func (d *demandRules) knownSince(c *apiv1.NodeClaim, oldest time.Time, planned []types.UID) (known time.Time, behind bool) {
	if r := d.world.processes.replicas[d.writer()]; r != nil {
		if since, late := r.link.behind("pods"); late {
			d.seen[c.UID] = since.Add(-lookEvery)
		}
	}
	known = oldest.Add(-lookEvery)
	for _, uid := range planned {
		if since, late := d.seen[uid]; late {
			behind = true
			if since.Before(known) {
				known = since
			}
		}
	}
	return known, behind
}

// static reports whether the NodePool of a claim is static or does not exist.
func (d *demandRules) static(c *apiv1.NodeClaim) bool {
	pool, ok := kubeapi.Find[*apiv1.NodePool](d.world.platform.server, "", c.Labels[apiv1.NodePoolLabelKey])
	return !ok || pool.Spec.Replicas != nil
}

// purpose returns how much cpu the pods request that the node of a claim was planned for, in millicores. It is zero if kube-scheduler has
// bound pods to the node. Pods that tolerate all taints are bound to nodes that have not registered, also if other nodes were planned
// for them, so that they would count twice. The pods that this node was planned for may then not fit any more.
func (d *demandRules) purpose(c *apiv1.NodeClaim) int64 {
	for _, n := range kubeapi.List[*corev1.Node](d.world.platform.server) {
		if c.Status.ProviderID != "" && n.Spec.ProviderID == c.Status.ProviderID && !d.empty(n.Name) {
			return 0
		}
	}
	return c.Spec.Resources.Requests.Cpu().MilliValue() - d.daemons()
}

func ofDaemonSet(p *corev1.Pod) bool {
	owner := metav1.GetControllerOf(p)
	return owner != nil && owner.Kind == "DaemonSet"
}

// daemons returns how much all DaemonSets request on one node at most, in millicores.
func (d *demandRules) daemons() (sum int64) {
	for _, s := range kubeapi.List[*appsv1.DaemonSet](d.world.platform.server) {
		sum += cpuOf(&s.Spec.Template.Spec)
	}
	return sum
}
