package dashboard

import (
	"context"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/internal/dashboard/stream"
	"github.com/karpenter-go/karpenter/internal/dashboard/view"
	"github.com/karpenter-go/karpenter/internal/decisions"
	"github.com/karpenter-go/karpenter/internal/ledger"
)

// A Cluster is the observed cluster; observe.Cluster implements it.
type Cluster interface {
	// Version grows with each change.
	Version() uint64
	Snapshot() *model.Snapshot
	// Synced reports whether all objects were listed.
	Synced() bool
}

// Options are the sources and settings of the dashboard.
type Options struct {
	Cluster Cluster
	// WithTypes returns the snapshot with the instance types of its NodePools.
	WithTypes func(context.Context, *model.Snapshot) *model.Snapshot
	// TypesOf returns the instance types of a NodePool, for what-ifs. The NodePool need not exist in the cluster.
	TypesOf func(context.Context, *apiv1.NodePool) ([]*model.InstanceType, error)
	// Decisions, Latest and Costs are those of the controllers. Each may be nil.
	Decisions *decisions.Log
	Latest    *decisions.Latest
	Costs     *ledger.Ledger
	// Pack and Disrupt are the options of the controllers. Spread returns the default spread constraints of pods; nil means
	// none.
	Pack    pack.Options
	Disrupt disrupt.Options
	Spread  func(context.Context) func(*model.Pod) []corev1.TopologySpreadConstraint
	// Leader reports whether this replica is the leader, which makes the decisions.
	Leader func() bool
	Info   view.Info
	Clock  stream.Clock
	Log    logr.Logger
}

// Intervals and bounds.
const (
	// tick is the minimum time between two computations of the fleet.
	tick = 250 * time.Millisecond
	// idleTick is the minimum time between two computations of the fleet while no page is open. It is also the minimum time
	// between two moments of the history.
	idleTick = 15 * time.Second
	// pendingTick is the minimum time between two computations of the pending pods.
	pendingTick = time.Second
	// typesTick is the interval at which instance types are listed again. It is newPoolTick while a NodePool has none.
	typesTick   = 30 * time.Second
	newPoolTick = 5 * time.Second
	// maxReaders is the maximum number of open streams.
	maxReaders = 50
)
