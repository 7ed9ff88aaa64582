package remote

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	cloudv1 "github.com/karpenter-go/karpenter/cloud/proto/karpenter/cloud/v1"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/provider/remote/wire"
)

// A Pulse checks at intervals that the provider answers. When the provider does not answer, or its response is
// rejected, the Pulse publishes an event on each NodePool of the provider. It does so once until a check succeeds.
type Pulse struct {
	provider *Provider
}

// Pulse returns the controller that checks the provider.
func (p *Provider) Pulse() *Pulse { return &Pulse{provider: p} }

// Name is the name of the controller in logs.
func (c *Pulse) Name() string { return "provider." + c.provider.Name() }

// Register adds the controller to mgr. It runs on the leader.
func (c *Pulse) Register(mgr ctrl.Manager) error {
	if err := mgr.Add(manager.RunnableFunc(c.Run)); err != nil {
		return fmt.Errorf("set up %s: %w", c.Name(), err)
	}
	return nil
}

// Run checks the provider until ctx is done. A change of the facts is reported once, because the new facts are used only
// after a restart.
func (c *Pulse) Run(ctx context.Context) error {
	p := c.provider
	told, reported := false, false
	var fault string
	for {
		m, err := p.ask(ctx)
		if ctx.Err() != nil {
			return nil
		}
		switch {
		case err == nil:
			fault = c.facts(ctx, m, &reported)
			told = told && fault != ""
		default:
			fault = wire.Text(err.Error())
		}
		if fault != "" && !told {
			told = c.tell(ctx, fault)
		}
		timer := p.config.Clock.NewTimer(pulse)
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C():
		}
	}
}

// facts compares the facts in a response with those in use. It returns the reason if the response is rejected, otherwise
// "".
func (c *Pulse) facts(ctx context.Context, m *cloudv1.GetInfoResponse, reported *bool) (fault string) {
	p := c.provider
	if _, err := wire.ReadInfo(m); err != nil {
		return p.checked(err).Error()
	}
	if p.changed(m) && !*reported {
		*reported = true
		p.store(ctx, m)
		ctrl.LoggerFrom(ctx).Info("provider has other labels, node classes or capabilities than at the start, restart to use them", "provider", p.Name())
	}
	return ""
}

// tell publishes an event on each NodePool of the provider. It returns false if the NodePools could not be listed.
func (c *Pulse) tell(ctx context.Context, fault string) bool {
	p := c.provider
	var pools apiv1.NodePoolList
	if err := p.config.Client.List(ctx, &pools); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "failed to list NodePools of provider", "provider", p.Name())
		return false
	}
	for i := range pools.Items {
		if pool := &pools.Items[i]; p.info.Facts.Manages(pool.Spec.Template.Spec.NodeClassRef) {
			p.config.Events.Publish(telemetry.Event{
				Object: pool, Type: corev1.EventTypeWarning, Reason: telemetry.EventProviderUnreachable,
				Message: "No nodes are launched from this NodePool: " + fault,
			})
		}
	}
	return true
}
