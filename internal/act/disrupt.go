package act

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// parallelMarks bounds how many nodes are marked at once.
const parallelMarks = 10

// Replace creates the claims that come in the place of the command's nodes. They name what they replace, so that they are
// known for what they are after a crash. If one cannot be created none is kept. It returns those that were created.
func (a *Actor) Replace(ctx context.Context, c *model.Command) ([]Launch, error) {
	plan := &model.Plan{Nodes: c.Replacements}
	var claims, types []string
	for _, n := range c.Nodes {
		claims = append(claims, n.Claim.Name)
		types = append(types, n.Labels[corev1.LabelInstanceTypeStable]+"/"+n.Labels[apiv1.CapacityTypeLabelKey])
	}
	slices.Sort(types)
	launches, err := a.launch(ctx, plan, map[string]string{
		apiv1.ReplacesAnnotationKey:      strings.Join(claims, ","),
		apiv1.ReplacedTypesAnnotationKey: strings.Join(slices.Compact(types), ","),
	})
	if err == nil {
		return launches, nil
	}
	for _, l := range launches {
		if deleteErr := client.IgnoreNotFound(a.Client.Delete(ctx, l.Claim)); deleteErr != nil {
			err = errors.Join(err, fmt.Errorf("take back claim %s: %w", l.Claim.Name, deleteErr))
		}
	}
	return nil, err
}

// MarkAll marks the command's nodes, which wait for the claims named. A node that cannot be marked is left as it is; the
// error joins why. It returns what was written.
func (a *Actor) MarkAll(
	ctx context.Context, c *model.Command, waitFor []string, now time.Time,
) ([]client.Object, error) {
	written, errs := make([][]client.Object, len(c.Nodes)), make([]error, len(c.Nodes))
	var g errgroup.Group
	g.SetLimit(parallelMarks)
	for i, n := range c.Nodes {
		g.Go(func() error {
			written[i], errs[i] = a.Mark(ctx, n, c.Reason, waitFor, now)
			return nil
		})
	}
	err := errors.Join(g.Wait(), errors.Join(errs...))
	return slices.Concat(written...), err
}

// Mark makes the intent to disrupt n visible before anything is done: the claim says for which claims it waits, its
// condition why it goes, then the taint keeps new pods away. After a crash they tell what was under way. It returns what was
// written.
func (a *Actor) Mark(
	ctx context.Context, n *model.Node, reason apiv1.DisruptionReason, waitFor []string, now time.Time,
) ([]client.Object, error) {
	claim := n.Claim.DeepCopy()
	annotate(claim, apiv1.ReplacedByAnnotationKey, strings.Join(waitFor, ","))
	if err := Patch(ctx, a.Client, n.Claim, claim); err != nil {
		return nil, fmt.Errorf("annotate claim: %w", err)
	}
	before := claim.DeepCopy()
	condition.SetTrueWithReason(claim, apiv1.ConditionTypeDisruptionReason, string(reason), string(reason), now)
	if err := PatchStatus(ctx, a.Client, before, claim); err != nil {
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
	before := claim.DeepCopy()
	annotate(claim, apiv1.ReplacedByAnnotationKey, "")
	if err := Patch(ctx, a.Client, before, claim); err != nil {
		return []client.Object{node}, fmt.Errorf("unmark claim: %w", err)
	}
	return []client.Object{node, claim}, nil
}

// Adopt makes a replacement whose nodes stay an ordinary node: nothing waits for it any more. It returns what was written.
func (a *Actor) Adopt(ctx context.Context, n *model.Node) ([]client.Object, error) {
	claim := n.Claim.DeepCopy()
	annotate(claim, apiv1.ReplacesAnnotationKey, "")
	if err := Patch(ctx, a.Client, n.Claim, claim); err != nil {
		return nil, fmt.Errorf("adopt claim: %w", err)
	}
	return []client.Object{claim}, nil
}

// Force sets the deadline of the node's claim to now, so that its end does not wait for pods. It returns what was written.
func (a *Actor) Force(ctx context.Context, n *model.Node, now time.Time) ([]client.Object, error) {
	claim := n.Claim.DeepCopy()
	key := apiv1.NodeClaimTerminationTimestampAnnotationKey
	if at, err := time.Parse(time.RFC3339, claim.Annotations[key]); err == nil && !at.After(now) {
		return nil, nil
	}
	annotate(claim, key, now.UTC().Format(time.RFC3339))
	if err := Patch(ctx, a.Client, n.Claim, claim); err != nil {
		return nil, fmt.Errorf("set deadline of claim: %w", err)
	}
	return []client.Object{claim}, nil
}

// annotate sets the annotation, or takes it off if the value is empty.
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

// End deletes the claim of n; its node is drained and its instance ended by the claim's own controllers. A claim that is
// gone already, or is another one by now, is left alone.
func (a *Actor) End(ctx context.Context, n *model.Node) error {
	err := a.Client.Delete(ctx, n.Claim, client.Preconditions{UID: &n.Claim.UID})
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("delete claim %s: %w", n.Claim.Name, err)
	}
	return nil
}
