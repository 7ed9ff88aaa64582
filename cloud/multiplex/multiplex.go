// Package multiplex combines several cloud.Providers into one, so that NodePools with different node classes are planned
// together.
//
// A call about a NodePool or a NodeClaim goes to the provider of its node class. A call about a provider ID goes to the
// provider with the prefix of that ID. If that does not know the instance, it goes to the providers without prefixes. The
// failure of one provider affects only its own NodePools.
package multiplex

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A Provider implements cloud.Provider by calls of other providers, which are its parts.
type Provider struct {
	parts []cloud.Provider
	facts cloud.Facts

	mu sync.Mutex // guards completed
	// completed has copies of the instance types of a part, to which the labels of the other parts were added as absent.
	// The key is the type that the part returned. It is a cache, and its loss does no harm.
	completed map[*cloud.InstanceType]*cloud.InstanceType
}

var (
	_ cloud.Provider = (*Provider)(nil)
	_ cloud.Notifier = (*Provider)(nil)
	_ cloud.Shifter  = (*Provider)(nil)
	_ cloud.Pricer   = (*Provider)(nil)
)

// New returns a provider that consists of the parts. It returns an error if two parts have the same name or the same kind
// of node class. It is also an error if a prefix of one part's provider IDs begins with a prefix of another part's.
func New(parts ...cloud.Provider) (*Provider, error) {
	p := &Provider{parts: parts, completed: map[*cloud.InstanceType]*cloud.InstanceType{}}
	p.facts.Labels, p.facts.LaunchTimeouts = apiv1.CoreLabels(), map[schema.GroupKind]time.Duration{}
	var errs []error
	var all []cloud.Facts
	names := sets.New[string]()
	for _, part := range parts {
		facts := part.Facts()
		all = append(all, facts)
		if names.Has(part.Name()) {
			errs = append(errs, fmt.Errorf("two providers have the name %s", part.Name()))
		}
		names.Insert(part.Name())
		for _, kind := range facts.NodeClasses {
			if p.facts.Manages(&apiv1.NodeClassReference{Group: kind.Group, Kind: kind.Kind}) {
				errs = append(errs, fmt.Errorf("two providers have node classes of kind %s", kind.GroupKind()))
			}
		}
		for _, prefix := range facts.ProviderIDPrefixes {
			for _, other := range p.facts.ProviderIDPrefixes {
				if strings.HasPrefix(prefix, other) || strings.HasPrefix(other, prefix) {
					errs = append(errs, fmt.Errorf("two providers have provider IDs that begin with %s", prefix))
				}
			}
		}
		p.facts.NodeClasses = append(p.facts.NodeClasses, facts.NodeClasses...)
		maps.Copy(p.facts.LaunchTimeouts, facts.LaunchTimeouts)
		p.facts.ProviderIDPrefixes = append(p.facts.ProviderIDPrefixes, facts.ProviderIDPrefixes...)
		p.facts.Labels = p.facts.Labels.With(facts.Labels)
	}
	p.facts.RepairPolicies, p.facts.LegacyRepairPolicies = RepairPolicies(all...)
	return p, errors.Join(errs...)
}

// RepairPolicies returns the repair policies of several providers, each restricted to the nodes of its provider. legacy are
// those that apply with --legacy-node-repair.
func RepairPolicies(all ...cloud.Facts) (policies, legacy []cloud.RepairPolicy) {
	for _, facts := range all {
		policies = append(policies, limited(facts, facts.RepairPolicies)...)
		legacy = append(legacy, limited(facts, legacyOf(facts))...)
	}
	return policies, legacy
}

// legacyOf returns the repair policies of a part that apply with --legacy-node-repair.
func legacyOf(f cloud.Facts) []cloud.RepairPolicy {
	if f.LegacyRepairPolicies != nil {
		return f.LegacyRepairPolicies
	}
	return slices.DeleteFunc(slices.Clone(f.RepairPolicies), func(p cloud.RepairPolicy) bool { return p.Action != cloud.ReplaceNode })
}

// limited returns the policies, restricted to the nodes of a part. These nodes have the label of one of its
// kinds of node class.
func limited(f cloud.Facts, policies []cloud.RepairPolicy) []cloud.RepairPolicy {
	var out []cloud.RepairPolicy
	for _, kind := range f.NodeClasses {
		for _, policy := range policies {
			policy.NodeLabel = kind.Group + "/" + strings.ToLower(kind.Kind)
			out = append(out, policy)
		}
	}
	return out
}

