package act

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/parallel"
)

// parallelMarks bounds how many nodes are marked, reserved or annotated with their health at once.
const parallelMarks = 10

// Draft returns the replacement claims of the command without creating them. The names of the claims are already set, so
// that the nodes can be marked with these names before an instance is launched. Annotations of each claim list all claims
// that the command removes, and their instance types with capacity types.
func (a *Actor) Draft(c *model.Command) []Launch {
	var claims, types []string
	for _, n := range c.Nodes {
		claims = append(claims, n.Claim.Name)
		types = append(types, n.Labels[corev1.LabelInstanceTypeStable]+"/"+n.Labels[apiv1.CapacityTypeLabelKey])
	}
	slices.Sort(types)
	drafts := make([]Launch, len(c.Replacements))
	for i := range c.Replacements {
		claim := ClaimFor(&c.Replacements[i], a.Labels)
		claim.Name, claim.GenerateName = nameLike(claim.GenerateName), ""
		annotate(claim, apiv1.ReplacesAnnotationKey, strings.Join(claims, ","))
		annotate(claim, apiv1.ReplacedTypesAnnotationKey, strings.Join(slices.Compact(types), ","))
		if c.Repair != nil {
			annotate(claim, apiv1.RepairAttemptAnnotationKey, strconv.Itoa(c.Repair.Attempt))
		}
		if a.Turns && c.Scatters() {
			annotate(claim, apiv1.MoveStageAnnotationKey, strconv.Itoa(i+1))
		}
		drafts[i] = Launch{Node: &c.Replacements[i], Claim: claim}
	}
	return drafts
}

// nameLike returns a name like those that the API server generates from generateName: the prefix with five random
// letters and digits, short enough for a label value.
func nameLike(prefix string) string {
	const letters, most = 5, 63
	return prefix[:min(len(prefix), most-letters)] + rand.String(letters)
}

// Replace creates the claims of the drafts, all or none: if one cannot be created, it deletes the others. The error joins
// the failures, including those of deletions. After a crash between the writes, the claims that no marked node names as its
// replacement are deleted as surplus.
func (a *Actor) Replace(ctx context.Context, drafts []Launch) error {
	made, err := a.create(ctx, drafts)
	if err == nil {
		return nil
	}
	for _, l := range made {
		if deleteErr := client.IgnoreNotFound(a.Client.Delete(ctx, l.Claim)); deleteErr != nil {
			err = errors.Join(err, fmt.Errorf("take back claim %s: %w", l.Claim.Name, deleteErr))
		}
	}
	return err
}

// MarkAll marks the nodes of the command for disruption. waitFor has the names of the claims that must be initialized
// before the nodes are deleted. If a node cannot be marked, the other nodes are marked nevertheless, and the error joins
// the failures. MarkAll returns the stored claims and nodes, without those whose write failed.
func (a *Actor) MarkAll(
	ctx context.Context, c *model.Command, waitFor []string, now time.Time,
) ([]client.Object, error) {
	written := make([][]client.Object, len(c.Nodes))
	errs := parallel.Do(ctx, len(c.Nodes), parallelMarks, func(i int) (err error) {
		written[i], err = a.mark(ctx, c.Nodes[i], c, waitFor, now)
		return err
	})
	return slices.Concat(written...), errors.Join(errs...)
}

// mark stores the intent to disrupt n. It first writes the names of the replacements and the condition DisruptionReason to
// the claim, then the disruption taint to the node. After a crash, the command is restored from them. mark returns the
// stored claim and node, without those whose write failed.
func (a *Actor) mark(
	ctx context.Context, n *model.Node, c *model.Command, waitFor []string, now time.Time,
) ([]client.Object, error) {
	claim, err := again(ctx, a.live(), n.Claim, func(before *apiv1.NodeClaim) (*apiv1.NodeClaim, error) {
		claim := before.DeepCopy()
		annotate(claim, apiv1.DisruptionBegunAnnotationKey, now.UTC().Format(time.RFC3339))
		annotate(claim, apiv1.ReplacedByAnnotationKey, strings.Join(waitFor, ","))
		annotate(claim, apiv1.TerminateFirstAnnotationKey, c.TerminateFirst)
		annotateRepair(claim, c.Repair, now)
		if err := Patch(ctx, a.Client, before, claim); err != nil {
			return nil, err
		}
		before = claim.DeepCopy()
		condition.SetTrueWithReason(claim, apiv1.ConditionTypeDisruptionReason, string(c.Reason), string(c.Reason), now)
		return claim, PatchStatus(ctx, a.Client, before, claim)
	}, func(fresh *apiv1.NodeClaim) bool {
		return fresh.DeletionTimestamp == nil && holds(c.Reason, n.Claim, fresh)
	})
	if err != nil {
		return nil, fmt.Errorf("mark claim: %w", err)
	}
	node, err := Again(ctx, a.live(), n.Object, func(before *corev1.Node) (*corev1.Node, error) {
		node := before.DeepCopy()
		Cordon(node)
		return node, Patch(ctx, a.Client, before, node)
	})
	if err != nil {
		return []client.Object{claim}, fmt.Errorf("taint node: %w", err)
	}
	return []client.Object{claim, node}, nil
}

// holds reports whether a disruption that was decided for a claim may go on with a later version of it: the condition that it is based on
// is still true and, for consolidation, no pod was added to the node or removed from it since.
func holds(reason apiv1.DisruptionReason, decided, fresh *apiv1.NodeClaim) bool {
	switch reason {
	case apiv1.DisruptionReasonEmpty, apiv1.DisruptionReasonUnderutilized:
		return condition.IsTrue(fresh, apiv1.ConditionTypeConsolidatable) &&
			!fresh.Status.LastPodEventTime.After(decided.Status.LastPodEventTime.Time)
	case apiv1.DisruptionReasonDrifted:
		return condition.IsTrue(fresh, apiv1.ConditionTypeDrifted)
	}
	return true
}

