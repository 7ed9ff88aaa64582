package clusterapi

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	clusterapiv1alpha1 "github.com/karpenter-go/karpenter/api/clusterapi/v1alpha1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/cloud"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// await returns the Machine once the Machine has a provider ID. If the infrastructure has no
// capacity, await records a shortage of the offering and deletes the Machine. At the deadline of
// the launch it records a shortage too, so that the next launch uses another offering. Until then
// it publishes at every liveEvery-th read what the infrastructure reports. If the Machine is being
// deleted or its infrastructure has failed for good, await returns a LaunchError.
func (p *Provider) await(
	ctx context.Context, claim *apiv1.NodeClaim, class *clusterapiv1alpha1.ClusterAPINodeClass, r record, m *machine,
) (*machine, error) {
	offering := keyOf(class, r.Template, r.FailureDomain)
	for looked := 0; ; looked++ {
		if m.Spec.ProviderID != "" {
			p.shortages.clear(offering)
			return m, nil
		}
		if m.ending() {
			return nil, &cloud.LaunchError{
				Reason: reasonMachineDeleted, Message: fmt.Sprintf("Machine %s was deleted before it had a provider ID", r.key()),
				Err: errors.New("it was deleted during its launch"),
			}
		}
		v := judge(m, class.Spec.CapacityErrors)
		switch {
		case v.short:
			p.shortages.mark(offering)
			if err := p.end(ctx, m); err != nil {
				ctrl.LoggerFrom(ctx).Error(err, "failed to delete machine without capacity, which is tried again", "Machine", klog.KRef(r.Namespace, r.Name))
			}
			return nil, &cloud.InsufficientCapacityError{
				Err: fmt.Errorf("template %s in failure domain %q: %s", r.Template, r.FailureDomain, v),
			}
		case v.final:
			return nil, &cloud.LaunchError{
				Reason: reasonInfrastructure, Message: fmt.Sprintf("Infrastructure of Machine %s failed: %s", r.key(), v),
				Err: errors.New("the infrastructure provider reports a failure"),
			}
		}
		if !wait(ctx, p.config.Clock, p.config.Poll) {
			if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
				p.shortages.mark(offering)
			}
			return nil, &cloud.LaunchError{
				Reason: reasonProvisioning, Message: fmt.Sprintf("Machine %s has no provider ID yet: %s", r.key(), v), Err: ctx.Err(),
			}
		}
		if (looked+1)%liveEvery == 0 {
			p.tellDelay(claim, r, v)
		}
		next, err := p.look(ctx, r, looked)
		if err != nil {
			return nil, err
		}
		if next != nil {
			m = next
		}
	}
}

// tellDelay publishes on the claim why its Machine has no provider ID yet. Without the event, a mistake in a template
// would show on the Machine alone, until the launch times out.
func (p *Provider) tellDelay(claim *apiv1.NodeClaim, r record, v verdict) {
	message := fmt.Sprintf("Machine %s has no provider ID yet: %s; fix: kubectl describe machine %s -n %s in the management cluster",
		r.key(), v, r.Name, r.Namespace)
	p.config.Events.Publish(telemetry.Event{
		Object: claim, Type: corev1.EventTypeWarning, Reason: telemetry.EventLaunchDelayed, Message: message,
		Dedupe: []string{string(claim.UID), v.reason, v.message},
	})
}

// liveEvery is the number of reads after which the Machine is read from the API server and not from the cache, because the cache
// may not have it.
const liveEvery = 30

// look returns the Machine from the cache, or nil if the cache does not have the Machine yet. Every liveEvery-th call reads from
// the API server. If the Machine does not exist there, look returns a LaunchError.
func (p *Provider) look(ctx context.Context, r record, looked int) (*machine, error) {
	if (looked+1)%liveEvery != 0 {
		return p.machine(ctx, p.config.Management.Cached, r.key())
	}
	m, err := p.machine(ctx, p.config.Management.Live, r.key())
	if err == nil && m == nil {
		return nil, &cloud.LaunchError{
			Reason: reasonMachineDeleted, Message: fmt.Sprintf("Machine %s was deleted before it had a provider ID", r.key()),
			Err: errors.New("it does not exist any more"),
		}
	}
	return m, err
}

// wait waits for d and returns true, or returns false when ctx is done.
func wait(ctx context.Context, c clock.WithDelayedExecution, d time.Duration) bool {
	elapsed := make(chan struct{})
	timer := c.AfterFunc(d, func() { close(elapsed) })
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-elapsed:
		return true
	}
}

// A keyed is a set of locks by key. The zero value is ready to use.
type keyed struct {
	mu    sync.Mutex // guards locks
	locks map[string]chan struct{}
}

// lock waits until the lock of the key is free, and locks it. It returns an error if ctx is done first.
func (k *keyed) lock(ctx context.Context, key string) (unlock func(), err error) {
	for {
		k.mu.Lock()
		held, busy := k.locks[key]
		if !busy {
			if k.locks == nil {
				k.locks = map[string]chan struct{}{}
			}
			released := make(chan struct{})
			k.locks[key] = released
			k.mu.Unlock()
			return func() {
				k.mu.Lock()
				delete(k.locks, key)
				k.mu.Unlock()
				close(released)
			}, nil
		}
		k.mu.Unlock()
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("wait for another launch of claim: %w", ctx.Err())
		case <-held:
		}
	}
}
