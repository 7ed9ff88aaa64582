package main

import (
	"cmp"
	"context"
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	fakeclient "sigs.k8s.io/controller-runtime/pkg/client/fake"
	karpenterv1 "sigs.k8s.io/karpenter/pkg/apis/v1"
)

// A store is the API server of a replay: a client that reads the objects of the replay, and ignores writes. The replay
// carries out decisions, so upstream's writes have no other effect. Kinds that the replay does not have are empty.
type store struct {
	client.Client
	pods       map[client.ObjectKey]*corev1.Pod
	onNode     map[string]map[client.ObjectKey]*corev1.Pod // by node, "" for pods without a node
	nodes      map[client.ObjectKey]*corev1.Node
	claims     map[client.ObjectKey]*karpenterv1.NodeClaim
	pools      map[client.ObjectKey]*karpenterv1.NodePool
	daemons    map[client.ObjectKey]*appsv1.DaemonSet
	budgets    map[client.ObjectKey]*policyv1.PodDisruptionBudget
	namespaces map[client.ObjectKey]*corev1.Namespace
}

func newStore() *store {
	return &store{
		Client: fakeclient.NewFakeClient(),
		pods:   map[client.ObjectKey]*corev1.Pod{}, onNode: map[string]map[client.ObjectKey]*corev1.Pod{},
		nodes: map[client.ObjectKey]*corev1.Node{}, claims: map[client.ObjectKey]*karpenterv1.NodeClaim{},
		pools: map[client.ObjectKey]*karpenterv1.NodePool{}, daemons: map[client.ObjectKey]*appsv1.DaemonSet{},
		budgets: map[client.ObjectKey]*policyv1.PodDisruptionBudget{}, namespaces: map[client.ObjectKey]*corev1.Namespace{},
	}
}

// setPod adds or replaces a pod.
func (s *store) setPod(p *corev1.Pod) {
	key := client.ObjectKeyFromObject(p)
	s.deletePod(key)
	s.pods[key] = p
	if s.onNode[p.Spec.NodeName] == nil {
		s.onNode[p.Spec.NodeName] = map[client.ObjectKey]*corev1.Pod{}
	}
	s.onNode[p.Spec.NodeName][key] = p
}

func (s *store) deletePod(key client.ObjectKey) {
	if old := s.pods[key]; old != nil {
		delete(s.onNode[old.Spec.NodeName], key)
		delete(s.pods, key)
	}
}

// Get reads one object.
func (s *store) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	switch o := o.(type) {
	case *corev1.Pod:
		return get(s.pods, key, o, "pods")
	case *corev1.Node:
		return get(s.nodes, key, o, "nodes")
	case *karpenterv1.NodeClaim:
		return get(s.claims, key, o, "nodeclaims")
	case *karpenterv1.NodePool:
		return get(s.pools, key, o, "nodepools")
	case *appsv1.DaemonSet:
		return get(s.daemons, key, o, "daemonsets")
	case *policyv1.PodDisruptionBudget:
		return get(s.budgets, key, o, "poddisruptionbudgets")
	case *corev1.Namespace:
		return get(s.namespaces, key, o, "namespaces")
	}
	return s.Client.Get(ctx, key, o, opts...)
}

// A copyable is a pointer to T that can be copied.
type copyable[T any] interface {
	*T
	client.Object
	DeepCopy() *T
}

func get[T any, P copyable[T]](all map[client.ObjectKey]P, key client.ObjectKey, into P, resource string) error {
	found := all[key]
	if found == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: resource}, key.Name)
	}
	*into = *found.DeepCopy()
	return nil
}

