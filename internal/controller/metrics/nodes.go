package metrics

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/component-helpers/resource"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/singleton"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// nodePeriod is the interval at which the metrics of nodes are updated.
const nodePeriod = 5 * time.Second

// Nodes writes the metrics of single nodes and the utilization of the whole cluster. A model.Node is never modified. So if the
// snapshot has the same pointer as before, only the age of the node is updated.
type Nodes struct {
	Cluster Cluster
	Clock   clock.PassiveClock
	Metrics *telemetry.Metrics
	// Detail decides whether single objects have series; nil means always.
	Detail *Detail

	last map[string]told
	// summed is the time at which the sums were last written, zero if there are none.
	summed time.Time
}

// told is the state of a node at the last update of its metrics.
type told struct {
	node *model.Node
	// labels are the label values of the series, without the resource. resources are the resources for which series exist.
	labels    []string
	resources []corev1.ResourceName
}

// Name is the controller's name in logs and metrics.
func (c *Nodes) Name() string { return "metrics.node" }

// Reconcile updates the metrics of all nodes. It is repeated after nodePeriod.
func (c *Nodes) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	now, nodes := c.Clock.Now(), c.Cluster.Snapshot().Nodes()
	if c.Detail.decide(len(nodes)) {
		c.sum(nodes)
		return ctrl.Result{RequeueAfter: nodePeriod}, nil
	}
	if err := c.clearSums(ctx); err != nil {
		return ctrl.Result{}, err
	}
	seen := make(map[string]told, len(c.last))
	used, allocatable := model.Resources{}, model.Resources{}
	for _, n := range nodes {
		accumulateLaunched(used, allocatable, n)
		if n.Object == nil {
			continue
		}
		seen[n.Object.Name] = c.tell(n, c.last[n.Object.Name], now)
	}
	for name := range c.last {
		if _, ok := seen[name]; !ok {
			c.takeBack(name)
		}
	}
	c.last = seen
	c.tellUtilization(used, allocatable)
	return ctrl.Result{RequeueAfter: nodePeriod}, nil
}

// tell updates the metrics of a node. It returns the new state for the next update.
func (c *Nodes) tell(n *model.Node, last told, now time.Time) told {
	m := c.Metrics.Nodes
	if last.node != n {
		last = c.rewrite(n, last)
	}
	m.CurrentLifetimeSeconds.WithLabelValues(last.labels...).Set(since(n.Object.CreationTimestamp.Time, now))
	return last
}

// rewrite sets the metrics of all resources of a node. If labels or resources have changed, it first deletes the old
// series. This is slow but rare.
func (c *Nodes) rewrite(n *model.Node, last told) told {
	m := c.Metrics.Nodes
	values := amounts(n)
	is := told{node: n, labels: c.labels(n)}
	for _, r := range values {
		for name := range r {
			is.resources = append(is.resources, name)
		}
	}
	slices.Sort(is.resources)
	is.resources = slices.Compact(is.resources)
	if last.node != nil && !(slices.Equal(last.labels, is.labels) && slices.Equal(last.resources, is.resources)) {
		c.takeBack(n.Object.Name)
	}
	for i, vec := range m.PerResource() {
		for _, name := range is.resources {
			vec.WithLabelValues(slices.Concat([]string{telemetry.ResourceType(name)}, is.labels)...).Set(base(name, values[i][name]))
		}
	}
	return is
}

// amounts returns the resources behind the gauges of NodeMetrics.PerResource, in the same order. Limits are those of the specs of
// pods, also while a resize in place is pending. As in requests, each pod has one of the resource pods.
func amounts(n *model.Node) []model.Resources {
	limits, daemonLimits := model.Resources{}, model.Resources{}
	for _, p := range n.Pods {
		l := model.RequestsOf(resource.PodLimits(p.Object, resource.PodResourcesOptions{}))
		l[corev1.ResourcePods]++
		accumulate(limits, l)
		if p.Daemon() {
			accumulate(daemonLimits, l)
		}
	}
	overhead := n.Capacity.Minus(n.Allocatable)
	delete(overhead, model.Nodes)
	return []model.Resources{
		n.Allocatable, n.Used, limits, n.DaemonUsed, daemonLimits, overhead,
	}
}

// labels returns the labels of the series of a node, without the resource.
func (c *Nodes) labels(n *model.Node) []string {
	list := []string{n.Object.Name, string(n.Object.Status.Phase), strconv.FormatBool(n.Pool != "")}
	for _, key := range c.Metrics.Nodes.WellKnown {
		list = append(list, n.Object.Labels[key])
	}
	return list
}

// takeBack deletes all series of the node.
func (c *Nodes) takeBack(name string) {
	of := prometheus.Labels{"node_name": name}
	for _, vec := range append(c.Metrics.Nodes.PerResource(), c.Metrics.Nodes.CurrentLifetimeSeconds) {
		vec.DeletePartialMatch(of)
	}
}

// tellUtilization sets the percentage of each allocatable resource that pods request.
func (c *Nodes) tellUtilization(used, allocatable model.Resources) {
	vec := c.Metrics.ClusterState.UtilizationPercent
	vec.Reset()
	for name, have := range allocatable {
		if have > 0 {
			vec.WithLabelValues(telemetry.ResourceType(name)).Set(100 * float64(used[name]) / float64(have))
		}
	}
}

// accumulate adds more to total in place. Otherwise the sum over thousands of nodes would allocate thousands of maps.
func accumulate(total, more model.Resources) {
	for name, v := range more {
		total[name] += v
	}
}

// accumulateLaunched adds what a node has to the sums behind the utilization. A NodeClaim counts from its launch on, with the
// allocatable resources that its status promises.
func accumulateLaunched(used, allocatable model.Resources, n *model.Node) {
	if n.Launched() {
		accumulate(used, n.Used)
		accumulate(allocatable, n.Allocatable)
	}
}

// base returns an amount in the unit of metrics, which is cores for CPU.
func base(name corev1.ResourceName, v int64) float64 {
	if name == corev1.ResourceCPU {
		return float64(v) / 1000
	}
	return float64(v)
}

// Register adds the controller to the manager.
func (c *Nodes) Register(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named(c.Name()).WatchesRawSource(singleton.Source()).Complete(c)
}
