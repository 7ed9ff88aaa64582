package clusterapi

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
)

// Delete implements cloud.Provider. It deletes the claim's Machine, and Cluster API then deletes
// the clones of the Machine. If there is no Machine, Delete deletes the clones that an interrupted
// launch has left. If there are no clones either, it returns cloud.ErrNotFound. The Machine of a
// claim without a record is found by the provider ID.
func (p *Provider) Delete(ctx context.Context, claim *apiv1.NodeClaim) error {
	gone := fmt.Errorf("find Machine of claim %s: %w", claim.Name, cloud.ErrNotFound)
	r, known, err := p.launched(ctx, claim)
	if err != nil {
		return err
	}
	if !known {
		m, err := p.identified(ctx, claim.Status.ProviderID)
		if err != nil {
			return err
		}
		return p.end(ctx, m)
	}
	m, err := p.machine(ctx, p.config.Management.Live, r.key())
	if err != nil {
		return err
	}
	if m != nil && belongsTo(m.Metadata.Labels, string(claim.UID)) {
		return p.end(ctx, m)
	}
	removed, err := p.removeClones(ctx, r, string(claim.UID))
	if err != nil || removed {
		return err
	}
	p.forget(claim.Status.ProviderID)
	return gone
}

// launched returns the record of the claim. A claim without a record is read again without a cache, because the record
// may be newer than the cache.
func (p *Provider) launched(ctx context.Context, claim *apiv1.NodeClaim) (record, bool, error) {
	if r, known := recordOf(claim); known || claim.UID == "" {
		return r, known, nil
	}
	var stored apiv1.NodeClaim
	err := p.config.Reader.Get(ctx, client.ObjectKey{Name: claim.Name}, &stored)
	if client.IgnoreNotFound(err) != nil {
		return record{}, false, fmt.Errorf("read launch record of claim %s: %w", claim.Name, err)
	}
	if err != nil || stored.UID != claim.UID {
		return record{}, false, nil
	}
	r, known := recordOf(&stored)
	return r, known, nil
}

// end removes the hook of the Machine and deletes the Machine. It skips a step that is already done.
func (p *Provider) end(ctx context.Context, m *machine) error {
	u := empty(gvk("Machine"))
	u.SetNamespace(m.Metadata.Namespace)
	u.SetName(m.Metadata.Name)
	if _, held := m.Metadata.Annotations[endHook]; held {
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"annotations": map[string]any{endHook: nil}}})
		if err != nil {
			return fmt.Errorf("encode patch: %w", err)
		}
		err = p.config.Management.Live.Patch(ctx, u.DeepCopy(), client.RawPatch(types.MergePatchType, patch))
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("remove hook of Machine %s/%s: %w", m.Metadata.Namespace, m.Metadata.Name, err)
		}
	}
	if m.ending() {
		return nil
	}
	uid := types.UID(m.Metadata.UID)
	err := p.config.Management.Live.Delete(ctx, u, client.Preconditions{UID: &uid}, client.PropagationPolicy(metav1.DeletePropagationBackground))
	if err = client.IgnoreNotFound(err); err != nil && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete Machine %s/%s: %w", m.Metadata.Namespace, m.Metadata.Name, err)
	}
	return nil
}

// removeClones deletes the clones of the record that were created for the claim with this UID, and reports whether
// any exists.
func (p *Provider) removeClones(ctx context.Context, r record, uid string) (found bool, err error) {
	for _, kind := range []schema.GroupVersionKind{r.Infrastructure, r.Bootstrap} {
		if kind.Kind == "" {
			continue
		}
		u, err := p.object(ctx, kind, r.key())
		if err != nil {
			return found, err
		}
		if u == nil || !belongsTo(u.GetLabels(), uid) {
			continue
		}
		found = true
		if u.GetDeletionTimestamp() != nil {
			continue
		}
		if err := client.IgnoreNotFound(p.config.Management.Live.Delete(ctx, u)); err != nil {
			return found, fmt.Errorf("delete %s %s: %w", kind.Kind, r.key(), err)
		}
	}
	return found, nil
}
