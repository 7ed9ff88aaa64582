// Package writes makes every mistake that the check of direct writes is to see, and some calls that are no mistake.
package writes

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/act"
)

type holder struct{ client.Client }

func direct(ctx context.Context, c client.Client, claim *apiv1.NodeClaim, node *corev1.Node, any client.Object) error {
	patch := client.MergeFrom(claim.DeepCopy())
	return errors.Join(
		c.Create(ctx, claim),               // want Create of a NodeClaim
		c.Patch(ctx, claim, patch),         // want Patch of a NodeClaim
		c.Status().Update(ctx, claim),      // want Update of a NodeClaim
		c.Delete(ctx, node),                // want Delete of a Node
		c.Status().Patch(ctx, node, patch), // want Patch of a Node
		c.DeleteAllOf(ctx, &corev1.Node{}), // want DeleteAllOf of a Node
		holder{c}.Update(ctx, node),        // want Update of a Node
		c.Delete(ctx, any),                 // want Delete of an object of unknown kind
	)
}

func generic[T client.Object](ctx context.Context, c client.Writer, o T) error {
	return c.Update(ctx, o) // want Update of an object of unknown kind
}

func others(ctx context.Context, k kubernetes.Interface, d dynamic.ResourceInterface) error {
	err1 := k.CoreV1().Nodes().Delete(ctx, "a", metav1.DeleteOptions{}) // want Delete of a Node
	err2 := d.Delete(ctx, "a", metav1.DeleteOptions{})                  // want Delete of an object of unknown kind
	return errors.Join(err1, err2)
}

func fine(ctx context.Context, c client.Client, claim *apiv1.NodeClaim, pool *apiv1.NodePool, pod *corev1.Pod) error {
	return errors.Join(
		act.PatchStatus(ctx, c, claim.DeepCopy(), claim),
		c.Status().Update(ctx, pool),
		c.SubResource("eviction").Create(ctx, pod, pod),
		c.Get(ctx, client.ObjectKeyFromObject(claim), claim),
	)
}
