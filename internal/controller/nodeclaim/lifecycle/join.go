package lifecycle

import (
	"context"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/lifecycle"
	"github.com/karpenter-go/karpenter/internal/act"
)

// register applies the action to the node: labels, annotations, taints, finalizer and owner. It writes ClaimLabels of the
// action to the claim. If the action is complete, the node is registered.
func (p *pass) register(ctx context.Context, a lifecycle.Register) error {
	node, err := p.patchNode(ctx, a.Apply)
	if err != nil {
		return err
	}
	if len(a.ClaimLabels) > 0 {
		err := p.patchClaim(ctx, func(claim *apiv1.NodeClaim) {
			if claim.Labels == nil {
				claim.Labels = map[string]string{}
			}
			maps.Copy(claim.Labels, a.ClaimLabels)
		})
		if err != nil {
			return err
		}
	}
	if !a.Complete {
		return nil
	}
	log := ctrl.LoggerFrom(ctx).WithValues(nodeValues(p.claim, node)...)
	p.registered = true
	p.reports = append(p.reports, report{apiv1.ConditionTypeRegistered, func() {
		p.Metrics.Nodes.CreatedTotal.WithLabelValues(
			p.claim.Labels[apiv1.NodePoolLabelKey], node.Labels[corev1.LabelTopologyZone]).Inc()
		log.Info("registered nodeclaim")
	}})
	return nil
}

// initialize adds the label that marks the node as initialized.
func (p *pass) initialize(ctx context.Context, a lifecycle.Initialize) error {
	node, err := p.patchNode(ctx, a.Apply)
	if err != nil {
		return err
	}
	log := ctrl.LoggerFrom(ctx).WithValues(nodeValues(p.claim, node)...)
	p.reports = append(p.reports, report{apiv1.ConditionTypeInitialized, func() {
		log.Info("initialized nodeclaim", "allocatable", node.Status.Allocatable)
	}})
	return nil
}

// patchNode changes the claim's only node in the API server and in p.view. Conflicts are common for a node that has just joined.
// After a conflict, patchNode reads the node again and repeats the write immediately, because pods may wait for the node.
func (p *pass) patchNode(ctx context.Context, change func(*corev1.Node)) (*corev1.Node, error) {
	node, err := act.Again(ctx, p.live(), p.view.Nodes[0], func(before *corev1.Node) (*corev1.Node, error) {
		node := before.DeepCopy()
		change(node)
		return node, act.Patch(ctx, p.Client, before, node)
	})
	p.view.Nodes[0] = node
	return node, err
}

// nodeValues returns the log fields of a claim that has a node.
func nodeValues(claim *apiv1.NodeClaim, node *corev1.Node) []any {
	return []any{
		"Node", klog.KRef("", node.Name),
		"provider-id", claim.Status.ProviderID,
	}
}
