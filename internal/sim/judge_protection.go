package sim

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// protectionRules are about what protects pods and nodes from voluntary disruption: annotations, PodDisruptionBudgets, consolidateAfter,
// and that replacements come first.
type protectionRules struct {
	*judge
	// events has the times of the pod events of each node within the last hour, in order: a pod was bound to it, ended, or began to
	// terminate. Pods of DaemonSets are left out.
	events map[string][]time.Time
	// exhausted has the time since which each PodDisruptionBudget has allowed no eviction, by UID.
	exhausted map[types.UID]time.Time
	// edited is when the spec of a NodePool was last changed.
	edited map[string]time.Time
	// held is when the annotation do-not-disrupt of a pod or node was last set, by UID.
	held map[types.UID]time.Time
}

func newProtectionRules(j *judge) protectionRules {
	return protectionRules{
		judge: j, events: map[string][]time.Time{}, exhausted: map[types.UID]time.Time{}, edited: map[string]time.Time{},
		held: map[types.UID]time.Time{},
	}
}

// written notes changes that protect nodes, or end their protection.
func (p *protectionRules) written(before, after client.Object) {
	p.noteHeld(before, after)
	switch o := after.(type) {
	case *corev1.Pod:
		was, _ := before.(*corev1.Pod)
		if o.Spec.NodeName != "" && !ofDaemonSet(o) && (was == nil || stageOf(was) != stageOf(o)) {
			recent := slices.DeleteFunc(p.events[o.Spec.NodeName], func(t time.Time) bool { return time.Since(t) > time.Hour })
			p.events[o.Spec.NodeName] = append(recent, time.Now())
		}
	case *policyv1.PodDisruptionBudget:
		if o.Status.DisruptionsAllowed > 0 {
			delete(p.exhausted, o.UID)
		} else if p.exhausted[o.UID].IsZero() {
			p.exhausted[o.UID] = time.Now()
		}
	case *apiv1.NodePool:
		if was, ok := before.(*apiv1.NodePool); !ok || was.Generation != o.Generation {
			p.edited[o.Name] = time.Now()
		}
	case nil:
		switch o := before.(type) {
		case *corev1.Node:
			delete(p.events, o.Name)
		case *policyv1.PodDisruptionBudget:
			delete(p.exhausted, o.UID)
		}
	}
}

// noteHeld notes when an object gets the annotation do-not-disrupt.
func (p *protectionRules) noteHeld(before, after client.Object) {
	if after == nil {
		delete(p.held, before.GetUID())
		return
	}
	was := ""
	if before != nil {
		was = before.GetAnnotations()[apiv1.DoNotDisruptAnnotationKey]
	}
	switch value := after.GetAnnotations()[apiv1.DoNotDisruptAnnotationKey]; value {
	case was:
	case "":
		delete(p.held, after.GetUID())
	default:
		p.held[after.GetUID()] = time.Now()
	}
}

// stageOf returns whether a pod is bound, has ended, and is terminating.
func stageOf(p *corev1.Pod) [3]bool {
	return [3]bool{p.Spec.NodeName != "", ended(p), p.DeletionTimestamp != nil}
}

