package model

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A Node is capacity that exists or is on its way: a Kubernetes node, its claim, or both. It is merged once when either
// enters the Snapshot or the pods on it change.
type Node struct {
	// Name is the node's once it is registered, the claim's before.
	Name string
	// Object is nil until the node has joined, Claim is nil for nodes that are not ours. Both are shared and never changed.
	Object *corev1.Node
	Claim  *apiv1.NodeClaim
	// Pool is the name of the pool, empty for a node that is not ours or a claim made by hand.
	Pool string
	// Labels are the claim's until the node is registered, then the node's.
	Labels map[string]string
	// Taints are those that pods will meet once the node is ready: what goes away by itself is left out until then. A node
	// that is cordoned carries node.kubernetes.io/unschedulable here, whether the API server has added it or not.
	Taints []corev1.Taint
	// Capacity counts the node itself as one of "nodes". Both are zero for a claim that is not launched yet: what it will
	// be is only known as a set of options.
	Capacity, Allocatable Resources
	Registered            bool
	Initialized           bool
	// Deleting means that the node or its claim is being deleted or its instance terminated: its pods need another place.
	Deleting bool
	// Pods are the bound pods that still hold resources, in key order.
	Pods []*Pod
	// Used is the sum of their requests, DaemonUsed the part of it that daemons' pods hold.
	Used, DaemonUsed Resources
}

// Launched reports whether an instance stands behind n. A claim that is not launched is a wish with options.
func (n *Node) Launched() bool { return n.Object != nil || n.Claim.Status.ProviderID != "" }

// NodeName returns the name of the Kubernetes node. Until it has joined that is the name that the cloud told when it launched
// the instance, and empty if it told none.
func (n *Node) NodeName() string {
	if n.Object != nil {
		return n.Object.Name
	}
	return n.Claim.Annotations[apiv1.NodeNameAnnotationKey]
}

// Managed reports whether a claim stands behind n.
func (n *Node) Managed() bool { return n.Claim != nil }

// Wishes returns what a claim that is not launched asks of its instance.
func (n *Node) Wishes() require.Set {
	return require.FromSpec(n.Claim.Spec.Requirements).And(require.FromLabels(n.Claim.Labels))
}

// Free returns what pods may still use.
func (n *Node) Free() Resources { return n.Allocatable.Minus(n.Used) }

// Reschedulable returns the pods that need another place when n goes.
func (n *Node) Reschedulable() []*Pod {
	var pods []*Pod
	for _, p := range n.Pods {
		if p.Reschedulable() {
			pods = append(pods, p)
		}
	}
	return pods
}

// Disrupted reports whether n is marked to go: it carries the taint that keeps new pods away.
func (n *Node) Disrupted() bool {
	return n.Object != nil && slices.ContainsFunc(n.Object.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == apiv1.DisruptedTaintKey
	})
}

// Reserved reports whether n takes no pods until it is its turn to take those of nodes that go.
func (n *Node) Reserved() bool {
	return n.Claim != nil && n.Object != nil && slices.ContainsFunc(n.Object.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == apiv1.ReservedTaintKey
	})
}

// newNode merges a node, its claim and the pods bound to it. It returns nil when there is nothing to count yet: a node of
// ours whose cloud identity is not known, or both missing.
func newNode(object *corev1.Node, claim *apiv1.NodeClaim, pods []*Pod) *Node {
	if object == nil && claim == nil {
		return nil
	}
	n := &Node{Object: object, Claim: claim}
	n.identify()
	if claim == nil && n.Pool != "" && object.Spec.ProviderID == "" {
		return nil
	}
	n.measure()
	n.Taints = n.taints()
	for _, p := range pods {
		if p.Terminal() {
			continue
		}
		n.Pods = append(n.Pods, p)
		n.Used = n.Used.Plus(p.Requests)
		if p.Daemon() {
			n.DaemonUsed = n.DaemonUsed.Plus(p.Requests)
		}
	}
	return n
}

