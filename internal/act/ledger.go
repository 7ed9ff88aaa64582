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

// A Ledger writes annotations to claims, so that a provider can record a launch before it calls the cloud.
type Ledger struct {
	Client client.Client
}

// Record sets the annotations on all claims, and returns once the API server has stored them. It updates the given
// claims to the stored version. It returns the claims that are deleted or being deleted, in the given order. The caller
// must not launch instances for these.
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

// record sets the annotations on one claim and reports whether the claim is deleted or being deleted.
func (l Ledger) record(ctx context.Context, claim *apiv1.NodeClaim, annotations map[string]string) (ended bool, err error) {
	before := claim.DeepCopy()
	if claim.Annotations == nil {
		claim.Annotations = map[string]string{}
	}
	for k, v := range annotations {
		claim.Annotations[k] = v
	}
	// There is no optimistic lock, because no other writer changes these annotations.
	err = l.Client.Patch(ctx, claim, client.MergeFrom(before))
	switch {
	case apierrors.IsNotFound(err):
		return true, nil
	case err != nil:
		return false, fmt.Errorf("record launch on claim %s: %w", claim.Name, err)
	}
	return claim.UID != before.UID || !claim.DeletionTimestamp.IsZero(), nil
}
