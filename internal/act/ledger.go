package act

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// A Ledger writes down on claims what a provider is about to do, before it does it.
type Ledger struct {
	Client client.Client
}

// Record sets the annotations on all claims and returns once the API server has them all. It changes the claims handed in
// to what was stored. A claim that is gone fails the whole: the caller must not go on with it.
func (l Ledger) Record(ctx context.Context, claims []*apiv1.NodeClaim, annotations map[string]string) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(parallelCreates)
	for _, claim := range claims {
		g.Go(func() error {
			before := claim.DeepCopy()
			if claim.Annotations == nil {
				claim.Annotations = map[string]string{}
			}
			for k, v := range annotations {
				claim.Annotations[k] = v
			}
			// No optimistic lock: the annotations are the provider's own, and other writers' changes do not matter to them.
			if err := l.Client.Patch(ctx, claim, client.MergeFrom(before)); err != nil {
				return fmt.Errorf("record launch on claim %s: %w", claim.Name, err)
			}
			return nil
		})
	}
	return g.Wait()
}
