package operator

import (
	"context"
	"time"

	"k8s.io/utils/clock"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/telemetry"
	"github.com/karpenter-go/karpenter/internal/tracing"
)

// An instrumentedProvider measures the calls that one controller makes to a provider.
type instrumentedProvider struct {
	next       cloud.Provider
	controller string
	metrics    *telemetry.CloudMetrics
	clock      clock.PassiveClock
	tracer     *tracing.Tracer
}

var _ cloud.Provider = (*instrumentedProvider)(nil)

func instrument(p cloud.Provider, controller string, m *telemetry.Metrics, c clock.PassiveClock, t *tracing.Tracer) cloud.Provider {
	return &instrumentedProvider{next: p, controller: controller, metrics: m.Cloud, clock: c, tracer: t}
}

// timed starts the measurement and the span of one call, and returns its context and the function that ends it. pool is
// the NodePool of the object of the call and class its node class, empty if there is none.
func (p *instrumentedProvider) timed(
	ctx context.Context, method, pool string, class *apiv1.NodeClassReference,
) (context.Context, func(error)) {
	start, name := p.clock.Now(), p.next.Name()
	if several, ok := p.next.(cloud.Named); ok && class != nil {
		name = several.NameOf(class)
	}
	ctx, end := p.tracer.Span(ctx, tracing.CloudCall+method, "controller", p.controller, "provider", name, "nodepool", pool)
	return ctx, func(err error) {
		end(err)
		p.metrics.DurationSeconds.WithLabelValues(p.controller, method, name).
			Observe(p.clock.Since(start).Seconds())
		if err != nil {
			p.metrics.ErrorsTotal.WithLabelValues(p.controller, method, name, cloud.Kind(err), pool).Inc()
		}
	}
}

func (p *instrumentedProvider) Name() string { return p.next.Name() }

func (p *instrumentedProvider) Facts() cloud.Facts { return p.next.Facts() }

func (p *instrumentedProvider) InstanceTypes(
	ctx context.Context, pool *apiv1.NodePool,
) ([]*cloud.InstanceType, error) {
	ctx, done := p.timed(ctx, "GetInstanceTypes", pool.Name, pool.Spec.Template.Spec.NodeClassRef)
	types, err := p.next.InstanceTypes(ctx, pool)
	done(err)
	return types, err
}

func (p *instrumentedProvider) Create(ctx context.Context, claim *apiv1.NodeClaim) (*cloud.Instance, error) {
	ctx, done := p.timed(ctx, "Create", claim.Labels[apiv1.NodePoolLabelKey], claim.Spec.NodeClassRef)
	i, err := p.next.Create(ctx, claim)
	done(err)
	return i, err
}

func (p *instrumentedProvider) Delete(ctx context.Context, claim *apiv1.NodeClaim) error {
	ctx, done := p.timed(ctx, "Delete", claim.Labels[apiv1.NodePoolLabelKey], claim.Spec.NodeClassRef)
	err := p.next.Delete(ctx, claim)
	done(err)
	return err
}

func (p *instrumentedProvider) Reboot(ctx context.Context, claim *apiv1.NodeClaim, operationID string) error {
	ctx, done := p.timed(ctx, "Reboot", claim.Labels[apiv1.NodePoolLabelKey], claim.Spec.NodeClassRef)
	err := p.next.Reboot(ctx, claim, operationID)
	done(err)
	return err
}

func (p *instrumentedProvider) Get(ctx context.Context, providerID string) (*cloud.Instance, error) {
	ctx, done := p.timed(ctx, "Get", "", nil)
	i, err := p.next.Get(ctx, providerID)
	done(err)
	return i, err
}

func (p *instrumentedProvider) List(ctx context.Context) ([]*cloud.Instance, error) {
	ctx, done := p.timed(ctx, "List", "", nil)
	list, err := p.next.List(ctx)
	done(err)
	return list, err
}

func (p *instrumentedProvider) Drift(ctx context.Context, claim *apiv1.NodeClaim) (cloud.DriftReason, error) {
	ctx, done := p.timed(ctx, "IsDrifted", claim.Labels[apiv1.NodePoolLabelKey], claim.Spec.NodeClassRef)
	reason, err := p.next.Drift(ctx, claim)
	done(err)
	return reason, err
}

func (p *instrumentedProvider) Registered(
	ctx context.Context, claim *apiv1.NodeClaim,
) (time.Duration, map[string]string, error) {
	ctx, done := p.timed(ctx, "Registered", claim.Labels[apiv1.NodePoolLabelKey], claim.Spec.NodeClassRef)
	wait, labels, err := p.next.Registered(ctx, claim)
	done(err)
	return wait, labels, err
}
