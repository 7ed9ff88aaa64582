package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	cloudv1 "github.com/karpenter-go/karpenter/cloud/proto/karpenter/cloud/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/provider/remote/wire"
)

// Reasons of failed launches.
const (
	reasonUnreachable = "ProviderUnreachable"
	reasonRejected    = "ProviderAnswerRejected"
)

// maxCandidates is the maximum number of offerings in the request for a launch.
const maxCandidates = 100

// Create implements cloud.Provider. The token of the launch is the UID of the claim, so a repeated call returns the
// instance of the first one.
func (p *Provider) Create(ctx context.Context, claim *apiv1.NodeClaim) (*cloud.Instance, error) {
	kinds, err := p.types(ctx, claim.Spec.NodeClassRef, claim.Spec.Taints, claim.Spec.StartupTaints)
	if err != nil {
		return nil, err
	}
	if pool := claim.Labels[apiv1.NodePoolLabelKey]; pool != "" && p.config.Overlay != nil {
		if kinds, err = p.config.Overlay(ctx, pool, kinds); err != nil {
			return nil, fmt.Errorf("price instance types: %w", err)
		}
	}
	class, err := p.class(ctx, claim.Spec.NodeClassRef)
	if err != nil {
		return nil, err
	}
	text, err := manifest(claim)
	if err != nil {
		return nil, err
	}
	// Without candidates, the call is made nevertheless, because an earlier call may have launched an instance.
	request := &cloudv1.CreateInstanceRequest{
		Token: tokenOf(claim), Candidates: p.candidates(claim, kinds), NodeClaimJson: text, NodeClassJson: class,
	}
	answer, err := call(ctx, p, createMethod, createCall, p.api.CreateInstance, request)
	var unreachable *UnreachableError
	switch {
	case errors.As(err, &unreachable):
		return nil, &cloud.LaunchError{Reason: reasonUnreachable, Message: unreachable.Error(), Err: err}
	case err != nil:
		return nil, fmt.Errorf("create instance: %w", err)
	case answer.GetFailure() != nil:
		return nil, p.failed(answer.GetFailure(), request.GetCandidates())
	}
	i, err := p.accept(answer.GetInstance(), claim, kinds)
	if p.checked(err) != nil {
		return nil, &cloud.LaunchError{
			Reason: reasonRejected, Message: fmt.Sprintf("provider %s: %v", p.Name(), err), Err: err,
		}
	}
	return i, nil
}

// candidates returns the offerings that the claim allows, that can be launched, and whose type is large enough for
// its requests. They are sorted by price, then by the name of the type, then by model.Offering.Compare. Only the
// first maxCandidates are returned.
func (p *Provider) candidates(claim *apiv1.NodeClaim, kinds []*cloud.InstanceType) []*cloudv1.OfferingKey {
	type candidate struct {
		name     string
		offering cloud.Offering
	}
	var all []candidate
	asked := require.FromSpec(claim.Spec.Requirements).Normalize(p.info.Facts.Labels.Aliases)
	requests := model.RequestsOf(claim.Spec.Resources.Requests)
	for _, t := range kinds {
		_, _, short := requests.Short(t.Allocatable)
		if _, ok := asked.Intersects(t.Requirements); !ok || short {
			continue
		}
		for _, o := range t.Offerings {
			if _, ok := asked.Intersects(o.Requirements); ok && o.Launchable() {
				all = append(all, candidate{t.Name, o})
			}
		}
	}
	slices.SortFunc(all, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.offering.Price, b.offering.Price), cmp.Compare(a.name, b.name), a.offering.Compare(b.offering))
	})
	var out []*cloudv1.OfferingKey
	for _, c := range all[:min(len(all), maxCandidates)] {
		out = append(out, wire.KeyOf(c.name, c.offering))
	}
	return out
}

// failed returns the error of a failed launch. If it is a lack of capacity, it records the exhausted offerings: those that
// the provider names, or all candidates.
func (p *Provider) failed(f *cloudv1.Failure, candidates []*cloudv1.OfferingKey) error {
	if f.GetKind() != cloudv1.FailureKind_FAILURE_KIND_INSUFFICIENT_CAPACITY {
		return wire.ReadFailure(f)
	}
	exhausted, wait, err := wire.ReadExhausted(f)
	if err != nil {
		return &cloud.LaunchError{Reason: reasonRejected, Message: p.checked(err).Error(), Err: err}
	}
	if len(exhausted) == 0 {
		exhausted = candidates
	}
	p.shortages.add(exhausted, p.config.Clock.Now().Add(wait))
	return wire.ReadFailure(f)
}

