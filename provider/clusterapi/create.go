package clusterapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// Reasons of failed launches, in the condition Launched of the claim.
const (
	reasonNameTaken      = "MachineNameTaken"
	reasonMachineDeleted = "MachineDeleted"
	reasonInfrastructure = "InfrastructureFailed"
	reasonProvisioning   = "MachineNotProvisioned"
)

// Create implements cloud.Provider. It returns when the Machine has a provider ID.
func (p *Provider) Create(ctx context.Context, claim *apiv1.NodeClaim) (*cloud.Instance, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("create Machine: %w", err)
	}
	class, err := p.class(ctx, claim.Spec.NodeClassRef)
	if err != nil {
		return nil, err
	}
	unlock, err := p.launching.lock(ctx, string(claim.UID))
	if err != nil {
		return nil, err
	}
	defer unlock()
	kinds, err := p.kinds(ctx, class)
	if err != nil {
		return nil, err
	}
	r, k, err := p.settle(ctx, claim, class, kinds)
	if err != nil {
		return nil, err
	}
	m, err := p.ensure(ctx, claim, r, k)
	if err != nil {
		return nil, err
	}
	if m, err = p.await(ctx, claim, class, r, m); err != nil {
		return nil, err
	}
	i := m.instance()
	if k != nil {
		i.Capacity, i.Allocatable = k.instanceType.Capacity.List(), k.instanceType.Allocatable.List()
	}
	return i, nil
}

// settle returns the choice of template and failure domain that is recorded on the claim, with its kind. A new choice
// is made and recorded if none is recorded, or if the recorded template does not exist any more and no Machine was
// created from it. The kind is nil if the template does not exist any more, but the Machine does.
//
// The claim is read without a cache. A cached claim might not have the record yet, and a second choice would replace
// the first.
func (p *Provider) settle(
	ctx context.Context, claim *apiv1.NodeClaim, class *clusterapiv1alpha1.ClusterAPINodeClass, kinds []kind,
) (record, *kind, error) {
	var stored apiv1.NodeClaim
	err := p.config.Reader.Get(ctx, client.ObjectKey{Name: claim.Name}, &stored)
	switch {
	case err != nil:
		return record{}, nil, fmt.Errorf("read launch record of claim %s: %w", claim.Name, err)
	case stored.UID != claim.UID || !stored.DeletionTimestamp.IsZero():
		return record{}, nil, fmt.Errorf("claim %s is deleted, no Machine is created", claim.Name)
	}
	if r, known := recordOf(&stored); known {
		if at := slices.IndexFunc(kinds, func(k kind) bool { return k.name == r.Template }); at >= 0 {
			return r, &kinds[at], nil
		}
		m, err := p.machine(ctx, p.config.Management.Live, r.key())
		if err != nil || m != nil {
			return r, nil, err
		}
		if _, err := p.removeClones(ctx, r, string(claim.UID)); err != nil {
			return record{}, nil, err
		}
	}
	r, k, err := p.choose(ctx, claim, class, kinds)
	if err != nil {
		return record{}, nil, err
	}
	gone, err := p.config.Ledger.Record(ctx, []*apiv1.NodeClaim{&stored}, map[string]string{
		clusterapiv1alpha1.LaunchAnnotationKey: r.String(),
	})
	if err != nil {
		return record{}, nil, err
	}
	if len(gone) > 0 {
		return record{}, nil, fmt.Errorf("claim %s is deleted, no Machine is created", claim.Name)
	}
	return r, k, nil
}

