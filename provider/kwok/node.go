package kwok

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// The labels, annotations and provider IDs of nodes.
const (
	// prefix is the first part of provider IDs. The name of the node follows.
	prefix = "kwok://"
	// partitionLabel is the label by which the program kwok selects nodes. fakeKey is the annotation by which it
	// recognizes simulated nodes.
	partitionLabel = "kwok-partition"
	partition      = "a"
	fakeKey        = "kwok.x-k8s.io/node"
	fake           = "fake"
	// priceLabel is a label that the tool eks-node-viewer reads.
	priceLabel = "eks-node-viewer/instance-price"
)

// A choice is the instance type and the offering that are chosen for a claim.
type choice struct {
	kind     *cloud.InstanceType
	offering cloud.Offering
	// asked are the claim's requirements.
	asked require.Set
}

// take returns the choice for the claim. If it is a reserved offering, take records that the claim uses it.
func (p *Provider) take(ctx context.Context, claim *apiv1.NodeClaim) (choice, error) {
	if !p.reserves {
		return p.choose(ctx, claim, p.config.Types)
	}
	p.ledger.launching.Lock()
	defer p.ledger.launching.Unlock()
	types, err := p.left(ctx, p.config.Reader, claim.Name)
	if err != nil {
		return choice{}, err
	}
	c, err := p.choose(ctx, claim, types)
	if err == nil {
		p.reserve(claim.Name, c.offering)
	}
	return c, err
}

// choose returns the cheapest offering that the claim allows and whose type has the requested resources. Of equally
// cheap offerings, it is that of the first type in name order. Resources that a type does not list count as available,
// because the node is created with all requested resources.
func (p *Provider) choose(ctx context.Context, claim *apiv1.NodeClaim, types []*cloud.InstanceType) (best choice, err error) {
	if pool := claim.Labels[apiv1.NodePoolLabelKey]; pool != "" && p.config.Overlay != nil {
		if types, err = p.config.Overlay(ctx, pool, types); err != nil {
			return choice{}, fmt.Errorf("price instance types: %w", err)
		}
	}
	asked, requests := requirementsOf(claim), model.RequestsOf(claim.Spec.Resources.Requests)
	for _, t := range types {
		if _, ok := asked.Intersects(t.Requirements); !ok || !holds(t, requests) {
			continue
		}
		o, ok := t.Cheapest(asked)
		if ok && (best.kind == nil || o.Price < best.offering.Price) {
			best = choice{kind: t, offering: o, asked: asked}
		}
	}
	if best.kind == nil {
		return choice{}, &cloud.InsufficientCapacityError{
			Err: errors.New("no available offering meets the requirements and requests of the NodeClaim"),
		}
	}
	return best, nil
}

// requirementsOf returns the requirements of the claim. Deprecated keys are replaced.
func requirementsOf(claim *apiv1.NodeClaim) require.Set {
	return require.FromSpec(claim.Spec.Requirements).Normalize(fixedFacts().Labels.Aliases)
}

// holds reports whether t has enough of the requested resources. Resources that t does not list are ignored.
func holds(t *cloud.InstanceType, requests model.Resources) bool {
	for name, amount := range requests {
		if have, known := t.Allocatable[name]; known && amount > have {
			return false
		}
	}
	return true
}

// madeOf returns the choice from which a node or claim with these labels was created, without the requirements of the
// claim. It returns false if Types have no such offering.
func (p *Provider) madeOf(labels map[string]string) (choice, bool) {
	for _, t := range p.config.Types {
		if t.Name != labels[corev1.LabelInstanceTypeStable] {
			continue
		}
		for _, o := range t.Offerings {
			if o.Zone == labels[corev1.LabelTopologyZone] && o.CapacityType == labels[apiv1.CapacityTypeLabelKey] {
				return choice{kind: t, offering: o}, true
			}
		}
	}
	return choice{}, false
}

// node returns the claim's node.
//
// If the claim requests a resource that the type does not list, such as a device of an overlay, the node has exactly
// the requested amount.
func (c choice) node(claim *apiv1.NodeClaim) *corev1.Node {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:        claim.Name,
			Labels:      c.labels(claim),
			Annotations: map[string]string{fakeKey: fake},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: apiv1.GroupVersion.String(), Kind: "NodeClaim", Name: claim.Name, UID: claim.UID,
				BlockOwnerDeletion: new(true),
			}},
		},
		Spec: corev1.NodeSpec{
			ProviderID: prefix + claim.Name,
			Taints:     []corev1.Taint{apiv1.UnregisteredNoExecuteTaint()},
		},
	}
	node.Status.Phase = corev1.NodePending
	node.Status.Capacity = laid(c.kind.Capacity, claim.Spec.Resources.Requests)
	node.Status.Allocatable = laid(c.kind.Allocatable, claim.Spec.Resources.Requests)
	return node
}

// laid returns the resources of a type, together with requested resources that the type does not list.
func laid(has model.Resources, requests corev1.ResourceList) corev1.ResourceList {
	out := requests.DeepCopy()
	if out == nil {
		out = corev1.ResourceList{}
	}
	maps.Copy(out, has.List())
	return out
}

// labels returns the labels of the node. Later ones take precedence: those of the claim, of its
// requirements and the type together, of the offering, and those that the Node object alone has
// (see own).
func (c choice) labels(claim *apiv1.NodeClaim) map[string]string {
	labels := maps.Clone(claim.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	both := c.asked.And(c.kind.Requirements)
	maps.Copy(labels, both.Labels())
	if os, ok := both.Get(corev1.LabelOSStable); ok && labels[corev1.LabelOSStable] == "" {
		labels[corev1.LabelOSStable], _ = os.Any()
	}
	maps.Copy(labels, c.offering.Requirements.Labels())
	labels[corev1.LabelHostname] = claim.Name
	labels[partitionLabel] = partition
	labels[fakeKey] = fake
	labels[priceLabel] = fmt.Sprintf("%.6f", c.offering.Price)
	return labels
}

// own are labels of the Node object that do not describe the instance.
var own = []string{
	corev1.LabelHostname, partitionLabel, fakeKey, priceLabel, apiv1.NodeRegisteredLabelKey, apiv1.NodeInitializedLabelKey,
}

// instanceOf converts the node to a cloud.Instance.
func instanceOf(node *corev1.Node) *cloud.Instance {
	labels := maps.Clone(node.Labels)
	maps.DeleteFunc(labels, func(key, _ string) bool { return slices.Contains(own, key) })
	return &cloud.Instance{
		ProviderID: node.Spec.ProviderID, NodeName: node.Name, Labels: labels, Created: node.CreationTimestamp.Time,
		Capacity: node.Status.Capacity, Allocatable: node.Status.Allocatable,
		Ending: !node.DeletionTimestamp.IsZero(),
	}
}

// ownedBy reports whether the node was created for this claim, by the UID of the claim.
func ownedBy(node *corev1.Node, claim *apiv1.NodeClaim) bool {
	return slices.ContainsFunc(node.OwnerReferences, func(o metav1.OwnerReference) bool { return o.UID == claim.UID })
}