// ended reports whether the containers of a pod have ended for good, so that it uses nothing any more.
func ended(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// mustHaveSeen is hasSeen for the replica that writes.
func (p *protectionRules) mustHaveSeen(at time.Time, kinds ...string) bool {
	return p.hasSeen(p.writer(), at, kinds...)
}

// hasSeen reports whether a replica must have seen a change that was made at a time to an object of one of the kinds, which are plural names.
func (j *judge) hasSeen(who string, at time.Time, kinds ...string) bool {
	r := j.world.processes.replicas[who]
	if r == nil || min(time.Since(at), j.unhampered()) <= bound {
		return false
	}
	return !slices.ContainsFunc(kinds, func(kind string) bool {
		since, behind := r.link.behind(kind)
		return behind && !at.Before(since)
	})
}

// marked checks a node that is marked for a voluntary disruption.
func (p *protectionRules) marked(n *corev1.Node, c *apiv1.NodeClaim, reason string) {
	if reason == "Unhealthy" {
		return // repair is bounded by budgets only
	}
	p.checkHeld(p.writer(), n, c, reason)
	if reason != "Drifted" || c.Spec.TerminationGracePeriod == nil {
		p.checkBudgets(n, reason)
	}
	if reason != "Drifted" {
		p.checkConsolidateAfter(n, c, reason)
	}
}

// checkHeld checks that neither a node nor one of its pods has had the annotation do-not-disrupt for some time, when a replica marks the
// node or deletes its claim. If the claim has a terminationGracePeriod, the pods of a drifted node do not count.
func (p *protectionRules) checkHeld(who string, n *corev1.Node, c *apiv1.NodeClaim, reason string) {
	if n.Annotations[apiv1.DoNotDisruptAnnotationKey] == "true" && p.hasSeen(who, p.held[n.UID], "nodes") {
		p.violate(ruleProtected, "node %s is disrupted (%s), and has the annotation %s", n.Name, reason, apiv1.DoNotDisruptAnnotationKey)
	}
	if reason == "Drifted" && c.Spec.TerminationGracePeriod != nil {
		return
	}
	for _, pod := range kubeapi.List[*corev1.Pod](p.world.platform.server) {
		if pod.Spec.NodeName != n.Name || ended(pod) || pod.DeletionTimestamp != nil || !mustNotBeDisrupted(pod) {
			continue
		}
		if p.hasSeen(who, later(boundAt(pod), p.held[pod.UID]), "pods") {
			p.violate(ruleProtected, "node %s is disrupted (%s), and its pod %s has the annotation %s: %s", n.Name, reason, pod.Name,
				apiv1.DoNotDisruptAnnotationKey, pod.Annotations[apiv1.DoNotDisruptAnnotationKey])
		}
	}
}

// checkBudgets checks that no PodDisruptionBudget has prevented the eviction of a pod of a node for some time, when the node is marked.
func (p *protectionRules) checkBudgets(n *corev1.Node, reason string) {
	for _, pod := range kubeapi.List[*corev1.Pod](p.world.platform.server) {
		if pod.Spec.NodeName != n.Name || ended(pod) || pod.DeletionTimestamp != nil || !p.mustHaveSeen(boundAt(pod), "pods") {
			continue
		}
		if ofDaemonSet(pod) || toleratesDisruption(pod) {
			continue
		}
		for _, b := range kubeapi.List[*policyv1.PodDisruptionBudget](p.world.platform.server) {
			if since, ok := p.exhausted[b.UID]; ok && p.mustHaveSeen(since, "poddisruptionbudgets") && selectsPod(b, pod) {
				p.violate(ruleProtected, "node %s is disrupted (%s), and PodDisruptionBudget %s has not allowed to evict its pod %s for %s", n.Name, reason,
					b.Name, pod.Name, time.Since(since).Round(time.Second))
			}
		}
	}
}

// startMargin is how much earlier than by the judge's clock a duration of do-not-disrupt may end: times in a status are whole seconds.
const startMargin = 2 * time.Second

// mustNotBeDisrupted reports whether a pod has the annotation do-not-disrupt, without an end or with a duration that has not passed since
// the pod started.
func mustNotBeDisrupted(pod *corev1.Pod) bool {
	value := pod.Annotations[apiv1.DoNotDisruptAnnotationKey]
	if value == "true" {
		return true
	}
	d, err := time.ParseDuration(value)
	return err == nil && pod.Status.StartTime != nil && time.Since(pod.Status.StartTime.Time) < d-startMargin
}

// boundAt returns when a pod was bound to its node.
func boundAt(pod *corev1.Pod) time.Time {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled {
			return c.LastTransitionTime.Time
		}
	}
	return time.Now()
}

// toleratesDisruption reports whether a pod tolerates that its node is disrupted, so that it is not evicted.
func toleratesDisruption(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.Tolerations, func(t corev1.Toleration) bool {
		return t.Key == apiv1.DisruptedTaintKey || t.Key == "" && t.Operator == corev1.TolerationOpExists
	})
}

