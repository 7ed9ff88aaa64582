package model

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A Node is capacity that exists or is being launched: a Kubernetes node, its NodeClaim, or both. It is created anew
// when either of them or the pods on it change.
type Node struct {
	// Name is the name of the claim until the node is registered, then that of the Kubernetes node. Without a claim it is
	// always that of the Kubernetes node.
	Name string
	// Object is nil until the node has joined. Claim is nil if Karpenter does not manage the node. Both are read-only.
	Object *corev1.Node
	Claim  *apiv1.NodeClaim
	// Pool is the name of the NodePool: the value of the label karpenter.sh/nodepool of the claim, or of the Node object if
	// there is no claim. It is empty without this label, such as for a claim that a user created.
	Pool string
	// Labels are the labels of the object whose name is Name.
	Labels map[string]string
	// Taints are the taints that pods must tolerate once the node is ready. Taints that are removed by then are
	// omitted. A cordoned node always has node.kubernetes.io/unschedulable here.
	Taints []corev1.Taint
	// Capacity includes 1 of the resource "nodes" for the node itself. All other amounts are zero for a claim that is not
	// launched, because its instance type is not decided. If a NodeOverlay has changed the capacity of its options, they are
	// the requests of the claim instead.
	Capacity, Allocatable Resources
	Registered            bool
	Initialized           bool
	// Deleting is true if the Node object, its claim or its instance is being deleted. The pods of the node then need
	// another place.
	Deleting bool
	// Pods are the bound pods that still use resources, in key order. WithAntiAffinity are those with required anti-affinity.
	Pods, WithAntiAffinity []*Pod
	Usage
}

// A Usage is what the pods of a node use.
type Usage struct {
	// Used is the sum of the requests of Node.Pods, and DaemonUsed that of the DaemonSet pods among them.
	Used, DaemonUsed Resources

	// cpu, memory and pods are the amounts of Node.Free of these resources. Each plan compares them for each node.
	cpu, memory, pods int64
}

// Launched reports whether n has an instance. Until then the instance type of a claim is not decided.
func (n *Node) Launched() bool { return n.Object != nil || n.Claim.Status.ProviderID != "" }

// NodeName returns the name of the Kubernetes node. Until it has joined, that is the name that the cloud reported at
// the launch, or empty if it reported none.
func (n *Node) NodeName() string {
	if n.Object != nil {
		return n.Object.Name
	}
	return n.Claim.Annotations[apiv1.NodeNameAnnotationKey]
}

// BindingName returns spec.nodeName of the pods on n. That is the name of the Node object. Only method Snapshot.Bound binds
// pods to a claim whose node has not joined, and it uses a name that no Node object can have.
func (n *Node) BindingName() string {
	if n.Object != nil {
		return n.Object.Name
	}
	return BindingNameOf(n.Claim.Name)
}

// bindingPrefix begins the BindingName of a claim. The name of the claim follows.
const bindingPrefix = "claim/"

func BindingNameOf(claim string) string { return bindingPrefix + claim }

// created returns when the claim, or else the Node object, was created.
func (n *Node) created() time.Time {
	if n.Claim != nil {
		return n.Claim.CreationTimestamp.Time
	}
	return n.Object.CreationTimestamp.Time
}

// Managed reports whether n has a NodeClaim.
func (n *Node) Managed() bool { return n.Claim != nil }

// Wishes returns the requirements of a claim that is not launched. Deprecated keys are replaced.
func Wishes(s *Snapshot, n *Node) require.Set {
	return Normalize(s, require.FromSpec(n.Claim.Spec.Requirements).And(require.FromLabels(n.Claim.Labels)))
}

// WaitsForNominations reports whether the registration of the claim's node waits, or has waited, until pods are nominated to it.
func WaitsForNominations(claim *apiv1.NodeClaim) bool {
	_, waits := claim.Annotations[apiv1.PodsNominatedToAnnotationKey]
	return waits
}

