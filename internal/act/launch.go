package act

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/parallel"
)

// An Actor writes plans and commands to the API server.
type Actor struct {
	Client client.Client
	// Live reads from the API server after a conflict. If it is nil, Client is used.
	Live client.Reader
	// Labels are the label rules of Karpenter and of the provider.
	Labels apiv1.LabelRules
	// Nominates makes Launch create claims whose nodes exclude pods until the planned pods are nominated to them. Claims
	// that are planned for virtual pods only are exempt.
	Nominates bool
	// Turns enables staged moves: the replacements of a command receive their pods one after another.
	Turns bool
}

func (a *Actor) live() client.Reader {
	if a.Live == nil {
		return a.Client
	}
	return a.Live
}

// A Launch is a planned node with its claim.
type Launch struct {
	Node  *model.PlannedNode
	Claim *apiv1.NodeClaim
}

// parallelCreates bounds how many claims are created at once.
const parallelCreates = 50

// Launch creates a claim for each planned node. It returns the created claims in the order of the plan, even if the creation of
// others failed. The error joins the failures. If Launch is interrupted, the next plan treats the created claims as capacity in
// flight.
func (a *Actor) Launch(ctx context.Context, p *model.Plan) ([]Launch, error) {
	drafts := make([]Launch, len(p.Nodes))
	for i := range p.Nodes {
		n := &p.Nodes[i]
		drafts[i] = Launch{Node: n, Claim: ClaimFor(n, a.Labels)}
		drafts[i].Claim.Name = nameLike(drafts[i].Claim.GenerateName)
		if a.Nominates && slices.ContainsFunc(n.Pods, func(pod *model.Pod) bool { return !pod.Virtual() }) {
			drafts[i].Claim.Annotations[apiv1.PodsNominatedToAnnotationKey] = ""
		}
	}
	return a.create(ctx, drafts)
}

// create creates the claims of the drafts. It returns the drafts whose claims were created, in the given order. The error
// joins the failures.
func (a *Actor) create(ctx context.Context, drafts []Launch) ([]Launch, error) {
	errs := parallel.Do(ctx, len(drafts), parallelCreates, func(i int) error {
		d := drafts[i]
		if err := a.createClaim(ctx, d.Claim); err != nil {
			return fmt.Errorf("create claim of pool %s: %w", d.Node.Pool.Name, err)
		}
		return nil
	})
	var made []Launch
	for i, d := range drafts {
		if errs[i] == nil {
			made = append(made, d)
		}
	}
	return made, errors.Join(errs...)
}

// createClaim creates the claim, which has a name. If the answer is lost, the API server may have created the claim, and a claim
// that is not known would be planned again. So createClaim sends it again, at most twice. The name shows whether an earlier
// request succeeded: then the API server answers that the claim exists, and createClaim reads it.
func (a *Actor) createClaim(ctx context.Context, claim *apiv1.NodeClaim) error {
	draft := claim.DeepCopy()
	err := a.Client.Create(ctx, claim)
	for range 2 {
		if !answerLost(err) || ctx.Err() != nil {
			break
		}
		*claim = *draft.DeepCopy()
		if err = a.Client.Create(ctx, claim); apierrors.IsAlreadyExists(err) {
			err = a.live().Get(ctx, client.ObjectKeyFromObject(claim), claim)
		}
	}
	return err
}

// answerLost reports whether err leaves open if the API server carried out the request: there is no answer, or it has a code of 500
// or more. For example, etcd may store an object although it answers that the request timed out.
func answerLost(err error) bool {
	var status apierrors.APIStatus
	return err != nil && (!errors.As(err, &status) || status.Status().Code >= http.StatusInternalServerError)
}
