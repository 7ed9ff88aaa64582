package act

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// An Actor writes to Kubernetes.
type Actor struct {
	Client client.Client
	// Labels are the label facts of the provider.
	Labels apiv1.LabelRules
}

// A Launch is a planned node and the claim that now asks for it.
type Launch struct {
	Node  *model.PlannedNode
	Claim *apiv1.NodeClaim
}

// parallelCreates bounds how many claims are created at once.
const parallelCreates = 50

// Launch creates a claim for each planned node. It returns those that were created, in the order of the plan, also if
// others failed; the error joins what went wrong. A crash in between leaves claims that the next plan sees as capacity in
// flight.
func (a *Actor) Launch(ctx context.Context, p *model.Plan) ([]Launch, error) {
	return a.launch(ctx, p, nil)
}

// launch is Launch with annotations of its own on every claim.
func (a *Actor) launch(ctx context.Context, p *model.Plan, annotations map[string]string) ([]Launch, error) {
	claims, errs := make([]*apiv1.NodeClaim, len(p.Nodes)), make([]error, len(p.Nodes))
	var g errgroup.Group
	g.SetLimit(parallelCreates)
	for i := range p.Nodes {
		g.Go(func() error {
			claim := ClaimFor(&p.Nodes[i], a.Labels)
			maps.Copy(claim.Annotations, annotations)
			if err := a.Client.Create(ctx, claim); err != nil {
				errs[i] = fmt.Errorf("create claim of pool %s: %w", p.Nodes[i].Pool.Name, err)
				return nil
			}
			claims[i] = claim
			return nil
		})
	}
	err := errors.Join(g.Wait(), errors.Join(errs...))
	var launches []Launch
	for i, claim := range claims {
		if claim != nil {
			launches = append(launches, Launch{Node: &p.Nodes[i], Claim: claim})
		}
	}
	return launches, err
}
