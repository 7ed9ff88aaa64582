package lifecycle

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/act"
)

// writeStatus writes the claim's status. Other controllers write the status at the same time: for example, they write
// lastPodEventTime and Consolidatable when the first pods are bound to a new node. After a conflict, writeStatus keeps their
// changes and repeats its own write at once, unless the claim was launched meanwhile.
func (p *pass) writeStatus(ctx context.Context) error {
	p.before = p.stored
	if p.launchFailed {
		return p.writeFailure(ctx)
	}
	if act.Same(p.stored, p.claim) {
		return nil
	}
	found := p.claim.DeepCopy()
	written, err := act.Again(ctx, p.live(), p.stored, func(before *apiv1.NodeClaim) (*apiv1.NodeClaim, error) {
		p.before = before
		if launchedMeanwhile(before, found) {
			return before, launchedConflict(before)
		}
		claim := before.DeepCopy()
		copyChanged(claim, p.stored, found)
		return claim, act.PatchStatus(ctx, p.Client, before, claim)
	})
	if err == nil {
		p.claim = written
	}
	return err
}

// writeFailure writes the status after a launch that failed. It writes to the current claim, because the provider may have
// written to the claim during the pass.
func (p *pass) writeFailure(ctx context.Context) error {
	var fresh apiv1.NodeClaim
	if err := p.live().Get(ctx, client.ObjectKeyFromObject(p.claim), &fresh); err != nil {
		return fmt.Errorf("read claim %s after its launch failed: %w", p.claim.Name, err)
	}
	if fresh.UID != p.claim.UID || launchedMeanwhile(&fresh, p.claim) {
		return launchedConflict(&fresh)
	}
	claim := fresh.DeepCopy()
	copyChanged(claim, p.stored, p.claim)
	if err := act.PatchStatus(ctx, p.Client, &fresh, claim); err != nil {
		return err
	}
	p.before, p.claim = &fresh, claim
	return nil
}

// launchedMeanwhile reports whether the current claim is launched, and this pass has not launched it and does not know that it is
// launched. Another process has launched it, which was the leader or is it now. The status of this pass must then not be written:
// a claim whose launch is unknown would be launched again.
func launchedMeanwhile(current, found *apiv1.NodeClaim) bool {
	return condition.IsTrue(current, apiv1.ConditionTypeLaunched) && !condition.IsTrue(found, apiv1.ConditionTypeLaunched)
}

// launchedConflict returns the conflict with which a pass ends whose copy of the claim is out of date. The next pass reads the
// claim again.
func launchedConflict(claim *apiv1.NodeClaim) error {
	return apierrors.NewConflict(apiv1.GroupVersion.WithResource("nodeclaims").GroupResource(), claim.Name,
		errors.New("another process has launched it"))
}

// copyChanged copies to the status of claim what differs between the status of stored and that of found.
func copyChanged(claim, stored, found *apiv1.NodeClaim) {
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

// live returns Live, or Client if Live is nil.
func (p *pass) live() client.Reader {
	if p.Live != nil {
		return p.Live
	}
	return p.Client
}
