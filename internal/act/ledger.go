package act

import (
	"cmp"
	"context"
	"fmt"
	"maps"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/parallel"
)

// A Ledger writes annotations to claims, so that a provider can record a launch before it calls the cloud.
type Ledger struct {
	Client client.Client
	// Live reads claims from the API server after a conflict.
	Live client.Reader
}

// A RecordedElsewhereError means that another process recorded a launch of the claim after the claim was read. This happens
// to a leader that was paused and has not yet noticed that it lost its lease.
type RecordedElsewhereError struct{ Claim string }

// Error implements error.
func (e *RecordedElsewhereError) Error() string {
	return "record launch on claim " + e.Claim + ": another process has recorded one since the claim was read"
}

// RecordedElsewhere returns the name of the claim. Providers recognize the error by this method.
func (e *RecordedElsewhereError) RecordedElsewhere() string { return e.Claim }

// Record sets the annotations on all claims, and returns once the API server has stored them. It updates the given claims
// to the stored version. It returns the claims that are deleted or being deleted, in the given order. The caller must not
// launch instances for these. The error is the first one in the order of the claims. It is a RecordedElsewhereError if,
// since the claim was read, another process has changed one of these annotations to a different value than the given one.
func (l Ledger) Record(
	ctx context.Context, claims []*apiv1.NodeClaim, annotations map[string]string,
) (gone []*apiv1.NodeClaim, err error) {
	ended := make([]bool, len(claims))
	// Do writes every claim, even if the write of another one fails.
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
	read := claim.DeepCopy()
	for try := 1; ; try++ {
		before := claim.DeepCopy()
		if claim.Annotations == nil {
			claim.Annotations = map[string]string{}
		}
		maps.Copy(claim.Annotations, annotations)
		// After a conflict, only changes of these annotations are an error. Other changes of the claim do not matter.
		err = l.Client.Patch(ctx, claim, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
		switch {
		case apierrors.IsNotFound(err):
			return true, nil
		case err == nil:
			return claim.UID != read.UID || !claim.DeletionTimestamp.IsZero(), nil
		case !apierrors.IsConflict(err) || try >= tries:
			return false, fmt.Errorf("record launch on claim %s: %w", claim.Name, err)
		}
		if err := l.Live.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			if apierrors.IsNotFound(err) {
				return true, nil
			}
			return false, fmt.Errorf("read claim %s again: %w", claim.Name, err)
		}
		if claim.UID != read.UID || !claim.DeletionTimestamp.IsZero() {
			return true, nil
		}
		for k, v := range annotations {
			if now := claim.Annotations[k]; now != read.Annotations[k] && now != v {
				return false, &RecordedElsewhereError{Claim: claim.Name}
			}
		}
	}
}