// Unmark removes what mark and Expedite wrote, except the history of repairs, so that pods can be bound to the node again. It
// returns the objects that it wrote. It writes a node without the taint too: if the write of the taint got no answer, a cache may not show it
// yet. The write then conflicts, and is repeated with the current node.
func (a *Actor) Unmark(ctx context.Context, n *model.Node) ([]client.Object, error) {
	node, err := Again(ctx, a.live(), n.Object, func(before *corev1.Node) (*corev1.Node, error) {
		before, node := before.DeepCopy(), before.DeepCopy()
		Cordon(before)
		node.Spec.Taints = withoutDisrupted(node.Spec.Taints)
		return node, Patch(ctx, a.Client, before, node)
	})
	if err != nil {
		return nil, fmt.Errorf("untaint node: %w", err)
	}
	claim, err := Again(ctx, a.live(), n.Claim, func(before *apiv1.NodeClaim) (*apiv1.NodeClaim, error) {
		claim := before.DeepCopy()
		condition.Clear(claim, apiv1.ConditionTypeDisruptionReason)
		if err := PatchStatus(ctx, a.Client, before, claim); err != nil {
			return nil, err
		}
		before = claim.DeepCopy()
		annotate(claim, apiv1.DisruptionBegunAnnotationKey, "")
		annotate(claim, apiv1.ReplacedByAnnotationKey, "")
		annotate(claim, apiv1.TerminateFirstAnnotationKey, "")
		annotate(claim, apiv1.RepairConditionAnnotationKey, "")
		annotate(claim, apiv1.RepairTerminationGracePeriodAnnotationKey, "")
		if claim.DeletionTimestamp.IsZero() {
			annotate(claim, apiv1.NodeClaimTerminationTimestampAnnotationKey, "")
		}
		return claim, Patch(ctx, a.Client, before, claim)
	})
	if err != nil {
		return []client.Object{node}, fmt.Errorf("unmark claim: %w", err)
	}
	return []client.Object{node, claim}, nil
}

// ClearReplaced removes from the claim of n the names of the claims that n was launched to replace, and the stage of a staged
// move. n then counts as an ordinary node. ClearReplaced returns the objects that it wrote.
func (a *Actor) ClearReplaced(ctx context.Context, n *model.Node) ([]client.Object, error) {
	claim := n.Claim.DeepCopy()
	annotate(claim, apiv1.ReplacesAnnotationKey, "")
	annotate(claim, apiv1.MoveStageAnnotationKey, "")
	if err := Patch(ctx, a.Client, n.Claim, claim); err != nil {
		return nil, fmt.Errorf("adopt claim: %w", err)
	}
	return []client.Object{claim}, nil
}

// Expedite sets the termination deadline of the node's claim, unless the claim has an earlier one. It returns the
// objects that it wrote.
func (a *Actor) Expedite(ctx context.Context, n *model.Node, deadline time.Time) ([]client.Object, error) {
	claim, err := Again(ctx, a.live(), n.Claim, a.tighten(ctx, deadline))
	if err != nil {
		return nil, fmt.Errorf("set deadline of claim: %w", err)
	}
	return []client.Object{claim}, nil
}

// Tighten sets the termination deadline in the claim object, unless the claim has an earlier one. It sends nothing to the API
// server.
func Tighten(claim *apiv1.NodeClaim, deadline time.Time) {
	key := apiv1.NodeClaimTerminationTimestampAnnotationKey
	if at, err := time.Parse(time.RFC3339, claim.Annotations[key]); err == nil && !at.After(deadline) {
		return
	}
	annotate(claim, key, deadline.UTC().Format(time.RFC3339))
}

// tighten returns a write that sets the termination deadline of a claim by Tighten.
func (a *Actor) tighten(ctx context.Context, deadline time.Time) func(*apiv1.NodeClaim) (*apiv1.NodeClaim, error) {
	return func(before *apiv1.NodeClaim) (*apiv1.NodeClaim, error) {
		claim := before.DeepCopy()
		Tighten(claim, deadline)
		return claim, Patch(ctx, a.Client, before, claim)
	}
}

// annotate sets the annotation, or removes it if the value is empty.
func annotate(c *apiv1.NodeClaim, key, value string) {
	if value == "" {
		delete(c.Annotations, key)
		return
	}
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	c.Annotations[key] = value
}

// End deletes the claim of n. The controllers of claims then drain its node and terminate its instance. It is no error if
// the claim does not exist any more. If another claim has its name, End returns a conflict and deletes nothing.
func (a *Actor) End(ctx context.Context, n *model.Node) error {
	_, err := DeleteClaim(ctx, a.Client, n.Claim)
	return err
}

// EndBy deletes the claim of n as End does, and then sets its termination deadline, unless it has an earlier one. It returns
// the objects that it wrote. The deletion comes first: a deadline on a claim that is not deleted would end the drain of a
// later disruption.
func (a *Actor) EndBy(ctx context.Context, n *model.Node, deadline time.Time) ([]client.Object, error) {
	if err := a.End(ctx, n); err != nil {
		return nil, err
	}
	claim, err := AgainDeleting(ctx, a.live(), n.Claim, a.tighten(ctx, deadline))
	if err != nil {
		return nil, fmt.Errorf("set deadline of claim: %w", err)
	}
	return []client.Object{claim}, nil
}