// choose returns the record of a new choice, with its kind. It is the cheapest offering that the
// claim allows and whose instance type has the requested resources. Templates with taints that the
// claim lacks are not used. Of equally cheap offerings, it is that of the first template in name
// order.
func (p *Provider) choose(
	ctx context.Context, claim *apiv1.NodeClaim, class *clusterapiv1alpha1.ClusterAPINodeClass, kinds []kind,
) (record, *kind, error) {
	kinds = tolerated(slices.Clone(kinds), claim.Spec.Taints, claim.Spec.StartupTaints)
	types := make([]*cloud.InstanceType, len(kinds))
	for i := range kinds {
		types[i] = kinds[i].instanceType
	}
	if pool := claim.Labels[apiv1.NodePoolLabelKey]; pool != "" && p.config.Overlay != nil {
		var err error
		if types, err = p.config.Overlay(ctx, pool, types); err != nil {
			return record{}, nil, fmt.Errorf("price instance types: %w", err)
		}
	}
	asked, requests := require.FromSpec(claim.Spec.Requirements).Normalize(p.Facts().Labels.Aliases), model.RequestsOf(claim.Spec.Resources.Requests)
	var chosen *kind
	var best cloud.Offering
	for _, t := range types {
		_, _, short := requests.Short(t.Allocatable)
		if _, ok := asked.Intersects(t.Requirements); short || !ok {
			continue
		}
		o, ok := t.Cheapest(asked)
		if !ok || chosen != nil && o.Price >= best.Price {
			continue
		}
		if at := slices.IndexFunc(kinds, func(k kind) bool { return k.name == t.Name }); at >= 0 {
			chosen, best = &kinds[at], o
		}
	}
	if chosen == nil {
		return record{}, nil, &cloud.InsufficientCapacityError{
			Err: errors.New("no available template meets the requirements, requests and taints of the NodeClaim"),
		}
	}
	d := chosen.domainIn(best.Zone)
	r := record{
		Namespace: class.Spec.Namespace, Cluster: class.Spec.ClusterName, Name: nameOf(class.Spec.ClusterName, claim.Name),
		Template: chosen.name, FailureDomain: d.name, Zone: d.zone, Infrastructure: cloneKind(chosen.infrastructure),
	}
	if chosen.bootstrap != nil {
		r.Bootstrap = cloneKind(chosen.bootstrap)
	}
	return r, chosen, nil
}

// cloneKind returns the kind of the clones of a template: its own without the suffix Template.
func cloneKind(u *unstructured.Unstructured) schema.GroupVersionKind {
	kind := u.GroupVersionKind()
	kind.Kind = strings.TrimSuffix(kind.Kind, "Template")
	return kind
}

// ensure returns the Machine of the record. If the Machine does not exist, ensure creates the clones and then the
// Machine from k; it returns an error if k is nil. The record determines all names, so a repeated call finds the
// objects that an earlier call has created. A Machine that is being deleted or belongs to another claim is an error.
func (p *Provider) ensure(ctx context.Context, claim *apiv1.NodeClaim, r record, k *kind) (*machine, error) {
	m, err := p.machine(ctx, p.config.Management.Live, r.key())
	if err != nil {
		return nil, err
	}
	if m == nil {
		if k == nil {
			return nil, fmt.Errorf("find Machine %s: it does not exist any more", r.key())
		}
		if m, err = p.build(ctx, claim, r, k); err != nil {
			return nil, err
		}
	}
	switch {
	case !belongsTo(m.Metadata.Labels, string(claim.UID)):
		return nil, taken("Machine", r)
	case m.ending():
		return nil, &cloud.LaunchError{
			Reason: reasonMachineDeleted, Message: fmt.Sprintf("Machine %s is being deleted", r.key()), Err: errors.New("it was deleted during its launch"),
		}
	}
	return m, nil
}

// taken returns the error about a name that another object has.
func taken(kind string, r record) error {
	return &cloud.LaunchError{
		Reason: reasonNameTaken, Message: fmt.Sprintf("%s %s exists and was not created for this NodeClaim", kind, r.key()),
		Err: errors.New("name is taken"),
	}
}

// build creates the clones and the Machine.
func (p *Provider) build(ctx context.Context, claim *apiv1.NodeClaim, r record, k *kind) (*machine, error) {
	owner, err := p.identity(ctx)
	if err != nil {
		return nil, err
	}
	labels := map[string]string{
		clusterNameLabel: r.Cluster, clusterapiv1alpha1.OwnerLabelKey: owner, clusterapiv1alpha1.ClaimUIDLabelKey: string(claim.UID),
		classLabel: claim.Spec.NodeClassRef.Name,
	}
	if pool := claim.Labels[apiv1.NodePoolLabelKey]; pool != "" {
		labels[apiv1.NodePoolLabelKey] = pool
	}
	annotations := map[string]string{clusterapiv1alpha1.ClaimAnnotationKey: claim.Name}
	for _, t := range []*unstructured.Unstructured{k.bootstrap, k.infrastructure} {
		if t == nil {
			continue
		}
		if err := p.create(ctx, cloneOf(t, r, labels, annotations), r, string(claim.UID)); err != nil {
			return nil, err
		}
	}
	u, err := machineOf(r, k, labels, annotations)
	if err != nil {
		return nil, err
	}
	if err := p.create(ctx, u, r, string(claim.UID)); err != nil {
		return nil, err
	}
	ctrl.LoggerFrom(ctx).Info("created machine", "Machine", klog.KRef(r.Namespace, r.Name), "template", r.Template, "failure-domain", r.FailureDomain)
	return decode[machine](u)
}

