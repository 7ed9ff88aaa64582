package lookup

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
)

// The field indexes that this package uses.
const (
	IndexNodeProviderID  = "spec.providerID"
	IndexClaimProviderID = "status.providerID"
	IndexClaimNodeClass  = "spec.nodeClassRef.name"
	IndexPodNodeName     = "spec.nodeName"
)

// NodesOf returns the nodes of the claim, sorted by name. Normally there is one node, or none before it has joined the cluster.
func NodesOf(ctx context.Context, c client.Reader, claim *apiv1.NodeClaim) ([]*corev1.Node, error) {
	if claim.Status.ProviderID == "" {
		return nil, nil
	}
	var list corev1.NodeList
	if err := c.List(ctx, &list, client.MatchingFields{IndexNodeProviderID: claim.Status.ProviderID}); err != nil {
		return nil, fmt.Errorf("list nodes of claim %s: %w", claim.Name, err)
	}
	nodes := make([]*corev1.Node, 0, len(list.Items))
	for i := range list.Items {
		nodes = append(nodes, &list.Items[i])
	}
	slices.SortFunc(nodes, func(a, b *corev1.Node) int { return strings.Compare(a.Name, b.Name) })
	return nodes, nil
}

// PodsOf returns the pods that are bound to the node with this name.
func PodsOf(ctx context.Context, c client.Reader, node string, options ...client.ListOption) ([]*corev1.Pod, error) {
	var list corev1.PodList
	if err := c.List(ctx, &list, append(options, client.MatchingFields{IndexPodNodeName: node})...); err != nil {
		return nil, fmt.Errorf("list pods of node %s: %w", node, err)
	}
	pods := make([]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		pods[i] = &list.Items[i]
	}
	return pods, nil
}

// ClaimsOf returns the claims of the node, sorted by name.
func ClaimsOf(ctx context.Context, c client.Reader, node *corev1.Node) ([]*apiv1.NodeClaim, error) {
	if node.Spec.ProviderID == "" {
		return nil, nil
	}
	var list apiv1.NodeClaimList
	if err := c.List(ctx, &list, client.MatchingFields{IndexClaimProviderID: node.Spec.ProviderID}); err != nil {
		return nil, fmt.Errorf("list claims of node %s: %w", node.Name, err)
	}
	claims := make([]*apiv1.NodeClaim, 0, len(list.Items))
	for i := range list.Items {
		claims = append(claims, &list.Items[i])
	}
	slices.SortFunc(claims, func(a, b *apiv1.NodeClaim) int { return strings.Compare(a.Name, b.Name) })
	return claims, nil
}

// FromNode maps the events of a node to requests for its claims. If the lookup fails, it returns no requests. A claim is also
// reconciled after its own events and periodically.
func FromNode(c client.Reader, facts cloud.Facts) handler.EventHandler {
	return handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []ctrl.Request {
		node, ok := o.(*corev1.Node)
		if !ok {
			return nil
		}
		claims, err := ClaimsOf(ctx, c, node)
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "failed to map node to claims")
			return nil
		}
		return Requests(claims, facts)
	})
}

// Requests returns a request for each claim of the provider.
func Requests(claims []*apiv1.NodeClaim, facts cloud.Facts) []ctrl.Request {
	var list []ctrl.Request
	for _, claim := range claims {
		if facts.Manages(claim.Spec.NodeClassRef) {
			list = append(list, ctrl.Request{NamespacedName: types.NamespacedName{Name: claim.Name}})
		}
	}
	return list
}

// Managed selects the events of claims of the provider.
func Managed(facts cloud.Facts) predicate.Predicate {
	return predicate.NewPredicateFuncs(func(o client.Object) bool {
		claim, ok := o.(*apiv1.NodeClaim)
		return ok && facts.Manages(claim.Spec.NodeClassRef)
	})
}
