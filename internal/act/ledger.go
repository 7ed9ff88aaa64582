package act

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/parallel"
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
	// One failure must not end the writes of the others midway.
	err = cmp.Or(parallel.Do(ctx, len(claims), parallelCreates, func(n int) (err error) {
		ended[n], err = l.record(ctx, claims[n], annotations)
		return err
	})...)
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
