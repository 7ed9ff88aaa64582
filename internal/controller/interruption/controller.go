package interruption

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/engine/interruption"
	"github.com/karpenter-go/karpenter/internal/decisions"
	"github.com/karpenter-go/karpenter/internal/singleton"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// Cloud has the methods of the provider that the Controller uses.
type Cloud interface {
	Facts() cloud.Facts
	// MarkUnavailable is the method of cloud.Notifier.
	MarkUnavailable(claim *apiv1.NodeClaim, capacityType string)
}

// A Controller reacts to the notices of one source.
type Controller struct {
	Source  cloud.NoticeSource
	Cloud   Cloud
	Client  client.Client
	Clock   clock.PassiveClock
	Events  telemetry.Recorder
	Metrics *telemetry.Metrics
	// Replacements measures the time until interrupted nodes are replaced. All sources share it.
	Replacements *Replacements
	// Decisions records the deletions; nil records none.
	Decisions *decisions.Log

	failing failing
}

// Name returns the name of the source. It is the controller's name in logs and metrics.
func (c *Controller) Name() string { return c.Source.Name() }

// Register adds the controller to mgr. Its runs do not overlap.
func (c *Controller) Register(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).Named(c.Name()).WatchesRawSource(singleton.Source()).Complete(c)
	if err != nil {
		return fmt.Errorf("set up controller %s: %w", c.Name(), err)
	}
	return nil
}

// Reconcile handles one batch of notices from the source. After an error it is repeated with increasing delay. A line is logged
// when a new error occurs, once an hour while it stays, and when reading succeeds again.
func (c *Controller) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	next, err := c.Handle(ctx)
	switch {
	case err == nil:
		if c.failing.end() {
			ctrl.LoggerFrom(ctx).Info("reading messages recovered", "task", c.Name())
		}
	case ctx.Err() != nil:
		return ctrl.Result{}, nil // the process ends
	default:
		var logged bool
		if next, logged = c.failing.again(err); logged {
			ctrl.LoggerFrom(ctx).Error(err, "failed to read messages, retrying", "task", c.Name(), "next-retry", next)
		}
	}
	return ctrl.Result{RequeueAfter: next}, nil
}

// Handle receives one batch of notices from the source and executes the resulting actions. It returns the delay until
// the next batch.
func (c *Controller) Handle(ctx context.Context) (next time.Duration, err error) {
	batch, err := c.Source.Receive(ctx)
	if err != nil {
		return 0, err
	}
	state, err := c.state(ctx, batch.Notices)
	if err != nil {
		return 0, err
	}
	failed := c.carryOutAll(ctx, interruption.Decide(state))
	for _, n := range interruption.Early(state) {
		ctrl.LoggerFrom(ctx).Info("no nodeclaim has the instance yet, the message is handled again", "instance", n.Instance, "message-kind", n.Kind)
		failed = append(failed, n)
	}
	if batch.Acknowledge != nil {
		if err := batch.Acknowledge(ctx, failed); err != nil {
			return 0, err
		}
	}
	return batch.Next, nil
}

// state returns what the engine needs to decide on the notices. It has nothing but the time if there are none.
func (c *Controller) state(ctx context.Context, notices []cloud.Notice) (interruption.State, error) {
	s := interruption.State{Now: c.Clock.Now(), Notices: notices}
	if len(notices) == 0 {
		return s, nil
	}
	var claims apiv1.NodeClaimList
	if err := c.Client.List(ctx, &claims); err != nil {
		return s, fmt.Errorf("list claims: %w", err)
	}
	facts := c.Cloud.Facts()
	for i := range claims.Items {
		if claim := &claims.Items[i]; facts.Manages(claim.Spec.NodeClassRef) {
			s.Claims = append(s.Claims, claim)
		}
	}
	var nodes corev1.NodeList
	if err := c.Client.List(ctx, &nodes); err != nil {
		return s, fmt.Errorf("list nodes: %w", err)
	}
	for i := range nodes.Items {
		s.Nodes = append(s.Nodes, &nodes.Items[i])
	}
	return s, nil
}

// failing has the last error of a source and the delay after it. The zero value means that the last call succeeded.
type failing struct {
	last  telemetry.LastError
	pause time.Duration
}

// retryFirst is the delay after the first error. It doubles with each further error up to retryLongest. retryLongest is short
// compared to the two minutes that a spot instance runs after its notice.
const (
	retryFirst   = time.Second
	retryLongest = 10 * time.Second
)

// again returns the delay before the next attempt, and whether the error should be logged.
func (f *failing) again(err error) (pause time.Duration, log bool) {
	f.pause = min(max(2*f.pause, retryFirst), retryLongest)
	return f.pause, f.last.Failed(err.Error(), f.pause)
}

// end records a success and reports whether the last attempt had failed.
func (f *failing) end() bool {
	f.pause = 0
	return f.last.Succeeded()
}