// List reads the objects that the options select, in the order of their keys.
func (s *store) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	var o client.ListOptions
	o.ApplyOptions(opts)
	switch list := list.(type) {
	case *corev1.PodList:
		pods := s.pods
		if o.FieldSelector != nil {
			if node, ok := o.FieldSelector.RequiresExactMatch("spec.nodeName"); ok {
				pods = s.onNode[node]
			}
		}
		list.Items = selected(pods, o, map[string]func(*corev1.Pod) string{"spec.nodeName": func(p *corev1.Pod) string { return p.Spec.NodeName }})
	case *corev1.NodeList:
		list.Items = selected(s.nodes, o, map[string]func(*corev1.Node) string{"spec.providerID": func(n *corev1.Node) string { return n.Spec.ProviderID }})
	case *karpenterv1.NodeClaimList:
		list.Items = selected(s.claims, o, map[string]func(*karpenterv1.NodeClaim) string{
			"status.providerID":       func(c *karpenterv1.NodeClaim) string { return c.Status.ProviderID },
			"spec.nodeClassRef.group": func(c *karpenterv1.NodeClaim) string { return c.Spec.NodeClassRef.Group },
			"spec.nodeClassRef.kind":  func(c *karpenterv1.NodeClaim) string { return c.Spec.NodeClassRef.Kind },
			"spec.nodeClassRef.name":  func(c *karpenterv1.NodeClaim) string { return c.Spec.NodeClassRef.Name },
		})
	case *karpenterv1.NodePoolList:
		list.Items = selected(s.pools, o, map[string]func(*karpenterv1.NodePool) string{
			"spec.template.spec.nodeClassRef.group": func(p *karpenterv1.NodePool) string { return p.Spec.Template.Spec.NodeClassRef.Group },
			"spec.template.spec.nodeClassRef.kind":  func(p *karpenterv1.NodePool) string { return p.Spec.Template.Spec.NodeClassRef.Kind },
			"spec.template.spec.nodeClassRef.name":  func(p *karpenterv1.NodePool) string { return p.Spec.Template.Spec.NodeClassRef.Name },
		})
	case *appsv1.DaemonSetList:
		list.Items = selected(s.daemons, o, nil)
	case *policyv1.PodDisruptionBudgetList:
		list.Items = selected(s.budgets, o, nil)
	case *corev1.NamespaceList:
		list.Items = selected(s.namespaces, o, nil)
	default:
		return s.Client.List(ctx, list, opts...)
	}
	return nil
}

// selected returns copies of the objects that the options select. fields are the known fields of field selectors.
func selected[T any, P copyable[T]](all map[client.ObjectKey]P, o client.ListOptions, fields map[string]func(P) string) []T {
	keys := slices.SortedFunc(maps.Keys(all), func(a, b client.ObjectKey) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	var out []T
	for _, key := range keys {
		v := all[key]
		if o.Namespace != "" && key.Namespace != o.Namespace || o.LabelSelector != nil && !o.LabelSelector.Matches(labels.Set(v.GetLabels())) {
			continue
		}
		if o.FieldSelector != nil {
			values := map[string]string{}
			for name, of := range fields {
				values[name] = of(v)
			}
			values["metadata.name"], values["metadata.namespace"] = key.Name, key.Namespace
			if !o.FieldSelector.Matches(fieldSet(values)) {
				continue
			}
		}
		out = append(out, *v.DeepCopy())
	}
	return out
}

// A fieldSet has the values of fields.
type fieldSet map[string]string

func (f fieldSet) Has(field string) bool   { _, ok := f[field]; return ok }
func (f fieldSet) Get(field string) string { return f[field] }

// Create does nothing.
func (s *store) Create(context.Context, client.Object, ...client.CreateOption) error { return nil }

// Delete does nothing.
func (s *store) Delete(context.Context, client.Object, ...client.DeleteOption) error { return nil }

// Update does nothing.
func (s *store) Update(context.Context, client.Object, ...client.UpdateOption) error { return nil }

// Patch does nothing.
func (s *store) Patch(context.Context, client.Object, client.Patch, ...client.PatchOption) error {
	return nil
}

// Status returns a writer that does nothing.
func (s *store) Status() client.SubResourceWriter { return ignored{} }

type ignored struct{ client.SubResourceWriter }

func (ignored) Create(context.Context, client.Object, client.Object, ...client.SubResourceCreateOption) error {
	return nil
}

func (ignored) Update(context.Context, client.Object, ...client.SubResourceUpdateOption) error {
	return nil
}

func (ignored) Patch(context.Context, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
	return nil
}
