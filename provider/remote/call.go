package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	ctrl "sigs.k8s.io/controller-runtime"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/internal/timeout"
	"github.com/karpenter-go/karpenter/provider/remote/wire"
)

// An UnreachableError means that the provider cannot be reached or does not answer in time.
type UnreachableError struct {
	Provider string
	Err      error
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("provider %s does not answer: %v", e.Provider, e.Err)
}

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Err }

// createMethod is the name of the call that may take as long as a launch.
const createMethod = "CreateInstance"

// call makes one call, which ends after limit at the latest. If as many calls are open as the provider accepts at the
// same time, it first waits until one of them ends. Launches may use only a part of that number (Provider.starts). An
// error of the call is converted by said.
func call[Q, A any](
	ctx context.Context, p *Provider, method string, limit time.Duration,
	f func(context.Context, Q, ...grpc.CallOption) (A, error), request Q,
) (answer A, err error) {
	if err := ctx.Err(); err != nil {
		return answer, err
	}
	bounded, cancel := timeout.Context(ctx, p.config.Clock, limit)
	defer cancel()
	if p.slots != nil {
		slots := []chan struct{}{p.slots}
		if method == createMethod {
			slots = []chan struct{}{p.starts, p.slots}
		}
		for _, s := range slots {
			select {
			case s <- struct{}{}:
				defer func() { <-s }()
			case <-bounded.Done():
				return answer, fmt.Errorf("wait for one of %d calls to the provider to end: %w", cap(s), bounded.Err())
			}
		}
	}
	start := p.config.Clock.Now()
	answer, err = f(bounded, request)
	if p.info != nil {
		p.config.Metrics.called(p.name(), method, status.Code(err), p.config.Clock.Since(start))
	}
	if ended := p.endOf(ctx); ended != nil && err != nil {
		return answer, ended // the caller has ended the call, which says nothing about the provider
	}
	// A launch may take long without any fault of the provider.
	if !(method == createMethod && status.Code(err) == codes.DeadlineExceeded) {
		p.heard(ctx, start, err)
	}
	return answer, p.said(err)
}

// endOf returns the error of a context that has ended, or whose deadline has passed. The server knows the deadline too and
// ends the call at the same moment, so the call can fail before the context has its error.
func (p *Provider) endOf(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if deadline, ok := ctx.Deadline(); ok && p.config.Clock.Since(deadline) >= 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// said converts the error of a call to one that is shown to users. If the provider cannot be reached or does not
// answer in time, that is an UnreachableError.
func (p *Provider) said(err error) error {
	switch status.Code(err) {
	case codes.OK:
		return nil
	case codes.Unavailable, codes.DeadlineExceeded:
		return &UnreachableError{Provider: p.name(), Err: errors.New(wire.Text(status.Convert(err).Message()))}
	}
	return fmt.Errorf("provider %s: %s: %s", p.name(), status.Code(err), wire.Text(status.Convert(err).Message()))
}

// name returns the name of the provider, or its address while the name is not known.
func (p *Provider) name() string {
	if p.info == nil {
		return p.config.Address
	}
	return p.info.Name
}

// checked returns err. If it is a Rejection, checked also counts and logs it.
func (p *Provider) checked(err error) error {
	var r *wire.Rejection
	if errors.As(err, &r) {
		p.config.Metrics.rejected(p.name(), r.Reason)
		ctrl.LoggerFrom(p.running).Error(err, "answer of provider was rejected", "provider", p.name(), "reason", string(r.Reason))
	}
	return err
}

// A health records whether the provider answers.
type health struct {
	mu sync.Mutex // guards all below
	// answered is the time of the last answer. If down is true, the provider has not answered since the time since: the start
	// of the first call without an answer, or answered if that is later.
	answered time.Time
	down     bool
	since    time.Time
	cause    string
}

// heard records the result of a call that began at the time start. For a stream, start is the present: it was open until then.
func (p *Provider) heard(ctx context.Context, start time.Time, err error) {
	code := status.Code(err)
	down := code == codes.Unavailable || code == codes.DeadlineExceeded
	p.health.mu.Lock()
	changed := down != p.health.down
	p.health.down = down
	switch {
	case !down:
		p.health.answered = p.config.Clock.Now()
	case changed:
		p.health.since = start
		if p.health.answered.After(start) {
			p.health.since = p.health.answered
		}
	}
	if down {
		p.health.cause = wire.Text(status.Convert(err).Message())
	}
	p.health.mu.Unlock()
	if p.info != nil { // before, the provider has no name
		p.config.Metrics.reachable(p.name(), !down)
	}
	if !changed {
		return
	}
	log := ctrl.LoggerFrom(ctx).WithValues("provider", p.name(), "address", p.config.Address)
	if down {
		log.Error(err, "provider does not answer, its NodePools get no nodes until it does")
	} else {
		log.Info("provider answers again")
	}
}

// silent returns the time since which the provider does not answer, and the cause. ok is false if the provider answers.
func (p *Provider) silent() (since time.Time, cause string, ok bool) {
	p.health.mu.Lock()
	defer p.health.mu.Unlock()
	return p.health.since, p.health.cause, p.health.down
}

// tokenOf returns the token that identifies the launch of a claim: the UID of the claim. So every call for the claim has
// the same token.
func tokenOf(claim *apiv1.NodeClaim) string { return string(claim.UID) }

// manifest returns the claim as JSON.
func manifest(claim *apiv1.NodeClaim) (string, error) {
	short := claim.DeepCopy()
	short.ManagedFields = nil
	short.SetGroupVersionKind(apiv1.GroupVersion.WithKind("NodeClaim"))
	data, err := json.Marshal(short)
	if err != nil {
		return "", fmt.Errorf("encode claim %s: %w", claim.Name, err)
	}
	return string(data), nil
}
