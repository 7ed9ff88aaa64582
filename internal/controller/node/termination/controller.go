package termination

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/act"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// Controller ends nodes. All fields but Live and CPUMillis are needed.
type Controller struct {
	Client client.Client
	// Live reads past the cache of Client: pods before the instance is ended, so that none bound a moment ago is missed, and
	// what was written by others after a conflict. Without it the cache is trusted.
	Live    client.Reader
	Clock   clock.Clock
	Events  telemetry.Recorder
	Metrics *telemetry.Metrics
	Cloud   cloud.Provider
	// Turns says which pods wait for their new node to be opened; nil for none.
	Turns Turns
	// CPUMillis is the CPU that the process asks for; the number of workers grows with it.
	CPUMillis int64

	// atOnce is how many pods of a node are asked to leave at a time; 0 for requestsAtOnce.
	atOnce   int
	attempts attempts
}

// Turns knows which pods go where.
type Turns interface {
	// Awaiting returns those of the pods, by UID, that are to leave when their new node is opened to them, which is soon.
	Awaiting(pods []*corev1.Pod) map[types.UID]bool
	// OnOpen has f called whenever a node was opened to such pods.
	OnOpen(f func())
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "node.termination" }

// Waits that no event cuts short.
const (
	// conflictDelay is the wait after several conflicts in a row.
	conflictDelay = time.Second
	// claimDelay is the wait for the cache to show that the claim was deleted. The event of the claim ends it sooner.
	claimDelay = 5 * time.Second
	// unreadyPoll is how often to check with the cloud that the instance of a node that is not ready still exists.
	unreadyPoll = 5 * time.Second
	// endingPollMin and endingPollMax bound how often to check with the cloud whether the instance is terminated.
	endingPollMin = time.Second
	endingPollMax = 5 * time.Second
)

// A departure is one node on its way out, as one reconcile sees it.
type departure struct {
	node *corev1.Node
	// claim is nil if the node has none, or more than one.
	claim *apiv1.NodeClaim
	// deadline is zero if the drain may take as long as it needs.
	deadline time.Time
	now      time.Time
}

// Reconcile takes a node that is being deleted one step further, or as many as are possible now.
func (c *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	node := &corev1.Node{}
	if err := c.Client.Get(ctx, req.NamespacedName, node); err != nil {
		if apierrors.IsNotFound(err) {
			return ctrl.Result{}, nil
		}
		return ctrl.Result{}, fmt.Errorf("get node %s: %w", req.Name, err)
	}
	if node.DeletionTimestamp.IsZero() || !controllerutil.ContainsFinalizer(node, apiv1.TerminationFinalizer) {
		return ctrl.Result{}, nil
	}
	if ours, err := c.managed(ctx, node); err != nil || !ours {
		return ctrl.Result{}, err
	}
	result, err := c.depart(ctx, node)
	if act.Conflict(err) {
		return ctrl.Result{RequeueAfter: conflictDelay}, nil
	}
	return result, err
}

// depart prepares the drain: it deletes the node's claim and taints the node. It removes the finalizer at once if the instance
// is gone.
func (c *Controller) depart(ctx context.Context, node *corev1.Node) (ctrl.Result, error) {
	claim, err := c.claimOf(ctx, node)
	if err != nil {
		return ctrl.Result{}, err
	}
	deleted, err := c.deleteClaim(ctx, claim)
	if err != nil {
		return ctrl.Result{}, err
	}
	unready := !ready(node)
	if unready && c.instanceGone(ctx, node) {
		return ctrl.Result{}, c.conclude(ctx, node, claim)
	}
	if node, err = c.cordon(ctx, node); err != nil {
		return ctrl.Result{}, err
	}
	if deleted {
		// What was read of the claim is out of date now.
		return ctrl.Result{RequeueAfter: claimDelay}, nil
	}
	result, err := c.advance(ctx, c.newDeparture(ctx, node, claim))
	if err != nil {
		return ctrl.Result{}, err
	}
	if unready && node.Spec.ProviderID != "" && (result.RequeueAfter == 0 || result.RequeueAfter > unreadyPoll) {
		result.RequeueAfter = unreadyPoll
	}
	return result, nil
}

func (c *Controller) newDeparture(ctx context.Context, node *corev1.Node, claim *apiv1.NodeClaim) *departure {
	return &departure{node: node, claim: claim, deadline: c.deadlineOf(ctx, node, claim), now: c.Clock.Now()}
}

// advance drains the node, waits for its volumes and ends its instance, as far as that is possible now, and writes on the
// claim how far it came.
func (c *Controller) advance(ctx context.Context, d *departure) (ctrl.Result, error) {
	before := d.claim.DeepCopy()
	outcome, err := c.steps(ctx, d)
	if saved := c.saveConditions(ctx, before, d.claim); saved != nil {
		return ctrl.Result{}, join(err, saved)
	}
	if err != nil {
		return ctrl.Result{}, err
	}
	if outcome.gone {
		return ctrl.Result{}, c.release(ctx, d.node)
	}
	return ctrl.Result{RequeueAfter: outcome.after}, nil
}

// join keeps a single error as it is, so that a conflict is still one.
func join(a, b error) error {
	if a == nil {
		return b
	}
	return errors.Join(a, b)
}

// An outcome is how far the steps came.
type outcome struct {
	// gone means that the instance has ended and the node may go.
	gone bool
	// after is when to look again if nothing happens; zero means only then.
	after time.Duration
}

// steps are drain, volumes and instance, in that order; each waits for the one before.
func (c *Controller) steps(ctx context.Context, d *departure) (outcome, error) {
	if ending(d.claim) {
		return c.endInstance(ctx, d) // there is no way back, whatever else has happened on the node
	}
	decision, err := c.decide(ctx, d, c.Client)
	if err != nil {
		return outcome{}, err
	}
	if decision.Drained() && (decision.Detached() || !drained(d.claim)) && c.Live != nil {
		// The scheduler may have bound a pod just before it saw the taint, and the cache may not know of it yet. So the pods
		// are read live before the claim is told that they are gone, and before the instance is ended, but not at each event
		// of the time between, when volumes are waited for.
		if decision, err = c.decide(ctx, d, c.Live); err != nil {
			return outcome{}, err
		}
	}
	if !decision.Drained() {
		return c.drain(ctx, d, decision)
	}
	c.setDrained(d)
	if !c.volumesDone(d, decision) {
		return outcome{after: wait(decision.Again, d.now)}, nil
	}
	return c.endInstance(ctx, d)
}

// wait is the time from now until at, at least a millisecond; zero if at is zero.
func wait(at, now time.Time) time.Duration {
	if at.IsZero() {
		return 0
	}
	return max(at.Sub(now), time.Millisecond)
}
