package lifecycle

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// WarnUnregisteredTaintMissing is the reason of the event about a node that joined without the unregistered taint. That
// taint excludes pods until the node has its labels and taints.
const WarnUnregisteredTaintMissing = "UnregisteredTaintMissing"

// register returns the next step for a claim whose node is not registered yet. It waits for the one Node with the
// claim's provider ID. Then it writes the claim's labels and taints to the Node. The unregistered taint is removed once
// the registration hook is done and the pods planned onto the node are nominated to it, or NominationTimeout has
// passed.
func register(v View) (j Judgement) {
	switch len(v.Nodes) {
	case 0:
		j.waits(apiv1.ConditionTypeRegistered, ReasonNodeNotFound,
			fmt.Sprintf("Node not registered with the cluster: no Node has spec.providerID %q", v.Claim.Status.ProviderID))
	case 1:
		return registerNode(v, v.Nodes[0])
	default:
		j.set(apiv1.ConditionTypeRegistered, metav1.ConditionFalse, ReasonMultipleNodesFound,
			fmt.Sprintf("More than one Node has spec.providerID %q: %s",
				v.Claim.Status.ProviderID, strings.Join(names(v.Nodes), ", ")))
	}
	j.overdue(v)
	return j
}

// registerNode is register for a claim with one node.
func registerNode(v View, node *corev1.Node) (j Judgement) {
	_, registered := node.Labels[apiv1.NodeRegisteredLabelKey]
	if !registered && !slices.ContainsFunc(node.Spec.Taints, isUnregistered) {
		j.do(Warn{WarnUnregisteredTaintMissing, fmt.Sprintf(
			"Node %s joined without taint %s: pods may have been bound before labels and taints of the NodeClaim were set",
			node.Name, apiv1.UnregisteredTaintKey)})
	}
	r := registration(v, node)
	if r.Complete && r.Soften {
		// The first write changes the effect of the taint to NoSchedule, a second write removes the taint. See soften.
		first := r
		first.Complete, first.RemoveTaints = false, nil
		first.Labels = maps.Clone(r.Labels)
		delete(first.Labels, apiv1.NodeRegisteredLabelKey)
		j.do(first)
		r.Soften, r.AddTaints = false, nil
	}
	j.do(r)
	switch {
	case v.Hook.pending():
		j.waits(apiv1.ConditionTypeRegistered, ReasonRegistrationHookPending, hookMessage(v.Hook))
		j.Requeue = v.Hook.Wait
	case !r.Complete:
		j.waits(apiv1.ConditionTypeRegistered, ReasonNominationsPending,
			fmt.Sprintf("Waiting until the pods planned onto node %s are nominated, at most %s after the Node was created",
				node.Name, NominationTimeout))
		j.Requeue = NominationTimeout - v.Now.Sub(node.CreationTimestamp.Time)
	default:
		j.holds(apiv1.ConditionTypeRegistered)
		j.NodeName = node.Name
		return j
	}
	j.overdue(v)
	return j
}

// registration returns the action that registers the node.
//
// Taints are added only in the first write, before which the node lacks the finalizer. Otherwise a start-up taint that its
// owner removed would return while a hook delays the registration. No taints are added if the node or the claim has the
// label NodeDoNotSyncTaintsLabelKey with value true.
func registration(v View, node *corev1.Node) Register {
	r := Register{
		Node:        node.Name,
		Labels:      overlay(v.Claim.Labels, v.Hook.Labels),
		Annotations: maps.Clone(v.Claim.Annotations),
		ClaimLabels: missing(v.Claim.Labels, v.Hook.Labels),
		Owner: metav1.OwnerReference{
			APIVersion: apiv1.GroupVersion.String(), Kind: "NodeClaim",
			Name: v.Claim.Name, UID: v.Claim.UID, BlockOwnerDeletion: new(true),
		},
		Finalizer: apiv1.TerminationFinalizer,
		Complete:  !v.Hook.pending() && !nominationsPending(v, node),
		Soften:    model.WaitsForNominations(v.Claim) && model.HasTaint(node.Spec.Taints, apiv1.UnregisteredNoExecuteTaint()),
	}
	// These annotations concern only the launch.
	delete(r.Annotations, apiv1.NodeNameAnnotationKey)
	delete(r.Annotations, apiv1.PodsNominatedToAnnotationKey)
	synced := overlay(node.Labels, r.Labels)[apiv1.NodeDoNotSyncTaintsLabelKey] == "true" ||
		slices.Contains(node.Finalizers, apiv1.TerminationFinalizer)
	if !synced {
		r.AddTaints = missingTaints(node.Spec.Taints, v.Claim.Spec.Taints, v.Claim.Spec.StartupTaints)
	}
	if r.Complete {
		r.Labels[apiv1.NodeRegisteredLabelKey] = "true"
		for _, t := range node.Spec.Taints {
			if isUnregistered(t) {
				r.RemoveTaints = append(r.RemoveTaints, t)
			}
		}
	}
	return r
}

