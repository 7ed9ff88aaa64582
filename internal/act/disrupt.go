package act

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Mark makes the intent to disrupt n visible before anything is done: the condition on the claim says why, then the taint
// keeps new pods away. After a crash the two tell what was under way. It returns what was written.
func (a *Actor) Mark(
	ctx context.Context, n *model.Node, reason apiv1.DisruptionReason, now time.Time,
) ([]client.Object, error) {
	claim := n.Claim.DeepCopy()
	condition.SetTrueWithReason(claim, apiv1.ConditionTypeDisruptionReason, string(reason), string(reason), now)
	if err := PatchStatus(ctx, a.Client, n.Claim, claim); err != nil {
		return nil, fmt.Errorf("mark claim: %w", err)
	}
	node := n.Object.DeepCopy()
	if !n.Disrupted() {
		node.Spec.Taints = append(node.Spec.Taints, apiv1.DisruptedNoScheduleTaint())
	}
	if err := Patch(ctx, a.Client, n.Object, node); err != nil {
		return []client.Object{claim}, fmt.Errorf("taint node: %w", err)
	}
	return []client.Object{claim, node}, nil
}

// Unmark takes Mark back: pods may come again. It returns what was written.
func (a *Actor) Unmark(ctx context.Context, n *model.Node) ([]client.Object, error) {
	node := n.Object.DeepCopy()
	node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, func(t corev1.Taint) bool {
		return t.Key == apiv1.DisruptedTaintKey
	})
	if err := Patch(ctx, a.Client, n.Object, node); err != nil {
		return nil, fmt.Errorf("untaint node: %w", err)
	}
	claim := n.Claim.DeepCopy()
	condition.Clear(claim, apiv1.ConditionTypeDisruptionReason)
	if err := PatchStatus(ctx, a.Client, n.Claim, claim); err != nil {
		return []client.Object{node}, fmt.Errorf("unmark claim: %w", err)
	}
	return []client.Object{node, claim}, nil
}

// End deletes the claim of n; its node is drained and its instance ended by the claim's own controllers. A claim that is
// gone already, or is another one by now, is left alone.
func (a *Actor) End(ctx context.Context, n *model.Node) error {
	err := a.Client.Delete(ctx, n.Claim, client.Preconditions{UID: &n.Claim.UID})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete claim %s: %w", n.Claim.Name, err)
	}
	return nil
}