// Name implements cloud.Provider. It consists of the names of the parts.
func (p *Provider) Name() string {
	names := make([]string, len(p.parts))
	for n, part := range p.parts {
		names[n] = part.Name()
	}
	return strings.Join(names, ",")
}

// NameOf implements cloud.Named.
func (p *Provider) NameOf(ref *apiv1.NodeClassReference) string {
	if part := p.of(ref); part != nil {
		return part.Name()
	}
	return p.Name()
}

// Facts implements cloud.Provider.
func (p *Provider) Facts() cloud.Facts { return p.facts }

// of returns the part with the kind of the node class, nil if there is none.
func (p *Provider) of(ref *apiv1.NodeClassReference) cloud.Provider {
	for _, part := range p.parts {
		if part.Facts().Manages(ref) {
			return part
		}
	}
	return nil
}

// partOf returns the part, one of the combined providers, to which the claim's node class belongs, or a
// NodeClassNotReadyError if there is none.
func (p *Provider) partOf(claim *apiv1.NodeClaim) (cloud.Provider, error) {
	if part := p.of(claim.Spec.NodeClassRef); part != nil {
		return part, nil
	}
	return nil, &cloud.NodeClassNotReadyError{Err: fmt.Errorf("no provider manages %v", claim.Spec.NodeClassRef)}
}

// InstanceTypes implements cloud.Provider. Well-known labels that only other parts have are marked as absent
// on its types.
func (p *Provider) InstanceTypes(ctx context.Context, pool *apiv1.NodePool) ([]*cloud.InstanceType, error) {
	part := p.of(pool.Spec.Template.Spec.NodeClassRef)
	if part == nil {
		return nil, &cloud.NodeClassNotReadyError{Err: fmt.Errorf("no provider manages %v", pool.Spec.Template.Spec.NodeClassRef)}
	}
	types, err := part.InstanceTypes(ctx, pool)
	if err != nil {
		return nil, err
	}
	return p.complete(types, p.facts.Labels.WellKnown.Difference(part.Facts().Labels.WellKnown)), nil
}

// maxCompleted bounds the number of cached types. Types change whenever prices change, so the cache would
// grow without a bound.
const maxCompleted = 20_000

// complete returns copies of the types that require the absence of the labels in lacking, except those that a type defines.
// It returns the same copy for the same type, as long as the copy is cached. If lacking is empty, it returns types.
func (p *Provider) complete(types []*cloud.InstanceType, lacking sets.Set[string]) []*cloud.InstanceType {
	if len(lacking) == 0 {
		return types
	}
	var absent []require.Requirement
	for _, key := range sets.List(lacking) {
		absent = append(absent, require.New(key, require.DoesNotExist))
	}
	none := require.NewSet(absent...)
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.completed) > maxCompleted {
		clear(p.completed)
	}
	out := make([]*cloud.InstanceType, len(types))
	for n, t := range types {
		full := p.completed[t]
		if full == nil {
			changed := *t
			changed.Requirements = none.Without(t.Requirements.Keys()...).And(t.Requirements)
			full = &changed
			p.completed[t] = full
		}
		out[n] = full
	}
	return out
}

// Create implements cloud.Provider.
func (p *Provider) Create(ctx context.Context, claim *apiv1.NodeClaim) (*cloud.Instance, error) {
	part, err := p.partOf(claim)
	if err != nil {
		return nil, err
	}
	return part.Create(ctx, claim)
}

// Delete implements cloud.Provider. A claim without a node class stands for a node whose claim does not exist any more. Its
// instance is found by the provider ID.
func (p *Provider) Delete(ctx context.Context, claim *apiv1.NodeClaim) error {
	if claim.Spec.NodeClassRef == nil {
		return p.deleteByID(ctx, claim)
	}
	part, err := p.partOf(claim)
	if err != nil {
		return err
	}
	return part.Delete(ctx, claim)
}

// Reboot implements cloud.Provider.
func (p *Provider) Reboot(ctx context.Context, claim *apiv1.NodeClaim, operationID string) error {
	part, err := p.partOf(claim)
	if err != nil {
		return err
	}
	return part.Reboot(ctx, claim, operationID)
}

