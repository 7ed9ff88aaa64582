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

// Controller drains nodes that are being deleted and terminates their instances. All fields except Live, Turns and CPUMillis are
// required.
type Controller struct {
	Client client.Client
	// Live reads from the API server, without the cache of Client. Before the instance is terminated, pods are read with it
	// once more, so that recently bound ones are not missed. Objects are read with it after a conflict. If Live is nil,
	// pods are not read once more, and Client is used after a conflict.
	Live    client.Reader
	Clock   clock.Clock
	Events  telemetry.Recorder
	Metrics *telemetry.Metrics
	Cloud   cloud.Provider
	// Turns returns the pods that must wait until their destination node accepts them; nil for none.
	Turns Turns
	// CPUMillis is the CPU request of the process, which determines the number of workers.
	CPUMillis int64

	// atOnce is the number of concurrent evictions on a node; 0 stands for requestsAtOnce.
	atOnce   int
	attempts attempts
}

// Turns returns which pods must wait until their destination node accepts them.
type Turns interface {
	// Awaiting returns the UIDs of those pods whose destination node is reserved and not opened yet.
	Awaiting(pods []*corev1.Pod) map[types.UID]bool
	// OnOpen registers f to be called whenever a destination node starts to accept such pods, with the names of the nodes that they
	// leave.
	OnOpen(f func(from []string))
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "node.termination" }

// Delays of reconciles.
const (
	// conflictDelay is the delay after a write all of whose attempts conflicted, see act.Again.
	conflictDelay = time.Second
	// claimDelay is the maximum wait until the cache has the deletion of the claim. The event of the claim ends the wait earlier.
	claimDelay = 5 * time.Second
	// unreadyPoll is the interval of checks whether the instance of a node that is not ready still exists in the cloud.
	unreadyPoll = 5 * time.Second
	// endingPollMin and endingPollMax bound the interval of checks whether the instance is terminated.
	endingPollMin = time.Second
	endingPollMax = 5 * time.Second
)

// A departure is the state of one node that is being deleted, during one reconcile.
type departure struct {
	node *corev1.Node
	// claim is nil if the node has none, or more than one.
	claim *apiv1.NodeClaim
	// deadline is the end of the drain, zero if there is no limit.
	deadline time.Time
	now      time.Time
}

// Reconcile executes all steps for a node that is being deleted that are possible now.
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

// depart prepares the drain: it deletes the node's claim and taints the node. Then it calls advance. If the node is not ready and
// its instance no longer exists, it removes the finalizer instead.
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
		// The claim that was read does not have its deletion timestamp.
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

// advance drains the node, waits for its volumes and terminates its instance, as far as possible now. It writes the progress to
// the claim's conditions.
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

// join is like errors.Join, but returns b unchanged if a is nil. Otherwise act.Conflict would not recognize a conflict.
func join(a, b error) error {
	if a == nil {
		return b
	}
	return errors.Join(a, b)
}

// An outcome is the result of steps.
type outcome struct {
	// gone is true if the instance no longer exists or the node never had one, so the finalizer can be removed.
	gone bool
	// after is the delay until the next reconcile if no event triggers one earlier; zero means that only events trigger one.
	after time.Duration
}

// steps executes the three steps: drain, wait for volumes, terminate the instance. Each step begins when the previous one
// is complete. Once the cloud has accepted the termination, only the last step is executed.
func (c *Controller) steps(ctx context.Context, d *departure) (outcome, error) {
	if ending(d.claim) {
		return c.endInstance(ctx, d) // the termination has begun and cannot be undone
	}
	decision, err := c.decide(ctx, d, c.Client)
	if err != nil {
		return outcome{}, err
	}
	if decision.Drained() && (decision.Detached() || !drained(d.claim)) && c.Live != nil {
		// kube-scheduler may have bound a pod just before it received the taint, and the cache may lack that pod. So the pods are
		// read from the API server before Drained is set, and again before the instance is terminated. They are not read again on
		// each event while volumes are detached.
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

// wait returns the time from now until at, at least a millisecond; zero if at is zero.
func wait(at, now time.Time) time.Duration {
	if at.IsZero() {
		return 0
	}
	return max(at.Sub(now), time.Millisecond)
}