// Apply makes the changes of r to the node.
func (r Register) Apply(node *corev1.Node) {
	node.Labels = overlay(node.Labels, r.Labels)
	node.Annotations = overlay(node.Annotations, r.Annotations)
	if !slices.Contains(node.Finalizers, r.Finalizer) {
		node.Finalizers = append(node.Finalizers, r.Finalizer)
	}
	if !slices.ContainsFunc(node.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == r.Owner.UID }) {
		node.OwnerReferences = append(node.OwnerReferences, r.Owner)
	}
	node.Spec.Taints = append(node.Spec.Taints, missingTaints(node.Spec.Taints, r.AddTaints)...)
	if r.Soften {
		soften(node)
	}
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return slices.ContainsFunc(r.RemoveTaints, func(gone corev1.Taint) bool { return gone.Key == t.Key })
	})
}

func isUnregistered(t corev1.Taint) bool { return t.Key == apiv1.UnregisteredTaintKey }

// NominationTimeout bounds how long the registration of a node waits for nominations, counted from the creation of the
// Node.
const NominationTimeout = 30 * time.Second

// nominationsPending reports whether the registration waits because some pods that were planned onto the node are not
// nominated to it yet.
func nominationsPending(v View, node *corev1.Node) bool {
	return model.WaitsForNominations(v.Claim) && v.Claim.Annotations[apiv1.PodsNominatedToAnnotationKey] != node.Name &&
		v.Now.Sub(node.CreationTimestamp.Time) < NominationTimeout
}

// soften changes the effect of the unregistered taint to NoSchedule. Nominated pods are bound as soon as the taint is
// removed. The taint eviction controller may see such a pod before it sees the removal, and would evict it because of
// NoExecute.
func soften(node *corev1.Node) {
	if i := slices.IndexFunc(node.Spec.Taints, isUnregistered); i >= 0 {
		soft := node.Spec.Taints[i]
		soft.Effect = corev1.TaintEffectNoSchedule
		node.Spec.Taints = append(slices.DeleteFunc(node.Spec.Taints, isUnregistered), soft)
	}
}

func hookMessage(h Hook) string {
	if h.Err != "" {
		return "Provider failed to decide whether the Node may be registered: " + h.Err
	}
	return fmt.Sprintf("Waiting for the provider to admit the Node; next check in %s", h.Wait)
}

// names returns the names of the nodes, sorted.
func names(nodes []*corev1.Node) (list []string) {
	for _, n := range nodes {
		list = append(list, n.Name)
	}
	slices.Sort(list)
	return list
}

// overlay returns the union of both maps, never nil. For equal keys, the value in the map over takes precedence.
func overlay(base, over map[string]string) map[string]string {
	m := make(map[string]string, len(base)+len(over))
	maps.Copy(m, base)
	maps.Copy(m, over)
	return m
}

// missing returns the entries of want that are not in have with the same value.
func missing(have, want map[string]string) map[string]string {
	m := maps.Clone(want)
	maps.DeleteFunc(m, func(k, v string) bool { old, ok := have[k]; return ok && old == v })
	return m
}

// missingTaints returns the taints in want for which no taint in the list have has the same key and effect, without
// duplicates, in order.
func missingTaints(have []corev1.Taint, want ...[]corev1.Taint) []corev1.Taint {
	var list []corev1.Taint
	for _, t := range slices.Concat(want...) {
		if !model.HasTaint(have, t) && !model.HasTaint(list, t) {
			list = append(list, t)
		}
	}
	return list
}