// Free returns the allocatable resources less the requests of pods. Amounts may be negative.
func (n *Node) Free() Resources { return n.Allocatable.Minus(n.Used) }

// FreeOf returns the amount of one resource in Free.
func (n *Node) FreeOf(name corev1.ResourceName) int64 {
	switch name {
	case corev1.ResourceCPU:
		return n.cpu
	case corev1.ResourceMemory:
		return n.memory
	case corev1.ResourcePods:
		return n.pods
	}
	return n.Allocatable[name] - n.Used[name]
}

// Reschedulable returns the pods that need another place if n is removed.
func (n *Node) Reschedulable() []*Pod {
	var pods []*Pod
	for _, p := range n.Pods {
		if p.Reschedulable() {
			pods = append(pods, p)
		}
	}
	return pods
}

// Disrupted reports whether n has the disruption taint, which excludes new pods.
func (n *Node) Disrupted() bool { return n.tainted(apiv1.DisruptedTaintKey) }

// Reserved reports whether n has a claim and the reserved taint. The taint excludes pods until a staged move opens the
// node to pods of nodes that are being removed.
func (n *Node) Reserved() bool { return n.Claim != nil && n.tainted(apiv1.StagedMoveTaintKey) }

// tainted reports whether the Node object has a taint with the key.
func (n *Node) tainted(key string) bool {
	return n.Object != nil && slices.ContainsFunc(n.Object.Spec.Taints, func(t corev1.Taint) bool { return t.Key == key })
}

// Rebooting reports whether repair reboots n. The pods stay bound to n, and its capacity will be available again.
func (n *Node) Rebooting() bool {
	return n.Claim != nil && condition.IsTrue(n.Claim, apiv1.ConditionTypeRebooting)
}

// Readiness returns the status of the node's condition Ready, Unknown if it has none.
func Readiness(o *corev1.Node) corev1.ConditionStatus {
	i := slices.IndexFunc(o.Status.Conditions, func(c corev1.NodeCondition) bool { return c.Type == corev1.NodeReady })
	if i < 0 {
		return corev1.ConditionUnknown
	}
	return cmp.Or(o.Status.Conditions[i].Status, corev1.ConditionUnknown)
}

// newNode merges a node, its claim and the pods bound to it. It returns nil if the node and the claim are both missing.
// It also returns nil for a node of a NodePool that has neither a claim nor a provider ID yet.
func newNode(object *corev1.Node, claim *apiv1.NodeClaim, pods []*Pod) *Node {
	if object == nil && claim == nil {
		return nil
	}
	n := &Node{Object: object, Claim: claim}
	n.identify()
	// A claim is deleted shortly after its Node object, so one of the two is enough.
	n.Deleting = object != nil && object.DeletionTimestamp != nil || claim != nil &&
		(claim.DeletionTimestamp != nil || condition.IsTrue(claim, apiv1.ConditionTypeInstanceTerminating))
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
		if p.hasRequiredAntiAffinity() {
			n.WithAntiAffinity = append(n.WithAntiAffinity, p)
		}
		n.Used = n.Used.Plus(p.Requests)
		if p.Daemon() {
			n.DaemonUsed = n.DaemonUsed.Plus(p.Requests)
		}
	}
	n.cpu = n.Allocatable[corev1.ResourceCPU] - n.Used[corev1.ResourceCPU]
	n.memory = n.Allocatable[corev1.ResourceMemory] - n.Used[corev1.ResourceMemory]
	n.pods = n.Allocatable[corev1.ResourcePods] - n.Used[corev1.ResourcePods]
	return n
}