// candidates returns the parts that may have an instance: the one with the prefix of its ID, and then parts without prefixes in
// their order.
func (p *Provider) candidates(providerID string) (out []cloud.Provider) {
	for _, open := range []bool{false, true} {
		for _, part := range p.parts {
			prefixes := part.Facts().ProviderIDPrefixes
			has := slices.ContainsFunc(prefixes, func(s string) bool { return strings.HasPrefix(providerID, s) })
			if open == (len(prefixes) == 0) && (open || has) {
				out = append(out, part)
			}
		}
	}
	return out
}

// deleteByID deletes the instance with the claim's provider ID. It returns ErrNotFound only if all candidates return
// it.
func (p *Provider) deleteByID(ctx context.Context, claim *apiv1.NodeClaim) error {
	var errs []error
	for _, part := range p.candidates(claim.Status.ProviderID) {
		err := part.Delete(ctx, claim)
		if err == nil {
			return nil
		}
		if !errors.Is(err, cloud.ErrNotFound) {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return errors.Join(errs...)
	}
	return fmt.Errorf("instance %s: %w", claim.Status.ProviderID, cloud.ErrNotFound)
}

// Get implements cloud.Provider. An instance that one candidate does not know may be one of another. So Get returns
// ErrNotFound only if all candidates return it.
func (p *Provider) Get(ctx context.Context, providerID string) (*cloud.Instance, error) {
	var errs []error
	for _, part := range p.candidates(providerID) {
		i, err := part.Get(ctx, providerID)
		if err == nil {
			return i, nil
		}
		if !errors.Is(err, cloud.ErrNotFound) {
			errs = append(errs, err)
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return nil, fmt.Errorf("instance %s: %w", providerID, cloud.ErrNotFound)
}

// List implements cloud.Provider. It returns an error only if all parts fail. If some parts fail, their instances are
// missing from the list. They do not count as gone, because Get is called for missing instances, and Get of that part fails
// as well.
func (p *Provider) List(ctx context.Context) ([]*cloud.Instance, error) {
	var all []*cloud.Instance
	var errs []error
	for _, part := range p.parts {
		list, err := part.List(ctx)
		if err != nil {
			errs = append(errs, fmt.Errorf("provider %s: %w", part.Name(), err))
			continue
		}
		all = append(all, list...)
	}
	if len(errs) == len(p.parts) {
		return nil, errors.Join(errs...)
	}
	slices.SortFunc(all, func(a, b *cloud.Instance) int { return cmp.Compare(a.ProviderID, b.ProviderID) })
	return all, nil
}

// Drift implements cloud.Provider.
func (p *Provider) Drift(ctx context.Context, claim *apiv1.NodeClaim) (cloud.DriftReason, error) {
	part, err := p.partOf(claim)
	if err != nil {
		return "", err
	}
	return part.Drift(ctx, claim)
}

// Registered implements cloud.Provider.
func (p *Provider) Registered(ctx context.Context, claim *apiv1.NodeClaim) (time.Duration, map[string]string, error) {
	part, err := p.partOf(claim)
	if err != nil {
		return 0, nil, err
	}
	return part.Registered(ctx, claim)
}

// NoticeSources implements cloud.Notifier.
func (p *Provider) NoticeSources() []cloud.NoticeSource {
	var all []cloud.NoticeSource
	for _, part := range p.parts {
		if n, ok := part.(cloud.Notifier); ok {
			all = append(all, n.NoticeSources()...)
		}
	}
	return all
}

// MarkUnavailable implements cloud.Notifier.
func (p *Provider) MarkUnavailable(claim *apiv1.NodeClaim, capacityType string) {
	if n, ok := p.of(claim.Spec.NodeClassRef).(cloud.Notifier); ok {
		n.MarkUnavailable(claim, capacityType)
	}
}

// ShiftedZones implements cloud.Shifter. It joins the zones of all parts, because zones of different clouds
// have different names.
func (p *Provider) ShiftedZones(ctx context.Context) []string {
	zones := map[string]bool{}
	for _, part := range p.parts {
		if s, ok := part.(cloud.Shifter); ok {
			for _, zone := range s.ShiftedZones(ctx) {
				zones[zone] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(zones))
}

// PricesCurrent implements cloud.Pricer. It is true only if the prices of all parts are current, because a
// plan compares them.
func (p *Provider) PricesCurrent() bool {
	return !slices.ContainsFunc(p.parts, func(part cloud.Provider) bool {
		pricer, ok := part.(cloud.Pricer)
		return ok && !pricer.PricesCurrent()
	})
}
