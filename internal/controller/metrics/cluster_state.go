package metrics

import (
	"context"
	"time"

	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/singleton"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// Cluster is implemented by observe.Cluster.
type Cluster interface {
	Snapshot() *model.Snapshot
	// Synced reports whether the first lists from the API server are complete.
	Synced() bool
}

// ClusterState writes the metrics of the cached state of the cluster: whether it is complete, and how many nodes it has. It has
// no series for single objects, so it also runs with --disable-cluster-state-observability.
type ClusterState struct {
	Cluster Cluster
	Clock   clock.PassiveClock
	Metrics *telemetry.ClusterStateMetrics

	unsynced time.Time // time since which the cluster is not synced; zero if it is synced
}

// Name is the controller's name in logs and metrics.
func (c *ClusterState) Name() string { return "metrics.clusterstate" }

// Reconcile updates the metrics. It is repeated after nodePeriod.
func (c *ClusterState) Reconcile(context.Context, ctrl.Request) (ctrl.Result, error) {
	launched := 0
	for n := range c.Cluster.Snapshot().NodesInOrder() {
		if n.Launched() {
			launched++
		}
	}
	c.Metrics.NodeCount.WithLabelValues().Set(float64(launched))
	c.tellSync(c.Clock.Now())
	return ctrl.Result{RequeueAfter: nodePeriod}, nil
}

// tellSync sets the metrics about whether the snapshot is complete, and since when it is not.
func (c *ClusterState) tellSync(now time.Time) {
	if c.Cluster.Synced() {
		c.unsynced = time.Time{}
		c.Metrics.Synced.WithLabelValues().Set(1)
		c.Metrics.UnsyncedTimeSeconds.WithLabelValues().Set(0)
		return
	}
	if c.unsynced.IsZero() {
		c.unsynced = now
	}
	c.Metrics.Synced.WithLabelValues().Set(0)
	c.Metrics.UnsyncedTimeSeconds.WithLabelValues().Set(now.Sub(c.unsynced).Seconds())
}

// Register adds the controller to the manager.
func (c *ClusterState) Register(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named(c.Name()).WatchesRawSource(singleton.Source()).Complete(c)
}
