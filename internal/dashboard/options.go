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
	"github.com/karpenter-go/karpenter/internal/telemetry"
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
	// Claims reads the ResourceClaims and ResourceClaimTemplates of the cluster. It is called only while pods have some. nil
	// means that they cannot be read.
	Claims func(context.Context) (view.Claims, error)
	// Decisions, Latest and Costs may be nil.
	Decisions *decisions.Log
	Latest    *decisions.Latest
	Costs     *ledger.Ledger
	// Pack and Disrupt are the options of the controllers. Spread returns the default spread constraints of pods; nil means
	// none.
	Pack    pack.Options
	Disrupt disrupt.Options
	Spread  func(context.Context) func(*model.Pod) []corev1.TopologySpreadConstraint
	// Leader reports whether this replica is the leader, which decides. LeaderName returns the name of the leader's pod, empty
	// if there is no leader. It may be nil, and is called only on other replicas.
	Leader     func() bool
	LeaderName func(context.Context) (string, error)
	Info       view.Info
	// Metrics may be nil.
	Metrics *telemetry.DashboardMetrics
	Clock   stream.Clock
	Log     logr.Logger
}

// Intervals and bounds.
const (
	// tick is the interval at which the fleet is updated while a stream is open. A request updates a fleet that is older.
	tick = 500 * time.Millisecond
	// idleTick is the interval at which the fleet is updated while no stream is open. It is also the minimum time between
	// two moments of the history.
	idleTick = 15 * time.Second
	// pendingTick is the minimum time between two computations of the pending pods.
	pendingTick = time.Second
	// typesTick is the interval at which instance types are listed again. It is newPoolTick while a NodePool has none.
	typesTick   = 30 * time.Second
	newPoolTick = 5 * time.Second
	// leaderTick is the interval at which a replica that is not the leader looks up the leader.
	leaderTick = 15 * time.Second
	// claimsTick is the time after which ResourceClaims are read again.
	claimsTick = 10 * time.Second
	// maxReaders is the number of streams at the same time.
	maxReaders = 50
)
