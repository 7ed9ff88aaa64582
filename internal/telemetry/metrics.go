package telemetry

import (
	"runtime"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// Metrics has all metrics of the controllers. Most fields are named like their metric: NodeClaims.CreatedTotal is
// karpenter_nodeclaims_created_total. The comments of fields list labels in the order of WithLabelValues. docs/metrics.md
// says what each metric means and which labels it has.
type Metrics struct {
	// BuildInfo is always 1. Its labels version, goversion, goarch and commit describe the running build.
	BuildInfo *prometheus.GaugeVec
	// RecoveredPanicsTotal has no labels; see Panics.
	RecoveredPanicsTotal *prometheus.CounterVec

	NodeClaims   *NodeClaimMetrics
	Nodes        *NodeMetrics
	NodePools    *NodePoolMetrics
	Pods         *PodMetrics
	Scheduler    *SchedulerMetrics
	Disruption   *DisruptionMetrics
	ClusterState *ClusterStateMetrics
	Cloud        *CloudMetrics
	Throttle     *ThrottleMetrics
	DeletionCost *DeletionCostMetrics
	Interruption *InterruptionMetrics
	Cost         *CostMetrics
	Dashboard    *DashboardMetrics

	declared []Declaration
}

// NewMetrics declares all metrics and registers them with reg; it panics if one of the names is already registered.
// wellKnownLabels are the keys of node labels, including those of the provider, for which the metrics of nodes have a
// label.
func NewMetrics(reg prometheus.Registerer, wellKnownLabels []string) *Metrics {
	m := &Metrics{}
	d := declarer{reg: reg, namespace: Namespace, declared: &m.declared}
	m.BuildInfo = d.gauge("build_info", "Always 1; the labels describe the running build.",
		"version", "goversion", "goarch", "commit")
	m.RecoveredPanicsTotal = d.counter("recovered_panics_total",
		"Panics that failed one operation, plan or batch, while the controller went on. The log has the stack.")
	m.NodeClaims = newNodeClaimMetrics(d.in("nodeclaims"))
	m.Nodes = newNodeMetrics(d.in("nodes"), wellKnownLabels)
	m.NodePools = newNodePoolMetrics(d.in("nodepools"))
	m.Pods = newPodMetrics(d.in("pods"))
	m.Scheduler = newSchedulerMetrics(d.in("scheduler"))
	m.Disruption = newDisruptionMetrics(d)
	m.ClusterState = newClusterStateMetrics(d)
	m.Cloud = newCloudMetrics(d.in("cloudprovider"))
	m.DeletionCost = newDeletionCostMetrics(d.in("pod_deletion_cost"))
	m.Throttle = newThrottleMetrics(d.in("throttle"))
	m.Interruption = newInterruptionMetrics(d.in("interruption"))
	m.Cost = newCostMetrics(d)
	m.Dashboard = newDashboardMetrics(d.in("dashboard"))
	return m
}

// SetBuildInfo sets the labels of BuildInfo.
func (m *Metrics) SetBuildInfo(version, commit string) {
	m.BuildInfo.Reset()
	m.BuildInfo.WithLabelValues(version, runtime.Version(), runtime.GOARCH, commit).Set(1)
}

// Declared returns the Declarations of all metrics, sorted by name.
func (m *Metrics) Declared() []Declaration { return byName(m.declared) }

func byName(list []Declaration) []Declaration {
	list = slices.Clone(list)
	slices.SortFunc(list, func(a, b Declaration) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return list
}
