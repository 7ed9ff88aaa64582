package verify

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/verify/nodematch"
)

// placements checks the pods that are placed on existing nodes and on claims.
func (c *checker) placements() {
	checked := make(map[string]bool)
	for _, pl := range c.plan.Placements {
		n := pl.Node
		if n == nil {
			for _, p := range pl.Pods {
				c.add(Violation{Rule: RuleNode, Pod: p.Key, Detail: "is placed on no node"})
			}
			continue
		}
		known, ok := c.snapshot.NodeByName(n.Name)
		switch {
		case !ok || known.Object != n.Object || known.Claim != n.Claim:
			c.add(Violation{Rule: RuleNode, Node: n.Name, Detail: "is not in the snapshot"})
		case leaving(n):
			c.add(Violation{Rule: RuleNode, Node: n.Name, Detail: "is being deleted"})
		case checked[n.Name]:
		case n.Launched():
			c.onNode(n, c.placed[n.Name], c.bound[n.BindingName()])
		default:
			c.onClaim(n, c.placed[n.Name])
		}
		checked[n.Name] = true
	}
}

// onNode checks pods for a node with an instance, whose size and labels are known. The parameter there has the pods that
// already run on it.
func (c *checker) onNode(n *model.Node, pods []*model.Pod, there []*corev1.Pod) {
	labels, taints := nodematch.Of(c.catalog.nodeOf(n)), taintsOf(n)
	missing, expected := c.catalog.expect(labels, taints, there)
	present := &demand{requests: expected}
	var ports []corev1.ContainerPort
	for _, d := range missing {
		ports = append(ports, d.ports...)
		present.volumes = append(present.volumes, d.volumes...)
	}
	for _, p := range there {
		ports = append(ports, hostPorts(p)...)
		present.requests = present.requests.Plus(requestsOf(p))
		for _, a := range c.catalog.attachmentsOf(p) {
			a.problem = "" // the pod uses the volume, so it is attached
			present.volumes = append(present.volumes, a)
		}
	}
	o := &option{
		instanceType: model.TypeNamed(c.snapshot.Types(n.Pool), n.Labels[corev1.LabelInstanceTypeStable]),
		allocatable:  n.Allocatable,
		attachLimits: c.catalog.attachLimitsOf(n),
		labels:       []*nodematch.LabelSet{labels},
		present:      []*demand{present},
	}
	list := &optionList{options: []*option{o}, labels: o.labels}
	c.suits(n.Name, list, taints, c.loadOf(n.Name, pods, ports))
}

// expect returns the demands of the DaemonSet pods that a node should run but does not run yet, and the resources to
// reserve for them. kube-scheduler reserves nothing for them, so of each resource the lower of two sums is reserved, at
// least 0. The first is that of the missing pods. The second is that of all DaemonSets that select the node, less the
// DaemonSet pods running there. They differ while a DaemonSet is changed or removed.
func (c *catalog) expect(set *nodematch.LabelSet, taints []corev1.Taint, there []*corev1.Pod) ([]*demand, model.Resources) {
	var missing []*demand
	free, rest := model.Resources{}, model.Resources{}
	for _, d := range c.daemons {
		if !d.admittedTo(set, taints) {
			continue
		}
		rest = rest.Plus(d.requests)
		if !d.runsAmong(there) {
			missing = append(missing, d.demand)
			free = free.Plus(d.requests)
		}
	}
	for _, p := range there {
		if ownedBy(p, p.Namespace, "") {
			rest = rest.Minus(requestsOf(p))
		}
	}
	for name, v := range free {
		free[name] = max(min(v, rest[name]), 0)
	}
	return missing, free
}

// onClaim checks pods for a claim that is not launched. They must fit on each type that may be launched for it.
func (c *checker) onClaim(n *model.Node, pods []*model.Pod) {
	t := c.catalog.templateOfClaim(n.Claim)
	list := c.catalog.newList(t, c.catalog.claimTypes(n))
	if len(list.options) == 0 {
		c.add(Violation{Rule: RuleType, Node: n.Name, Detail: "no known type meets its requirements"})
	}
	c.suits(n.Name, list, t.taints, c.loadOf(n.Name, pods, nil))
}

// ownedBy reports whether the DaemonSet with the name owns the pod. An empty name stands for any DaemonSet.
func ownedBy(p *corev1.Pod, namespace, set string) bool {
	return p.Namespace == namespace && slices.ContainsFunc(p.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.Kind == "DaemonSet" && (o.Name == set || set == "")
	})
}

// leaving reports whether the node, its claim or its instance is being deleted.
func leaving(n *model.Node) bool {
	if n.Object != nil && n.Object.DeletionTimestamp != nil {
		return true
	}
	return n.Claim != nil && (n.Claim.DeletionTimestamp != nil || condition.IsTrue(n.Claim, apiv1.ConditionTypeInstanceTerminating))
}

// nodeOf returns a node with the labels of n, or those that it will have once it is registered.
func (c *catalog) nodeOf(n *model.Node) *corev1.Node {
	if n.Registered || n.Claim == nil {
		return n.Object
	}
	seen := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(n.Claim.Labels)}}
	for old, stable := range c.index.Aliases {
		if v, ok := n.Claim.Labels[stable]; ok {
			seen.Labels[old] = v
		}
	}
	if n.Object != nil {
		seen.Name = n.Object.Name
	}
	return seen
}

// taintsOf returns the taints of n that pods must tolerate.
func taintsOf(n *model.Node) []corev1.Taint {
	var all []corev1.Taint
	if n.Claim != nil && !n.Registered {
		all = n.Claim.Spec.Taints
	} else {
		all = n.Object.Spec.Taints
	}
	all = slices.DeleteFunc(slices.Clone(all), func(t corev1.Taint) bool { return isTemporary(n, t) })
	if n.Object != nil && n.Object.Spec.Unschedulable {
		all = append(all, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
	}
	return all
}

// isTemporary reports whether the taint is removed before the pods that are planned onto n are bound. On each node with a
// claim, that is the taint of staged moves. On a node that is not initialized, or is being rebooted, it also holds for the
// taints of its start.
func isTemporary(n *model.Node, t corev1.Taint) bool {
	switch {
	case n.Claim != nil && t.Key == apiv1.StagedMoveTaintKey:
		return true
	case n.Initialized && !n.Rebooting():
		return false
	}
	return apiv1.IsEphemeralTaint(t) || t.Key == apiv1.RebootingTaintKey || n.Claim != nil &&
		slices.ContainsFunc(n.Claim.Spec.StartupTaints, func(s corev1.Taint) bool { return s.MatchTaint(&t) })
}
