package operator

import (
	"context"
	"time"

	"k8s.io/utils/clock"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// An instrumentedProvider measures the calls that one controller makes to a provider.
type instrumentedProvider struct {
	next       cloud.Provider
	controller string
	metrics    *telemetry.CloudMetrics
	clock      clock.PassiveClock
}

var _ cloud.Provider = (*instrumentedProvider)(nil)

func instrument(p cloud.Provider, controller string, m *telemetry.Metrics, c clock.PassiveClock) cloud.Provider {
	return &instrumentedProvider{next: p, controller: controller, metrics: m.Cloud, clock: c}
}

// timed starts the measurement of one call and returns the function that ends it. pool is the NodePool of the object of
// the call, empty if there is none.
func (p *instrumentedProvider) timed(method, pool string) func(error) {
	start := p.clock.Now()
	return func(err error) {
		p.metrics.DurationSeconds.WithLabelValues(p.controller, method, p.next.Name()).
			Observe(p.clock.Since(start).Seconds())
		if err != nil {
			p.metrics.ErrorsTotal.WithLabelValues(p.controller, method, p.next.Name(), cloud.Kind(err), pool).Inc()
		}
	}
}

func (p *instrumentedProvider) Name() string { return p.next.Name() }

func (p *instrumentedProvider) Facts() cloud.Facts { return p.next.Facts() }

func (p *instrumentedProvider) InstanceTypes(
	ctx context.Context, pool *apiv1.NodePool,
) ([]*cloud.InstanceType, error) {
	done := p.timed("GetInstanceTypes", pool.Name)
	types, err := p.next.InstanceTypes(ctx, pool)
	done(err)
	return types, err
}

func (p *instrumentedProvider) Create(ctx context.Context, claim *apiv1.NodeClaim) (*cloud.Instance, error) {
	done := p.timed("Create", claim.Labels[apiv1.NodePoolLabelKey])
	i, err := p.next.Create(ctx, claim)
	done(err)
	return i, err
}

func (p *instrumentedProvider) Delete(ctx context.Context, claim *apiv1.NodeClaim) error {
	done := p.timed("Delete", claim.Labels[apiv1.NodePoolLabelKey])
	err := p.next.Delete(ctx, claim)
	done(err)
	return err
}

func (p *instrumentedProvider) Reboot(ctx context.Context, claim *apiv1.NodeClaim, operationID string) error {
	done := p.timed("Reboot", claim.Labels[apiv1.NodePoolLabelKey])
	err := p.next.Reboot(ctx, claim, operationID)
	done(err)
	return err
}

func (p *instrumentedProvider) Get(ctx context.Context, providerID string) (*cloud.Instance, error) {
	done := p.timed("Get", "")
	i, err := p.next.Get(ctx, providerID)
	done(err)
	return i, err
}

func (p *instrumentedProvider) List(ctx context.Context) ([]*cloud.Instance, error) {
	done := p.timed("List", "")
	list, err := p.next.List(ctx)
	done(err)
	return list, err
}

func (p *instrumentedProvider) Drift(ctx context.Context, claim *apiv1.NodeClaim) (cloud.DriftReason, error) {
	done := p.timed("IsDrifted", claim.Labels[apiv1.NodePoolLabelKey])
	reason, err := p.next.Drift(ctx, claim)
	done(err)
	return reason, err
}

func (p *instrumentedProvider) Registered(
	ctx context.Context, claim *apiv1.NodeClaim,
) (time.Duration, map[string]string, error) {
	done := p.timed("Registered", claim.Labels[apiv1.NodePoolLabelKey])
	wait, labels, err := p.next.Registered(ctx, claim)
	done(err)
	return wait, labels, err
}
