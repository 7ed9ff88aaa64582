package metrics

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// NodePools writes metrics of the limits and the used resources of NodePools, from spec and status. Changes of the
// status, which nodepool.Counter updates every few seconds, trigger this controller.
type NodePools struct {
	Client  client.Client
	Metrics *telemetry.NodePoolMetrics

	series series
}

// Name is the controller's name in logs and metrics.
func (c *NodePools) Name() string { return "metrics.nodepool" }

// Reconcile updates the metrics of one NodePool.
func (c *NodePools) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	pool := &apiv1.NodePool{}
	if err := c.Client.Get(ctx, req.NamespacedName, pool); err != nil {
		if !apierrors.IsNotFound(err) {
			return ctrl.Result{}, fmt.Errorf("get pool %s: %w", req.Name, err)
		}
		c.series.replace(req.Name, nil)
		return ctrl.Result{}, nil
	}
	samples := perResource(c.Metrics.Limit, pool.Name, corev1.ResourceList(pool.Spec.Limits))
	samples = append(samples, perResource(c.Metrics.Usage, pool.Name, pool.Status.Resources)...)
	c.series.replace(req.Name, samples)
	return ctrl.Result{}, nil
}

// perResource returns one sample for each resource, in base units.
func perResource(vec *prometheus.GaugeVec, pool string, list corev1.ResourceList) []sample {
	samples := make([]sample, 0, len(list))
	for name, q := range list {
		samples = append(samples, sample{vec, []string{telemetry.ResourceType(name), pool}, q.AsApproximateFloat64()})
	}
	return samples
}

// Register adds the controller to the manager.
func (c *NodePools) Register(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named(c.Name()).For(&apiv1.NodePool{}).Complete(c)
}
