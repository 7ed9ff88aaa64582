package act

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/repair"
	"github.com/karpenter-go/karpenter/internal/parallel"
)

// annotateRepair writes on a claim that is marked why it is repaired, within what time it is drained, and that it was tried.
func annotateRepair(claim *apiv1.NodeClaim, r *model.Repair, now time.Time) {
	if r == nil {
		return
	}
	action, bound := repair.ReplaceNode, ""
	if r.Reboot {
		action = repair.RebootNode
	}
	if r.DrainBound != nil {
		bound = r.DrainBound.String()
	}
	annotate(claim, apiv1.RepairHistoryAnnotationKey, repair.Recorded(claim, action, now))
	if r.Reboot {
		annotate(claim, apiv1.RebootTerminationGracePeriodAnnotationKey, bound)
		annotate(claim, apiv1.RebootPreBootIDAnnotationKey, "")
		annotate(claim, apiv1.RebootCalledAnnotationKey, "")
		return
	}
	annotate(claim, apiv1.RepairConditionAnnotationKey, string(r.Condition))
	annotate(claim, apiv1.RepairTerminationGracePeriodAnnotationKey, bound)
}

// RequestReboot writes on the claim of n that its node is to be rebooted: first the history with the drain bound, then the
// conditions that start the reboot. After a crash in between, a reboot counts that never began. It returns what was written,
// nothing if the node is being rebooted already.
func (a *Actor) RequestReboot(ctx context.Context, n *model.Node, r *model.Repair, now time.Time) ([]client.Object, error) {
	begun := false
	claim, err := Again(ctx, a.live(), n.Claim, func(before *apiv1.NodeClaim) (*apiv1.NodeClaim, error) {
		if condition.IsTrue(before, apiv1.ConditionTypeRebooting) || before.DeletionTimestamp != nil {
			return before, nil
		}
		claim := before.DeepCopy()
		annotateRepair(claim, r, now)
		if err := Patch(ctx, a.Client, before, claim); err != nil {
			return nil, err
		}
		before = claim.DeepCopy()
		why := fmt.Sprintf("rebooting for %s/%s", r.Condition, r.Reason)
		condition.SetTrueWithReason(claim, apiv1.ConditionTypeDisruptionReason, string(apiv1.DisruptionReasonUnhealthy), why, now)
		condition.SetTrueWithReason(claim, apiv1.ConditionTypeRebooting, apiv1.ReasonRebootRequested, why, now)
		begun = true
		return claim, PatchStatus(ctx, a.Client, before, claim)
	})
	if err != nil {
		return nil, fmt.Errorf("request reboot: %w", err)
	}
	if !begun {
		return nil, nil
	}
	return []client.Object{claim}, nil
}

// A Health is since when conditions of a node fail, as an annotation of its claim has it.
type Health struct {
	Node  *model.Node
	Value string
}

// NoteHealth writes the annotations. It returns what was written; the error joins what failed.
func (a *Actor) NoteHealth(ctx context.Context, list []Health) ([]client.Object, error) {
	written := make([]client.Object, len(list))
	errs := parallel.Do(ctx, len(list), parallelMarks, func(i int) error {
		claim := list[i].Node.Claim.DeepCopy()
		annotate(claim, apiv1.UnhealthySinceAnnotationKey, list[i].Value)
		if err := Patch(ctx, a.Client, list[i].Node.Claim, claim); err != nil {
			return err
		}
		written[i] = claim
		return nil
	})
	out := written[:0]
	for _, o := range written {
		if o != nil {
			out = append(out, o)
		}
	}
	return out, errors.Join(errs...)
}

// Fence brings the node of a reboot to the state that its step needs: with the taint that keeps pods away or without it, and
// without the label of an initialized node if the cloud has accepted the reboot. Nothing is sent if the node has that state.
func Fence(ctx context.Context, c client.Client, node *corev1.Node, fenced, uninitialized bool) error {
	before := node.DeepCopy()
	isFence := func(t corev1.Taint) bool { return t.Key == apiv1.RebootingTaintKey }
	switch has := slices.ContainsFunc(node.Spec.Taints, isFence); {
	case fenced && !has:
		node.Spec.Taints = append(node.Spec.Taints, apiv1.RebootingNoScheduleTaint())
	case !fenced && has:
		node.Spec.Taints = slices.DeleteFunc(node.Spec.Taints, isFence)
	}
	if uninitialized {
		delete(node.Labels, apiv1.NodeInitializedLabelKey)
	}
	return Patch(ctx, c, before, node)
}

// NoteReboot writes on the claim the boot ID of its node before the cloud is called for the first time, and when that is.
func NoteReboot(ctx context.Context, c client.Client, claim *apiv1.NodeClaim, bootID string, now time.Time) error {
	if claim.Annotations[apiv1.RebootCalledAnnotationKey] != "" {
		return nil
	}
	before := claim.DeepCopy()
	annotate(claim, apiv1.RebootPreBootIDAnnotationKey, bootID)
	annotate(claim, apiv1.RebootCalledAnnotationKey, now.UTC().Format(time.RFC3339))
	return Patch(ctx, c, before, claim)
}

// EndReboot removes from the claim what was noted for the reboot. A deadline that is not zero bounds the end of the claim.
func EndReboot(ctx context.Context, c client.Client, claim *apiv1.NodeClaim, deadline time.Time) error {
	before := claim.DeepCopy()
	annotate(claim, apiv1.RebootPreBootIDAnnotationKey, "")
	annotate(claim, apiv1.RebootCalledAnnotationKey, "")
	if !deadline.IsZero() {
		Tighten(claim, deadline)
	}
	return Patch(ctx, c, before, claim)
}
