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

// annotateRepair sets the annotations of a repair on the claim of a node that is replaced or rebooted: the drain bound, the
// history of repairs and, for a replacement, the condition. For a reboot, it removes those of an earlier reboot. It does
// nothing if r is nil.
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

// RequestReboot requests the reboot of n on its claim. It first writes the history and the drain bound, then the conditions
// that start the reboot. After a crash in between, the history counts a reboot that was not started, unless it is requested again within
// a minute. RequestReboot returns the claim as it was written, or nothing if the node is already being rebooted or its claim is being
// deleted.
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

// A Health is a new value of the annotation UnhealthySinceAnnotationKey of a node's claim. The annotation has the times since
// which conditions of the node fail.
type Health struct {
	Node  *model.Node
	Value string
}

// NoteHealth writes the annotations to the claims. It returns the claims that it wrote. The error joins the failures.
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

// Fence sets the state of a node during a reboot. If fenced is true, it adds the taint that excludes pods, otherwise it
// removes the taint. If uninitialized is true, it removes the label karpenter.sh/initialized. If nothing changes, nothing
// is sent.
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

// NoteReboot writes the boot ID of the node and the time to the claim. It is called before the first request to the cloud
// for the reboot. If the claim already has the annotation with the time, nothing is sent.
func NoteReboot(ctx context.Context, c client.Client, claim *apiv1.NodeClaim, bootID string, now time.Time) error {
	if claim.Annotations[apiv1.RebootCalledAnnotationKey] != "" {
		return nil
	}
	before := claim.DeepCopy()
	annotate(claim, apiv1.RebootPreBootIDAnnotationKey, bootID)
	annotate(claim, apiv1.RebootCalledAnnotationKey, now.UTC().Format(time.RFC3339))
	return Patch(ctx, c, before, claim)
}

// EndReboot removes the boot ID and the time that NoteReboot wrote from the claim.
func EndReboot(ctx context.Context, c client.Client, claim *apiv1.NodeClaim) error {
	before := claim.DeepCopy()
	annotate(claim, apiv1.RebootPreBootIDAnnotationKey, "")
	annotate(claim, apiv1.RebootCalledAnnotationKey, "")
	return Patch(ctx, c, before, claim)
}
