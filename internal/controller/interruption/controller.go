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
	"github.com/karpenter-go/karpenter/internal/singleton"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// A Cloud is what is needed of the provider.
type Cloud interface {
	Facts() cloud.Facts
	// MarkUnavailable is that of cloud.Notifier.
	MarkUnavailable(claim *apiv1.NodeClaim, capacityType string)
}

// A Controller acts on the notices of one source.
type Controller struct {
	Source  cloud.NoticeSource
	Cloud   Cloud
	Client  client.Client
	Clock   clock.PassiveClock
	Events  telemetry.Recorder
	Metrics *telemetry.Metrics
	// Replacements measures how soon nodes are replaced. It is shared by all sources.
	Replacements *Replacements

	failing failing
}

// Name is the controller's name in logs and metrics: that of its source.
func (c *Controller) Name() string { return c.Source.Name() }

// Register adds the controller to mgr. Its runs do not overlap.
func (c *Controller) Register(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).Named(c.Name()).WatchesRawSource(singleton.Source()).Complete(c)
	if err != nil {
		return fmt.Errorf("set up controller %s: %w", c.Name(), err)
	}
	return nil
}

// Reconcile takes one batch of notices from the source. After an error it comes back by itself, later each time. The error is
// logged when it is new, and its end is too.
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
		var news bool
		if next, news = c.failing.again(err); news {
			ctrl.LoggerFrom(ctx).Error(err, "failed to read messages, retrying", "task", c.Name(), "next-retry", next)
		}
	}
	return ctrl.Result{RequeueAfter: next}, nil
}

// Handle takes one batch of notices from the source and carries out what they call for. It returns the wait until the next
// batch.
func (c *Controller) Handle(ctx context.Context) (next time.Duration, err error) {
	batch, err := c.Source.Receive(ctx)
	if err != nil {
		return 0, err
	}
	actions, err := c.decide(ctx, batch.Notices)
	if err != nil {
		return 0, err
	}
	failed := c.carryOutAll(ctx, actions)
	if batch.Acknowledge != nil {
		if err := batch.Acknowledge(ctx, failed); err != nil {
			return 0, err
		}
	}
	return batch.Next, nil
}

// decide returns what the notices call for.
func (c *Controller) decide(ctx context.Context, notices []cloud.Notice) ([]interruption.Action, error) {
	if len(notices) == 0 {
		return nil, nil
	}
	s := interruption.State{Now: c.Clock.Now(), Notices: notices}
	var claims apiv1.NodeClaimList
	if err := c.Client.List(ctx, &claims); err != nil {
		return nil, fmt.Errorf("list claims: %w", err)
	}
	facts := c.Cloud.Facts()
	for i := range claims.Items {
		if claim := &claims.Items[i]; facts.Manages(claim.Spec.NodeClassRef) {
			s.Claims = append(s.Claims, claim)
		}
	}
	var nodes corev1.NodeList
	if err := c.Client.List(ctx, &nodes); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	for i := range nodes.Items {
		s.Nodes = append(s.Nodes, &nodes.Items[i])
	}
	return interruption.Decide(s), nil
}

// failing is how often a source has failed in a row. The zero value is one that works.
type failing struct {
	text  string // the error that was logged last, empty if the last call succeeded
	pause time.Duration
}

// The pause after an error, which doubles from the first to the longest. The longest is short: a spot instance runs for two
// minutes after its notice, and a source that works again must be read well within them.
const (
	retryFirst   = time.Second
	retryLongest = 10 * time.Second
)

// again returns the pause before the next attempt, and whether the error is another one than before.
func (f *failing) again(err error) (pause time.Duration, news bool) {
	f.pause = min(max(2*f.pause, retryFirst), retryLongest)
	news, f.text = f.text != err.Error(), err.Error()
	return f.pause, news
}

// end notes a success and reports whether it ends a row of failures.
func (f *failing) end() bool {
	ended := f.text != ""
	*f = failing{}
	return ended
}
