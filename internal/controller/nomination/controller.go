package nomination

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/nominate"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/observe"
	"github.com/karpenter-go/karpenter/internal/singleton"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// A Controller writes and clears nominations: the node in status.nominatedNodeName of pending pods. There is one Controller in a
// cluster.
type Controller struct {
	Cluster   *observe.Cluster
	Nominator *act.Nominator
	Clock     clock.Clock
	Metrics   *telemetry.SchedulerMetrics
	// On is true if pods are to be nominated. Otherwise earlier nominations are cleared.
	On bool

	// last is the start of the last pass. The next pass begins after busyInterval if busy or joins is true, otherwise after
	// idleInterval. busy is true if the last pass wrote nominations or released claims, or if nodes still wait for
	// nominations or registration. joins is true if claims or nodes that are not registered have changed since the last
	// pass.
	last  time.Time
	busy  bool
	joins atomic.Bool
	// forbidden is set permanently once the API server has refused a patch of pods/status as forbidden.
	forbidden atomic.Bool
	// outdated has the resource versions of the pods in the cache that the API server did not write, because they are gone or have
	// changed, by pod key. They are not written again until the cache has another version. Otherwise each pass would repeat the write
	// while the watch of pods is late.
	outdated map[string]string
	// outcomes counts where nominated pods were bound; nil means none. Other goroutines read it.
	outcomes atomic.Pointer[nominate.Outcomes]
}

// Intervals between passes.
const (
	// idleInterval is the minimum time between two passes. busyInterval applies while nominations must be written or nodes
	// join. busyInterval is short because kube-scheduler may clear a nomination, and then the pod may lose its capacity to
	// another one. After a pass that ends at maxWritesPerPass, the next one begins without a delay.
	idleInterval = 500 * time.Millisecond
	busyInterval = 50 * time.Millisecond
	// recheckInterval is the maximum time between two passes while pods are pending. The deletion of a node triggers no pass.
	recheckInterval = 10 * time.Second
	// syncInterval is the interval of checks whether the first lists from the API server are complete.
	syncInterval = 100 * time.Millisecond
	// maxWritesPerPass is the maximum number of nominations in one pass. The next pass makes a new decision, because
	// kube-scheduler may have bound some of the other pods in the meantime.
	maxWritesPerPass = 100
)

// Name returns the controller's name.
func (c *Controller) Name() string { return "nomination" }

// Register adds the controller to mgr. Pending pods, plans for them, and claims and nodes that join the cluster trigger it.
func (c *Controller) Register(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).Named(c.Name()).
		WatchesRawSource(singleton.Source()).
		WatchesRawSource(source.Func(
			func(_ context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
				wake := func() { queue.Add(singleton.Request()) }
				c.Cluster.OnWork(wake)
				c.Cluster.OnPromise(wake)
				c.Cluster.OnJoin(func() {
					c.joins.Store(true)
					wake()
				})
				return nil
			})).
		Complete(c)
}

// Reconcile makes one pass. Failed writes are repeated in the next pass.
func (c *Controller) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	if !c.Cluster.Synced() {
		return ctrl.Result{RequeueAfter: syncInterval}, nil
	}
	now, least := c.Clock.Now(), idleInterval
	if c.busy || c.joins.Load() {
		least = busyInterval
	}
	if wait := c.last.Add(least).Sub(now); wait > 0 && wait <= least { // a longer wait means that the clock was put back
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	c.last = now
	c.joins.Store(false)
	launching := c.Cluster.Launches() // before the snapshot, so that the snapshot has the planned pods of completed launches
	s := c.Cluster.Snapshot()
	c.observe(s)
	on := c.On && !c.forbidden.Load()
	d := nominate.Decide(s, nominate.Options{On: on, Launching: launching})
	if c.forbidden.Load() {
		d.Nominations = nil
	}
	d.Nominations = c.current(s, d.Nominations)
	wrote, complete := c.nominate(ctx, d.Nominations[:min(len(d.Nominations), maxWritesPerPass)])
	if complete {
		c.release(ctx, d.Nominated)
	}
	unfinished := wrote > 0 || d.Waiting || len(d.Nominated) > 0
	c.busy = unfinished || d.InFlight
	switch {
	case len(d.Nominations) > maxWritesPerPass && wrote > 0:
		c.last = time.Time{}
		return ctrl.Result{RequeueAfter: time.Millisecond}, nil
	case unfinished:
		return ctrl.Result{RequeueAfter: busyInterval}, nil
	case len(s.Pending()) == 0:
		return ctrl.Result{}, nil
	}
	return ctrl.Result{RequeueAfter: recheckInterval}, nil
}

