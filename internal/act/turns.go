package act

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/move"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/parallel"
)

// Reserve reserves existing nodes for a staged move. For each node, it first records on the node's claim from which claims
// pods will move to the node. Then it taints the node, so that no pods are bound to it. If a node cannot be reserved, it has
// no taint, and the error joins the failures. Reserve returns the objects that it wrote. Without Turns it does nothing.
func (a *Actor) Reserve(ctx context.Context, destinations []move.Destination) ([]client.Object, error) {
	if !a.Turns {
		return nil, nil
	}
	written := make([][]client.Object, len(destinations))
	errs := parallel.Do(ctx, len(destinations), parallelMarks, func(i int) (err error) {
		written[i], err = a.reserve(ctx, destinations[i])
		return err
	})
	return slices.Concat(written...), errors.Join(errs...)
}

func (a *Actor) reserve(ctx context.Context, d move.Destination) ([]client.Object, error) {
	claim, err := Again(ctx, a.live(), d.Node.Claim, func(before *apiv1.NodeClaim) (*apiv1.NodeClaim, error) {
		claim := before.DeepCopy()
		annotate(claim, apiv1.ReceivesPodsFromAnnotationKey, strings.Join(d.From, ","))
		return claim, Patch(ctx, a.Client, before, claim)
	})
	if err != nil {
		return nil, fmt.Errorf("reserve node: annotate claim: %w", err)
	}
	node, err := Again(ctx, a.live(), d.Node.Object, func(before *corev1.Node) (*corev1.Node, error) {
		node := before.DeepCopy()
		node.Spec.Taints = append(withoutReserved(node.Spec.Taints), apiv1.StagedMoveNoScheduleTaint())
		return node, Patch(ctx, a.Client, before, node)
	})
	if err != nil {
		return []client.Object{claim}, fmt.Errorf("reserve node: %w", err)
	}
	return []client.Object{claim, node}, nil
}

// Open removes what Reserve wrote from a node whose stage begins. It returns the objects that it wrote.
func (a *Actor) Open(ctx context.Context, n *model.Node) ([]client.Object, error) {
	node, err := Again(ctx, a.live(), n.Object, func(before *corev1.Node) (*corev1.Node, error) {
		node := before.DeepCopy()
		node.Spec.Taints = withoutReserved(node.Spec.Taints)
		return node, Patch(ctx, a.Client, before, node)
	})
	if err != nil {
		return nil, fmt.Errorf("open node: %w", err)
	}
	if n.Claim.Annotations[apiv1.ReceivesPodsFromAnnotationKey] == "" {
		return []client.Object{node}, nil
	}
	claim, err := Again(ctx, a.live(), n.Claim, func(before *apiv1.NodeClaim) (*apiv1.NodeClaim, error) {
		claim := before.DeepCopy()
		annotate(claim, apiv1.ReceivesPodsFromAnnotationKey, "")
		return claim, Patch(ctx, a.Client, before, claim)
	})
	if err != nil {
		return []client.Object{node}, fmt.Errorf("open node: annotate claim: %w", err)
	}
	return []client.Object{node, claim}, nil
}

func withoutReserved(taints []corev1.Taint) []corev1.Taint {
	return slices.DeleteFunc(taints, func(t corev1.Taint) bool { return t.Key == apiv1.StagedMoveTaintKey })
}