// create creates the object. If an object with the name was created for the same claim earlier, u is set to that
// object.
func (p *Provider) create(ctx context.Context, u *unstructured.Unstructured, r record, uid string) error {
	err := p.config.Management.Live.Create(ctx, u)
	if !apierrors.IsAlreadyExists(err) {
		if err != nil {
			return fmt.Errorf("create %s %s: %w", u.GetKind(), r.key(), err)
		}
		return nil
	}
	found, err := p.object(ctx, u.GroupVersionKind(), r.key())
	switch {
	case err != nil:
		return err
	case found == nil:
		return fmt.Errorf("create %s %s: it is deleted at the same time", u.GetKind(), r.key())
	case !belongsTo(found.GetLabels(), uid):
		return taken(u.GetKind(), r)
	}
	u.Object = found.Object
	return nil
}

// cloneOf returns the object that a template describes.
func cloneOf(t *unstructured.Unstructured, r record, labels, annotations map[string]string) *unstructured.Unstructured {
	u := empty(cloneKind(t))
	u.SetNamespace(r.Namespace)
	u.SetName(r.Name)
	inner, _, _ := unstructured.NestedStringMap(t.Object, "spec", "template", "metadata", "labels") // none if absent
	u.SetLabels(joined(inner, labels))
	inner, _, _ = unstructured.NestedStringMap(t.Object, "spec", "template", "metadata", "annotations")
	u.SetAnnotations(joined(inner, annotations, map[string]string{
		clonedFromName: t.GetName(), clonedFromGroupKind: t.GroupVersionKind().GroupKind().String(),
	}))
	if spec := innerSpec(t); spec != nil {
		u.Object["spec"] = runtime.DeepCopyJSONValue(spec)
	}
	return u
}

// joined returns the union of maps. Later ones take precedence.
func joined(all ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}

// machineOf returns the Machine that a launch with the record creates from the template k.
func machineOf(r record, k *kind, labels, annotations map[string]string) (*unstructured.Unstructured, error) {
	from, err := json.Marshal(k.made(r.FailureDomain))
	if err != nil {
		return nil, fmt.Errorf("encode template %s: %w", k.name, err)
	}
	nodeLabels, err := json.Marshal(k.nodeLabels(r))
	if err != nil {
		return nil, fmt.Errorf("encode labels of template %s: %w", k.name, err)
	}
	u := empty(gvk("Machine"))
	u.SetNamespace(r.Namespace)
	u.SetName(r.Name)
	u.SetLabels(joined(k.machineLabels, labels))
	u.SetAnnotations(joined(k.machineAnnotations, annotations, map[string]string{
		endHook: "drained-by-karpenter", drainedByKarpenter: "", detachedByKarpenter: "", clusterapiv1alpha1.TemplateAnnotationKey: string(from),
		nodeLabelsAnnotation: string(nodeLabels),
	}))
	spec := runtime.DeepCopyJSON(k.raw)
	if spec == nil {
		spec = map[string]any{}
	}
	for _, field := range []string{"providerID", "failureDomain", "version", "bootstrap"} {
		delete(spec, field)
	}
	spec["clusterName"] = r.Cluster
	spec["infrastructureRef"] = map[string]any{"apiGroup": r.Infrastructure.Group, "kind": r.Infrastructure.Kind, "name": r.Name}
	if k.bootstrap != nil {
		ref := map[string]any{"apiGroup": r.Bootstrap.Group, "kind": r.Bootstrap.Kind, "name": r.Name}
		spec["bootstrap"] = map[string]any{"configRef": ref}
	} else {
		spec["bootstrap"] = map[string]any{"dataSecretName": deref(k.spec.Bootstrap.DataSecretName)}
	}
	if k.spec.Version != "" {
		spec["version"] = k.spec.Version
	}
	if r.FailureDomain != "" {
		spec["failureDomain"] = r.FailureDomain
	}
	u.Object["spec"] = spec
	return u, nil
}

// nodeLabels returns the labels of the node that follow from the record and its template.
func (k *kind) nodeLabels(r record) map[string]string {
	labels := k.instanceType.Requirements.Labels()
	labels[corev1.LabelTopologyZone] = r.Zone
	return labels
}
