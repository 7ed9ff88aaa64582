package lifecycle

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/act"
)

// writeStatus writes what the pass has found out. Others write a claim whose node has just been opened, too: that pods have come, or
// that it may be consolidated. Theirs stands beside ours, for to look at everything once more would take until the next
// pass, and pods are coming by the hundred just then.
func (p *pass) writeStatus(ctx context.Context) error {
	p.before = p.stored
	if p.unlocked {
		return act.MergeStatus(ctx, p.Client, p.stored, p.claim)
	}
	if equality.Semantic.DeepEqual(p.stored, p.claim) {
		return nil
	}
	found := p.claim.DeepCopy()
	written, err := act.Again(ctx, p.live(), p.stored, func(before *apiv1.NodeClaim) (*apiv1.NodeClaim, error) {
		p.before = before
		claim := before.DeepCopy()
		overlay(claim, p.stored, found)
		return claim, act.PatchStatus(ctx, p.Client, before, claim)
	})
	if err == nil {
		p.claim = written
	}
	return err
}

// overlay gives claim what the status of found has become since it was that of stored.
func overlay(claim, stored, found *apiv1.NodeClaim) {
	to, was, is := &claim.Status, &stored.Status, &found.Status
	condition.CopyChanged(claim, stored, found)
	if is.NodeName != was.NodeName {
		to.NodeName = is.NodeName
	}
	if is.ProviderID != was.ProviderID {
		to.ProviderID = is.ProviderID
	}
	if is.ImageID != was.ImageID {
		to.ImageID = is.ImageID
	}
	if !equality.Semantic.DeepEqual(is.Capacity, was.Capacity) {
		to.Capacity = is.Capacity
	}
	if !equality.Semantic.DeepEqual(is.Allocatable, was.Allocatable) {
		to.Allocatable = is.Allocatable
	}
}

// live reads past the cache, if that is possible.
func (p *pass) live() client.Reader {
	if p.Live != nil {
		return p.Live
	}
	return p.Client
}
