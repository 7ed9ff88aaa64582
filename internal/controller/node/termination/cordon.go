package termination

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/act"
)

// cordon keeps new pods off the node, and new connections of load balancers.
func (c *Controller) cordon(ctx context.Context, node *corev1.Node) error {
	before := node.DeepCopy()
	if act.Cordon(node) {
		taint := apiv1.DisruptedNoScheduleTaint()
		ctrl.LoggerFrom(ctx).Info("tainted node", "taint-key", taint.Key, "taint-effect", taint.Effect)
	}
	if node.Labels[corev1.LabelNodeExcludeBalancers] != apiv1.ExcludeBalancersLabelValue {
		node.Labels[corev1.LabelNodeExcludeBalancers] = apiv1.ExcludeBalancersLabelValue
	}
	return act.Patch(ctx, c.Client, before, node)
}

// ready reports whether the node has the condition Ready.
func ready(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(n corev1.NodeCondition) bool {
		return n.Type == corev1.NodeReady && n.Status == corev1.ConditionTrue
	})
}