// accept checks that the instance belongs to the claim and meets its requirements. It adds the facts about the instance's
// type that are in the catalogue.
func (p *Provider) accept(m *cloudv1.Instance, claim *apiv1.NodeClaim, kinds []*cloud.InstanceType) (*cloud.Instance, error) {
	i, err := p.info.ReadInstance(m)
	if err != nil {
		return nil, err
	}
	if m.GetToken() != tokenOf(claim) {
		return nil, wire.Reject(wire.WrongInstance, "instance %s was launched with another token", i.ProviderID)
	}
	if i.Ending {
		return nil, wire.Reject(wire.WrongInstance, "instance %s is being ended", i.ProviderID)
	}
	p.describe(i, m, kinds)
	i.Labels[apiv1.NodePoolLabelKey] = claim.Labels[apiv1.NodePoolLabelKey]
	for _, key := range []string{corev1.LabelInstanceTypeStable, corev1.LabelTopologyZone, apiv1.CapacityTypeLabelKey} {
		if i.Labels[key] == "" {
			return nil, wire.Reject(wire.Missing, "instance %s has no %s", i.ProviderID, key)
		}
	}
	for r := range require.FromSpec(claim.Spec.Requirements).Normalize(p.info.Facts.Labels.Aliases).All() {
		if value, told := i.Labels[r.Key()]; told && !r.Has(value) {
			return nil, wire.Reject(wire.WrongInstance, "instance %s has %s=%s, which the NodeClaim does not allow", i.ProviderID, r.Key(), value)
		}
	}
	if name, by, short := model.RequestsOf(claim.Spec.Resources.Requests).Short(model.CapacityOf(i.Allocatable)); short {
		amount := model.Quantity(name, by)
		return nil, wire.Reject(wire.WrongInstance, "instance %s has %s too little %s for the NodeClaim", i.ProviderID, &amount, name)
	}
	if i.Created.IsZero() || i.Created.After(p.config.Clock.Now()) {
		i.Created = p.config.Clock.Now()
	}
	if other, taken := p.owners.take(i.ProviderID, claim); taken {
		return nil, wire.Reject(wire.WrongInstance, "instance %s belongs to NodeClaim %s", i.ProviderID, other)
	}
	return i, nil
}

// describe adds labels and resources of the instance's type that the provider did not send.
func (p *Provider) describe(i *cloud.Instance, m *cloudv1.Instance, kinds []*cloud.InstanceType) {
	at := slices.IndexFunc(kinds, func(t *cloud.InstanceType) bool { return t.Name == i.Labels[corev1.LabelInstanceTypeStable] })
	if at < 0 {
		return
	}
	t := kinds[at]
	derived := t.Requirements.Labels()
	for _, o := range t.Offerings {
		if o.Zone == i.Labels[corev1.LabelTopologyZone] && o.CapacityType == i.Labels[apiv1.CapacityTypeLabelKey] &&
			o.ReservationID == m.GetOffering().GetReservationId() {
			for k, v := range o.Requirements.Labels() {
				derived[k] = v
			}
		}
	}
	for k, v := range derived {
		if _, told := i.Labels[k]; !told {
			i.Labels[k] = v
		}
	}
	if len(i.Capacity) == 0 {
		i.Capacity = t.Capacity.List()
	}
	if len(i.Allocatable) == 0 {
		i.Allocatable = t.Allocatable.List()
	}
}

// owners records which claim got which instance. So a response with the instance of another claim is detected. The record is
// lost in a restart. That is safe, because every call has the token of its claim.
type owners struct {
	mu sync.Mutex // guards of
	of map[string]owner
}

// An owner is the claim of an instance.
type owner struct {
	uid  types.UID
	name string
}

// take records that the instance belongs to the claim. taken is true if it already belongs to another claim, whose name is
// other.
func (o *owners) take(providerID string, claim *apiv1.NodeClaim) (other string, taken bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if known, there := o.of[providerID]; there && known.uid != claim.UID {
		return known.name, true
	}
	o.of[providerID] = owner{claim.UID, claim.Name}
	return "", false
}

// forget removes the records of the claim's instances.
func (o *owners) forget(claim *apiv1.NodeClaim) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if id := claim.Status.ProviderID; id != "" && o.of[id].uid == claim.UID {
		delete(o.of, id)
		return
	}
	for id, known := range o.of {
		if known.uid == claim.UID {
			delete(o.of, id)
		}
	}
}
