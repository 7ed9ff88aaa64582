package act

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/nominate"
	"github.com/karpenter-go/karpenter/internal/parallel"
)

// A Nominator writes nominations to the status of pods, and records on claims that their pods are nominated. It is
// created by NewNominator and safe for concurrent use.
type Nominator struct {
	client client.Client
	slots  chan struct{}
}

// parallelNominations bounds the concurrent writes of a Nominator, so that a large plan does not delay other requests
// to the API server.
const parallelNominations = 20

// NewNominator returns a Nominator that writes with c.
func NewNominator(c client.Client) *Nominator {
	return &Nominator{client: c, slots: make(chan struct{}, parallelNominations)}
}

// Nominate writes all nominations, until ctx is done. It returns the pods as the API server stored them. Pods that do not
// exist any more are omitted without an error. So are pods whose nomination was to be cleared, if they have changed since
// they were read. Another writer may have nominated these. The error joins all other failures.
func (n *Nominator) Nominate(ctx context.Context, nominations []nominate.Nomination) ([]*corev1.Pod, error) {
	return writeAll(ctx, n.slots, nominations, n.nominate)
}

// Release writes to each claim the name of the node to which its pods are nominated, so that the node can be registered.
// For a claim whose Node is empty, it removes the annotation instead. It returns the claims as the API server stored them,
// without those that do not exist any more. The error joins all other failures.
func (n *Nominator) Release(ctx context.Context, claims []nominate.Nominated) ([]*apiv1.NodeClaim, error) {
	return writeAll(ctx, n.slots, claims, n.release)
}

// writeAll calls write for the items concurrently, until ctx is done. Each call takes one of the slots. It returns the stored
// objects, without those for which write returned nil. The error joins the failures.
func writeAll[T, O any](ctx context.Context, slots chan struct{}, items []T, write func(context.Context, T) (*O, error)) ([]*O, error) {
	stored := make([]*O, len(items))
	errs := parallel.Do(ctx, len(items), parallelNominations, func(i int) (err error) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
			stored[i], err = write(ctx, items[i])
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	})
	return slices.DeleteFunc(stored, func(o *O) bool { return o == nil }), errors.Join(errs...)
}

// nominate writes one nomination. It returns nil if the pod does not exist any more, or if its nomination was to be cleared
// but it has changed since it was read.
func (n *Nominator) nominate(ctx context.Context, x nominate.Nomination) (*corev1.Pod, error) {
	patch, err := nominationPatch(x.Pod, x.Node)
	if err != nil {
		return nil, err
	}
	o := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: x.Pod.Object.Namespace, Name: x.Pod.Object.Name}}
	err = n.client.Status().Patch(ctx, o, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(nominate.FieldManager))
	if Conflict(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("nominate pod %s to node %q: %w", x.Pod.Key, x.Node, err)
	}
	return o, nil
}

// release writes one claim. It returns nil if the claim does not exist any more. If x has no node, the annotation is removed. The
// patch has no optimistic lock, because no other writer sets the annotation of an existing claim.
func (n *Nominator) release(ctx context.Context, x nominate.Nominated) (*apiv1.NodeClaim, error) {
	var node any
	if x.Node != "" {
		node = x.Node
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": x.Claim.UID, "annotations": map[string]any{apiv1.PodsNominatedToAnnotationKey: node},
	}})
	if err != nil {
		return nil, fmt.Errorf("make patch of claim %s: %w", x.Claim.Name, err)
	}
	o := &apiv1.NodeClaim{ObjectMeta: metav1.ObjectMeta{Name: x.Claim.Name}}
	err = n.client.Patch(ctx, o, client.RawPatch(types.MergePatchType, patch))
	if Conflict(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("release claim %s: %w", x.Claim.Name, err)
	}
	return o, nil
}

// nominationPatch returns the patch of a pod. It has the UID, so that another pod with the same name is not changed. It has the
// resourceVersion only if it clears the nomination. Otherwise the patch would often conflict, because kube-scheduler writes the
// conditions of pending pods.
func nominationPatch(p *model.Pod, node string) ([]byte, error) {
	metadata, status := map[string]any{"uid": p.UID}, map[string]any{"nominatedNodeName": node}
	if node == "" {
		metadata["resourceVersion"], status["nominatedNodeName"] = p.Object.ResourceVersion, nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": metadata, "status": status})
	if err != nil {
		return nil, fmt.Errorf("make patch of pod %s: %w", p.Key, err)
	}
	return patch, nil
}
