package act

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// A Writer writes claims and nodes for providers. A provider declares an interface with the methods that it needs. Package
// operator passes it a Writer.
type Writer struct {
	Client client.Client
}

// Merge calls the function Merge.
func (w Writer) Merge(ctx context.Context, before, obj client.Object) error {
	return Merge(ctx, w.Client, before, obj)
}

// PatchStatus calls the function PatchStatus.
func (w Writer) PatchStatus(ctx context.Context, before, obj client.Object) error {
	return PatchStatus(ctx, w.Client, before, obj)
}

// CreateNode creates a node.
func (w Writer) CreateNode(ctx context.Context, node *corev1.Node) error {
	if err := w.Client.Create(ctx, node); err != nil {
		return fmt.Errorf("create node %s: %w", node.Name, err)
	}
	return nil
}

// CreateClaim creates a claim. The claim gets its UID and version.
func (w Writer) CreateClaim(ctx context.Context, claim *apiv1.NodeClaim) error {
	if err := w.Client.Create(ctx, claim); err != nil {
		return fmt.Errorf("create claim %s: %w", claim.Name, err)
	}
	return nil
}

// DeleteClaim calls the function DeleteClaim.
func (w Writer) DeleteClaim(ctx context.Context, claim *apiv1.NodeClaim) (deleted bool, err error) {
	return DeleteClaim(ctx, w.Client, claim)
}

// DeleteNode calls the function DeleteNode.
func (w Writer) DeleteNode(ctx context.Context, node *corev1.Node) (deleted bool, err error) {
	return DeleteNode(ctx, w.Client, node)
}