// identify sets name, labels, pool and stage.
func (n *Node) identify() {
	if n.Claim == nil {
		n.Name, n.Labels = n.Object.Name, n.Object.Labels
		n.Registered, n.Initialized = true, true
		n.Deleting = n.Object.DeletionTimestamp != nil
		n.Pool = n.Labels[apiv1.NodePoolLabelKey]
		if n.Pool != "" {
			n.Registered = n.Labels[apiv1.NodeRegisteredLabelKey] == "true"
			n.Initialized = n.Labels[apiv1.NodeInitializedLabelKey] == "true"
		}
		return
	}
	n.Name, n.Labels = n.Claim.Name, n.Claim.Labels
	n.Deleting = n.Claim.DeletionTimestamp != nil || condition.IsTrue(n.Claim, apiv1.ConditionTypeInstanceTerminating)
	n.Pool = n.Claim.Labels[apiv1.NodePoolLabelKey]
	if n.Object == nil || n.Object.Labels[apiv1.NodeRegisteredLabelKey] != "true" {
		return
	}
	n.Name, n.Labels, n.Registered = n.Object.Name, n.Object.Labels, true
	n.Initialized = n.Object.Labels[apiv1.NodeInitializedLabelKey] == "true"
}

// measure sets Capacity and Allocatable. Until the node is initialized, what it does not report yet (a GPU whose plugin
// has not started) is taken from the claim.
func (n *Node) measure() {
	var capacity, allocatable Resources
	if n.Object != nil {
		capacity, allocatable = CapacityOf(n.Object.Status.Capacity), CapacityOf(n.Object.Status.Allocatable)
	}
	if n.Claim != nil && !n.Initialized {
		capacity = fill(capacity, CapacityOf(n.Claim.Status.Capacity))
		allocatable = fill(allocatable, CapacityOf(n.Claim.Status.Allocatable))
		if n.Claim.Annotations[apiv1.CapacityOverlayAppliedAnnotationKey] == "true" {
			// The cloud does not know what an overlay has promised; the claim was made for this much of it.
			promised := RequestsOf(n.Claim.Spec.Resources.Requests)
			capacity, allocatable = fill(capacity, promised), fill(allocatable, promised)
		}
	}
	n.Capacity, n.Allocatable = capacity.Plus(Resources{Nodes: 1}), allocatable
}

// fill returns have with its zero and missing amounts taken from promised.
func fill(have, promised Resources) Resources {
	out := have.Plus(nil)
	for name, v := range promised {
		if out[name] == 0 {
			out[name] = v
		}
	}
	return out
}

// taints returns the taints that matter to pods planned for n.
func (n *Node) taints() []corev1.Taint {
	var all []corev1.Taint
	switch {
	case n.Object == nil:
		all = n.Claim.Spec.Taints
	case n.Claim != nil && !n.Registered:
		all = n.Claim.Spec.Taints
	default:
		all = n.Object.Spec.Taints
	}
	if !n.Initialized {
		all = slices.DeleteFunc(slices.Clone(all), n.passing)
	}
	if n.Reserved() { // it will be open before anybody gives up waiting for it
		all = slices.DeleteFunc(slices.Clone(all), func(t corev1.Taint) bool { return t.Key == apiv1.ReservedTaintKey })
	}
	if n.Object != nil && n.Object.Spec.Unschedulable {
		cordon := corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
		if !slices.ContainsFunc(all, func(t corev1.Taint) bool { return t.MatchTaint(&cordon) }) {
			all = append(slices.Clip(all), cordon)
		}
	}
	return all
}

// passing reports whether t goes away by itself before n is initialized.
func (n *Node) passing(t corev1.Taint) bool {
	if apiv1.IsEphemeralTaint(t) {
		return true
	}
	return n.Claim != nil && slices.ContainsFunc(n.Claim.Spec.StartupTaints, func(s corev1.Taint) bool {
		return s.MatchTaint(&t)
	})
}
