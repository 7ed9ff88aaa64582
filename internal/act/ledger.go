package act

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// A Ledger writes down on claims what a provider is about to do, before it does it.
type Ledger struct {
	Client client.Client
}

// Record sets the annotations on all claims, and returns once the API server has stored them. It changes the claims handed in
// to what was stored. It returns those that are gone or being deleted, in the order given: the caller must not go on with
// them.
func (l Ledger) Record(
	ctx context.Context, claims []*apiv1.NodeClaim, annotations map[string]string,
) (gone []*apiv1.NodeClaim, err error) {
	ended := make([]bool, len(claims))
	var g errgroup.Group // one failure must not end the writes of the others midway
	g.SetLimit(parallelCreates)
	for n, claim := range claims {
		g.Go(func() (err error) {
			ended[n], err = l.record(ctx, claim, annotations)
			return err
		})
	}
	err = g.Wait()
	for n, claim := range claims {
		if ended[n] {
			gone = append(gone, claim)
		}
	}
	return gone, err
}

// record sets the annotations on one claim and reports whether it is gone or being deleted.
func (l Ledger) record(ctx context.Context, claim *apiv1.NodeClaim, annotations map[string]string) (ended bool, err error) {
	before := claim.DeepCopy()
	if claim.Annotations == nil {
		claim.Annotations = map[string]string{}
	}
	for k, v := range annotations {
		claim.Annotations[k] = v
	}
	// No optimistic lock: the annotations are the provider's own, and other writers' changes do not matter to them.
	err = l.Client.Patch(ctx, claim, client.MergeFrom(before))
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("record launch on claim %s: %w", claim.Name, err)
	}
	return claim.UID != before.UID || !claim.DeletionTimestamp.IsZero(), nil
}