// selectsPod reports whether a PodDisruptionBudget is about a pod, whether or not the pod is ready.
func selectsPod(b *policyv1.PodDisruptionBudget, pod *corev1.Pod) bool {
	if policy := b.Spec.UnhealthyPodEvictionPolicy; b.Namespace != pod.Namespace || policy != nil && *policy == policyv1.AlwaysAllow {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	return err == nil && selector.Matches(labels.Set(pod.Labels))
}

// relisted is how long after a fault the operator may miss a pod that comes and goes: until then it waits to begin a watch again.
const relisted = time.Minute

// inexact is how much earlier than consolidateAfter a node may be consolidated. The time of the last pod event is stored in seconds, and the
// clock of a replica is set in seconds after it jumped.
const inexact = 2 * time.Second

// checkConsolidateAfter checks that consolidateAfter has passed since the last pod event of a node that is consolidated, unless a user has
// requested consolidation since. It leaves out events during a fault: the operator does not learn of a pod that was removed while it did
// not run.
func (p *protectionRules) checkConsolidateAfter(n *corev1.Node, c *apiv1.NodeClaim, reason string) {
	name := c.Labels[apiv1.NodePoolLabelKey]
	pool, ok := kubeapi.Find[*apiv1.NodePool](p.world.platform.server, "", name)
	if !ok || !p.mustHaveSeen(p.edited[name], "nodepools") {
		return
	}
	wait := pool.Spec.Disruption.ConsolidateAfter.Duration
	if wait == nil {
		p.violate(ruleConsolidateAfter, "node %s is disrupted (%s), and consolidateAfter of its NodePool %s is Never", n.Name, reason, name)
		return
	}
	requested, _ := time.Parse(time.RFC3339, pool.Annotations[apiv1.ConsolidationRequestedAnnotationKey])
	for _, at := range p.events[n.Name] {
		if !requested.Before(at.Truncate(time.Second)) && !requested.After(time.Now()) {
			continue
		}
		if p.mustHaveSeen(at, "pods") && time.Since(at) < min(*wait-inexact, p.unhampered()-relisted) {
			p.violate(ruleConsolidateAfter, "node %s is disrupted (%s) %s after a pod event, and consolidateAfter of its NodePool %s is %s", n.Name, reason,
				time.Since(at).Round(time.Second), name, *wait)
			return
		}
	}
}

// deleted checks a claim that a replica deletes because of a voluntary disruption or before it expires: its replacements are initialized,
// and if it has not expired and is not repaired, nothing protects its node.
func (p *protectionRules) deleted(who string, c *apiv1.NodeClaim) {
	reason := reasonFor(c)
	if !voluntary[reason] && reason != "Expired" || c.DeletionTimestamp != nil || p.moves.mayGoUnreplaced(c) {
		return
	}
	if n, ok := kubeapi.Find[*corev1.Node](p.world.platform.server, "", c.Status.NodeName); ok && voluntary[reason] && reason != "Unhealthy" {
		p.checkHeld(who, n, c, reason)
	}
	for _, name := range strings.Split(c.Annotations[apiv1.ReplacedByAnnotationKey], ",") {
		r, ok := kubeapi.Find[*apiv1.NodeClaim](p.world.platform.server, "", name)
		if !ok || !slices.Contains(strings.Split(r.Annotations[apiv1.ReplacesAnnotationKey], ","), c.Name) {
			continue // it was deleted, or belongs to another command
		}
		// The node is initialized before the claim. If that write of the claim fails, the claim may even lack the name of the node.
		initialized := slices.ContainsFunc(kubeapi.List[*corev1.Node](p.world.platform.server), func(n *corev1.Node) bool {
			return n.Labels[apiv1.NodeInitializedLabelKey] == "true" && r.Status.ProviderID != "" && n.Spec.ProviderID == r.Status.ProviderID
		})
		if !condition.IsTrue(r, apiv1.ConditionTypeInitialized) && !initialized {
			p.violate(ruleReplacementsFirst, "claim %s is deleted (%s), and its replacement %s is not initialized", c.Name, reason, r.Name)
		}
	}
}
