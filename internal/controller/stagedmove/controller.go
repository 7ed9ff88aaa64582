// Package stagedmove moves the pods of disrupted nodes in stages. The destination nodes are first reserved: they have a taint
// that excludes pods. This package opens them one after another by removing the taint. See docs/disruption.md, Staged moves.
package stagedmove

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/karpenter-go/karpenter/engine/disrupt/move"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/controller/internal/claims"
	"github.com/karpenter-go/karpenter/internal/observe"
	"github.com/karpenter-go/karpenter/internal/singleton"
)

// A Controller removes the taints of reserved nodes. There is one Controller in a cluster.
type Controller struct {
	Cluster *observe.Cluster
	Actor   *act.Actor
	Clock   clock.Clock

	// next is the earliest time of the next pass.
	next time.Time
	// begun is true if a move was in progress in the last pass. moving is the number of pods of the current stage that have not
	// moved yet. since is the time at which that number last changed.
	begun  bool
	moving int
	since  time.Time
	// stuck has the pods of earlier stages that did not move in time. Later stages do not wait for them.
	stuck map[types.UID]bool
	// owed has the number of pods of each workload at the start of the stage. The stage is complete when all its pods have
	// moved, and either each workload has at least that many pods again or pause has passed. owed is nil before the first
	// stage.
	owed map[types.UID]int

	// outdated has the nodes that had been changed or deleted when they were to be opened, by UID. They are tried again when the snapshot
	// has another version of them, or at the time of the entry.
	outdated map[types.UID]outdated

	// mu guards onOpen, the functions to call after a node was opened. See OnOpen.
	mu     sync.Mutex
	onOpen []func(from []string)
}

// outdated is a version of a node in the snapshot that the API server does not have any more.
type outdated struct {
	version string // the resource version
	until   time.Time
}

const (
	// tick is the time between two passes.
	tick = 100 * time.Millisecond
	// pause is how long a stage waits for pods that replace the last evicted pods. It is limited because not every evicted pod is
	// replaced.
	pause = 250 * time.Millisecond
	// patience is the time without progress after which the next stage begins. A PodDisruptionBudget may block the pods of a
	// stage for hours. During that time, the capacity of the other nodes must not remain unused.
	patience = 10 * time.Second
	// mostNamed is the maximum number of stuck pods that are named in the log.
	mostNamed = 5
)

// OnOpen registers f to be called whenever a node was opened, with the names of the Nodes whose pods move to it.
func (c *Controller) OnOpen(f func(from []string)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.onOpen = append(c.onOpen, f)
}

// Name returns the controller's name.
func (c *Controller) Name() string { return "stagedmove" }

// Register adds the controller to mgr. Changes of nodes trigger it.
func (c *Controller) Register(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named(c.Name()).
		WatchesRawSource(singleton.Source()).
		Watches(&corev1.Node{}, singleton.Handler()).
		Complete(c)
}

// Reconcile makes one pass. It opens the nodes that are due, and those of the next stage when the current one is complete or has
// timed out.
func (c *Controller) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	if !c.Cluster.Synced() {
		return ctrl.Result{RequeueAfter: observe.SyncPoll}, nil
	}
	now := c.Clock.Now()
	if wait := c.next.Sub(now); wait > 0 && wait <= tick { // a longer wait means that the clock was put back
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	c.next = now.Add(tick)
	s := c.Cluster.Snapshot()
	h := move.StageOf(s)
	if !c.begun {
		c.stuck, c.owed = map[types.UID]bool{}, nil
	}
	moving := slices.DeleteFunc(h.Moving, func(p *model.Pod) bool { return c.stuck[p.UID] })
	if !c.begun || len(moving) != c.moving || c.since.After(now) {
		c.moving, c.since = len(moving), now
	}
	c.begun = len(h.Next) > 0
	opens := h.Due
	still := now.Sub(c.since)
	if len(h.Next) > 0 && (len(moving) == 0 && (still >= pause || c.paid(s)) || still >= patience) {
		c.leaveBehind(ctx, moving)
		opens, c.moving, c.since, c.owed = append(opens, h.Next...), 0, now, replicas(s)
	}
	var errs []error
	was := c.outdated
	c.outdated = map[types.UID]outdated{}
	for _, n := range opens {
		uid, version := n.Object.UID, n.Object.ResourceVersion
		o, tried := was[uid]
		if wait := o.until.Sub(now); tried && o.version == version && wait > 0 && wait <= claims.GoneRetry { // a longer wait: the clock was put back
			c.outdated[uid] = o
			continue
		}
		err := c.open(ctx, s, n)
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			c.outdated[uid] = outdated{version, now.Add(claims.GoneRetry)}
			err = nil
		}
		errs = append(errs, err)
	}
	if len(h.Next) == 0 && len(h.Due) == 0 {
		return ctrl.Result{}, nil // a change of a node triggers the next reconcile
	}
	return ctrl.Result{RequeueAfter: tick}, errors.Join(errs...)
}

// paid reports whether every workload has at least as many pods as at the start of the stage.
func (c *Controller) paid(s *model.Snapshot) bool {
	if c.owed == nil {
		return false
	}
	have := replicas(s)
	for workload, n := range c.owed {
		if have[workload] < n {
			return false
		}
	}
	return true
}

// replicas returns the number of pods by the UID of their controller. It does not count pods that are terminating or finished,
// DaemonSet pods and static pods.
func replicas(s *model.Snapshot) map[types.UID]int {
	n := map[types.UID]int{}
	for _, p := range s.Pods.Values() {
		owner := metav1.GetControllerOfNoCopy(p.Object)
		if owner != nil && !p.Terminating() && !p.Terminal() && !p.Daemon() && !p.Mirror() {
			n[owner.UID]++
		}
	}
	return n
}

// leaveBehind adds the pods to c.stuck, so that later stages do not wait for them.
func (c *Controller) leaveBehind(ctx context.Context, pods []*model.Pod) {
	if len(pods) == 0 {
		return
	}
	var names []string
	for _, p := range pods {
		c.stuck[p.UID] = true
		if len(names) < mostNamed {
			names = append(names, p.Key+" on "+cmp.Or(p.Object.Spec.NodeName, "no node"))
		}
	}
	ctrl.LoggerFrom(ctx).V(1).Info("opening the next node of a staged move before all pods have left for the last one",
		"count", len(pods), "pods", names)
}

// open opens a node and calls the functions of OnOpen.
func (c *Controller) open(ctx context.Context, s *model.Snapshot, n *model.Node) error {
	written, err := c.Actor.Open(ctx, n)
	c.Cluster.Assume(written...)
	if len(written) > 0 {
		ctrl.LoggerFrom(ctx).V(1).Info("opened node of a staged move", "Node", klog.KRef("", n.Object.Name))
		from := move.Sources(s, n)
		c.mu.Lock()
		defer c.mu.Unlock()
		for _, f := range c.onOpen {
			f(from)
		}
	}
	return err
}

// Awaiting returns the UIDs of those pods whose destination node is not open yet.
func (c *Controller) Awaiting(pods []*corev1.Pod) map[types.UID]bool {
	s := c.Cluster.Snapshot()
	awaiting := map[types.UID]bool{}
	for _, o := range pods {
		if p, ok := s.Pods.Get(o.Namespace + "/" + o.Name); ok && p.UID == o.UID && move.AwaitsOpening(s, p) {
			awaiting[o.UID] = true
		}
	}
	return awaiting
}
