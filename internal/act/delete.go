package act

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// DeleteClaim deletes the claim with the same name and UID, and reports whether it existed. If another claim has the name,
// the error is a conflict. The controllers of claims then drain its node and terminate its instance.
func DeleteClaim(ctx context.Context, c client.Writer, claim *apiv1.NodeClaim) (deleted bool, err error) {
	return remove(ctx, c, claim, "claim")
}

// DeleteNode deletes the node with the same name and UID, and reports whether it existed. If another node has the name, the
// error is a conflict.
func DeleteNode(ctx context.Context, c client.Writer, node *corev1.Node) (deleted bool, err error) {
	return remove(ctx, c, node, "node")
}

// remove deletes the object if it exists. If the existing object has another UID, the error is a conflict.
func remove(ctx context.Context, c client.Writer, o client.Object, kind string) (deleted bool, err error) {
	uid := o.GetUID()
	err = c.Delete(ctx, o, client.Preconditions{UID: &uid})
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("delete %s %s: %w", kind, o.GetName(), err)
	}
	return err == nil, nil
}