// identify sets Name, Labels, Pool and the lifecycle stage.
func (n *Node) identify() {
	if n.Claim == nil {
		n.Name, n.Labels = n.Object.Name, n.Object.Labels
		n.Registered, n.Initialized = true, true
		n.Pool = n.Labels[apiv1.NodePoolLabelKey]
		if n.Pool != "" {
			n.Registered = n.Labels[apiv1.NodeRegisteredLabelKey] == "true"
			n.Initialized = n.Labels[apiv1.NodeInitializedLabelKey] == "true"
		}
		return
	}
	n.Name, n.Labels = n.Claim.Name, n.Claim.Labels
	n.Pool = n.Claim.Labels[apiv1.NodePoolLabelKey]
	if n.Object != nil && n.Object.Labels[apiv1.NodeRegisteredLabelKey] == "true" {
		n.Name, n.Labels, n.Registered = n.Object.Name, n.Object.Labels, true
		n.Initialized = n.Labels[apiv1.NodeInitializedLabelKey] == "true"
	}
}

// measure sets Capacity and Allocatable. Until the node is initialized, amounts that the Node object does not report
// yet are taken from the claim. An example is a GPU whose device plugin has not started.
func (n *Node) measure() {
	var capacity, allocatable Resources
	if n.Object != nil {
		capacity, allocatable = CapacityOf(n.Object.Status.Capacity), CapacityOf(n.Object.Status.Allocatable)
	}
	if n.Claim != nil && !n.Initialized {
		capacity = fill(capacity, CapacityOf(n.Claim.Status.Capacity))
		allocatable = fill(allocatable, CapacityOf(n.Claim.Status.Allocatable))
		if n.Claim.Annotations[apiv1.CapacityOverlayAppliedAnnotationKey] == "true" {
			// The cloud does not report the capacity that a NodeOverlay adds. The requests of the claim fill what is missing.
			promised := RequestsOf(n.Claim.Spec.Resources.Requests)
			capacity, allocatable = fill(capacity, promised), fill(allocatable, promised)
		}
	}
	n.Capacity, n.Allocatable = capacity.Plus(Resources{Nodes: 1}), allocatable
}

// fill returns have with missing and zero amounts replaced by those of promised.
func fill(have, promised Resources) Resources {
	return have.with(promised, func(have, v int64) int64 { return cmp.Or(have, v) })
}

// taints returns the taints that decide which pods may be planned for n.
func (n *Node) taints() []corev1.Taint {
	var all []corev1.Taint
	if n.Object == nil || n.Claim != nil && !n.Registered {
		all = n.Claim.Spec.Taints
	} else {
		all = n.Object.Spec.Taints
	}
	if !n.Initialized || n.Rebooting() {
		all = slices.DeleteFunc(slices.Clone(all), n.passing)
	}
	if n.Reserved() { // a staged move removes the taint before pods move to the node
		all = slices.DeleteFunc(slices.Clone(all), func(t corev1.Taint) bool { return t.Key == apiv1.StagedMoveTaintKey })
	}
	if n.Object != nil && n.Object.Spec.Unschedulable {
		cordon := corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule}
		if !HasTaint(all, cordon) {
			all = append(slices.Clip(all), cordon)
		}
	}
	return all
}

// silentAfter is how long the kubelet of a node that is not initialized may be silent before no more pods are planned onto the node. It is
// as long as pods tolerate an unreachable node by default.
const silentAfter = 5 * time.Minute

// Silent reports whether n is not initialized and its kubelet has not reported for silentAfter. Its pods must not wait until it is deleted,
// which is an hour after its registration.
func (n *Node) Silent(now time.Time) bool {
	if n.Object == nil || n.Initialized {
		return false
	}
	for _, c := range n.Object.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionUnknown && now.Sub(c.LastTransitionTime.Time) >= silentAfter
		}
	}
	return false
}

// passing reports whether t is removed automatically before n is initialized, for the first time or after a reboot.
func (n *Node) passing(t corev1.Taint) bool {
	return apiv1.IsEphemeralTaint(t) || t.Key == apiv1.RebootingTaintKey ||
		n.Claim != nil && HasTaint(n.Claim.Spec.StartupTaints, t)
}
