package termination

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/act"
)

// cordon adds the taint against new pods and the label that excludes the node from load balancers. It returns the node as
// written.
func (c *Controller) cordon(ctx context.Context, node *corev1.Node) (*corev1.Node, error) {
	return act.AgainDeleting(ctx, c.live(), node, func(before *corev1.Node) (*corev1.Node, error) {
		node := before.DeepCopy()
		tainted := act.Cordon(node)
		if node.Labels[corev1.LabelNodeExcludeBalancers] != apiv1.ExcludeBalancersLabelValue {
			node.Labels[corev1.LabelNodeExcludeBalancers] = apiv1.ExcludeBalancersLabelValue
		}
		err := act.Patch(ctx, c.Client, before, node)
		if err == nil && tainted {
			taint := apiv1.DisruptedNoScheduleTaint()
			ctrl.LoggerFrom(ctx).Info("tainted node", "taint-key", taint.Key, "taint-effect", taint.Effect)
		}
		return node, err
	})
}

// live returns Live, or Client if Live is nil.
func (c *Controller) live() client.Reader {
	if c.Live != nil {
		return c.Live
	}
	return c.Client
}

// ready reports whether the node has the condition Ready.
func ready(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(n corev1.NodeCondition) bool {
		return n.Type == corev1.NodeReady && n.Status == corev1.ConditionTrue
	})
}
