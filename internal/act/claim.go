package act

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/overlay"
)

// ClaimFor returns the claim for the planned node. It has the values of the pool's template and the hash by which drift is
// detected. Its requirements contain the planned types and capacity types. Its requests are those of the planned node.
func ClaimFor(n *model.PlannedNode, labels apiv1.LabelRules) *apiv1.NodeClaim {
	pool, template := n.Pool.Object, &n.Pool.Object.Spec.Template
	c := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{
		GenerateName:    n.Pool.Name + "-",
		Labels:          claimLabels(n, labels),
		Annotations:     map[string]string{},
		Finalizers:      []string{apiv1.TerminationFinalizer},
		OwnerReferences: []metav1.OwnerReference{ownedBy(pool)},
	}}
	for k, v := range template.Annotations {
		c.Annotations[k] = v
	}
	c.Annotations[apiv1.NodePoolHashAnnotationKey] = pool.Hash()
	c.Annotations[apiv1.NodePoolHashVersionAnnotationKey] = apiv1.NodePoolHashVersion
	c.Annotations[apiv1.NodeClaimMinValuesRelaxedAnnotationKey] = strconv.FormatBool(n.MinValuesRelaxed)
	price, capacity := overlay.Applied(n)
	mark(c, apiv1.PriceOverlayAppliedAnnotationKey, price)
	mark(c, apiv1.CapacityOverlayAppliedAnnotationKey, capacity)
	c.Spec = apiv1.NodeClaimSpec{
		Taints:                 template.Spec.Taints,
		StartupTaints:          template.Spec.StartupTaints,
		Requirements:           n.ClaimRequirements(),
		NodeClassRef:           template.Spec.NodeClassRef,
		TerminationGracePeriod: template.Spec.TerminationGracePeriod,
		ExpireAfter:            template.Spec.ExpireAfter,
	}
	c.Spec.Resources.Requests = n.Requests.List()
	return c
}

// mark sets an annotation to "true" if holds is true.
func mark(c *apiv1.NodeClaim, key string, holds bool) {
	if holds {
		c.Annotations[key] = "true"
	}
}

// ownedBy returns the owner reference to the pool. Because of it, Kubernetes deletes the claims of a deleted pool.
func ownedBy(pool *apiv1.NodePool) metav1.OwnerReference {
	yes := true
	return metav1.OwnerReference{
		APIVersion: apiv1.GroupVersion.String(), Kind: "NodePool", Name: pool.Name, UID: pool.UID,
		BlockOwnerDeletion: &yes,
	}
}

// claimLabels returns the labels of the pool (those of its template and the name of the pool) and the label of the node
// class. It adds a label for each custom key in the pool's requirements, because no other component sets such labels on the
// node. If a requirement allows several values, one of them is taken, see require.Requirement.Any. Keys that only pods
// require get no label: such a pod requires the absence of the label, or of a value.
func claimLabels(n *model.PlannedNode, rules apiv1.LabelRules) map[string]string {
	labels := map[string]string{}
	for r := range n.Requirements.All() {
		if rules.WellKnown.Has(r.Key()) || r.Key() == corev1.LabelHostname {
			continue
		}
		if _, spoken := n.Pool.Requirements.Get(r.Key()); !spoken {
			continue
		}
		if v, ok := r.Any(); ok {
			labels[r.Key()] = v
		}
	}
	for k, v := range n.Pool.Labels {
		labels[k] = v
	}
	if ref := n.Pool.Object.Spec.Template.Spec.NodeClassRef; ref != nil {
		labels[ref.Group+"/"+strings.ToLower(ref.Kind)] = ref.Name
	}
	return labels
}