// Tally returns how many of the last nominated pods of a scheduler were bound, and how many of them to another node than
// nominated. It may be called concurrently.
func (c *Controller) Tally(scheduler string) nominate.Tally {
	o := c.outcomes.Load()
	if o == nil {
		return nominate.Tally{}
	}
	return o.Of(scheduler)
}

// observe counts where nominated pods were bound since the last pass.
func (c *Controller) observe(s *model.Snapshot) {
	var before nominate.Outcomes
	if o := c.outcomes.Load(); o != nil {
		before = *o
	}
	after, fresh := before.Observe(s)
	c.outcomes.Store(&after)
	for _, f := range fresh {
		// Both series are created, because a query that compares them has no result without one of them.
		followed := c.Metrics.NominatedPodsBoundTotal.WithLabelValues(f.Scheduler, telemetry.BoundAsNominated)
		elsewhere := c.Metrics.NominatedPodsBoundTotal.WithLabelValues(f.Scheduler, telemetry.BoundElsewhere)
		if f.Followed {
			followed.Inc()
		} else {
			elsewhere.Inc()
		}
	}
}

// current returns the nominations without those of outdated pods.
func (c *Controller) current(s *model.Snapshot, nominations []nominate.Nomination) []nominate.Nomination {
	for key, version := range c.outdated {
		if p, ok := s.Pods.Get(key); !ok || p.Object.ResourceVersion != version {
			delete(c.outdated, key)
		}
	}
	return slices.DeleteFunc(nominations, func(n nominate.Nomination) bool { return c.outdated[n.Pod.Key] != "" })
}

// nominate writes nominations and counts them. It returns the number of successful writes. complete is true if no write
// failed; writes that are omitted because the pod is gone or has changed are not failures.
func (c *Controller) nominate(ctx context.Context, nominations []nominate.Nomination) (stored int, complete bool) {
	if len(nominations) == 0 {
		return 0, true
	}
	pods, err := c.Nominator.Nominate(ctx, nominations)
	for _, p := range pods {
		c.Cluster.Assume(p)
		action := telemetry.NominationWritten
		if p.Status.NominatedNodeName == "" {
			action = telemetry.NominationCleared
		}
		c.Metrics.NominationsTotal.WithLabelValues(action).Inc()
	}
	if err == nil && len(pods) < len(nominations) {
		c.remember(nominations, pods)
	}
	switch log := ctrl.LoggerFrom(ctx); {
	case apierrors.IsForbidden(err):
		c.forbidden.Store(true)
		log.Info("pod nomination disabled: not authorized to patch pods/status (RBAC)", "error", err.Error())
	case err != nil:
		log.V(1).Info("failed to write some nominations", "error", err.Error())
	}
	return len(pods), err == nil
}

// remember records as outdated the pods of the nominations that are not among those stored.
func (c *Controller) remember(nominations []nominate.Nomination, stored []*corev1.Pod) {
	if c.outdated == nil {
		c.outdated = map[string]string{}
	}
	for _, n := range nominations {
		o := n.Pod.Object
		if !slices.ContainsFunc(stored, func(p *corev1.Pod) bool { return p.Namespace == o.Namespace && p.Name == o.Name }) {
			c.outdated[n.Pod.Key] = o.ResourceVersion
		}
	}
}

// release allows the nodes of the claims to register, because they need not wait for nominations any more.
func (c *Controller) release(ctx context.Context, nominated []nominate.Nominated) {
	if len(nominated) == 0 {
		return
	}
	claims, err := c.Nominator.Release(ctx, nominated)
	for _, claim := range claims {
		c.Cluster.Assume(claim)
	}
	if err != nil {
		ctrl.LoggerFrom(ctx).V(1).Info("failed to release some nodeclaims", "error", err.Error())
	}
}
