// Package limit limits and measures the calls to AWS. Each operation has its own limiter. A limiter delays no calls
// until AWS throttles its operation. From then on, it adapts the rate of calls. So throttling of one operation does not
// slow down others.
package limit

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"k8s.io/utils/clock"
)

// A Limiter decides about retries and the rate of calls. It is safe for concurrent use, and all clients share one. Its
// state may be lost, because AWS then throttles again.
type Limiter struct {
	plain *retry.Standard // decides what is tried again, and when
	clock clock.Clock

	mu      sync.Mutex // guards modes
	modes   map[string]*retry.AdaptiveMode
	counted *Metrics
}

var _ aws.RetryerV2 = (*Limiter)(nil)

// New returns a Limiter that throttles nothing yet. Its waits are measured by c. m may be nil.
func New(m *Metrics, c clock.Clock) *Limiter {
	return &Limiter{plain: retry.NewStandard(), clock: c, modes: map[string]*retry.AdaptiveMode{}, counted: m}
}

// IsErrorRetryable implements aws.Retryer.
func (l *Limiter) IsErrorRetryable(err error) bool { return l.plain.IsErrorRetryable(err) }

// MaxAttempts implements aws.Retryer.
func (l *Limiter) MaxAttempts() int { return l.plain.MaxAttempts() }

// RetryDelay implements aws.Retryer.
func (l *Limiter) RetryDelay(attempt int, err error) (time.Duration, error) {
	return l.plain.RetryDelay(attempt, err)
}

// GetRetryToken implements aws.Retryer.
func (l *Limiter) GetRetryToken(ctx context.Context, err error) (func(error) error, error) {
	l.counted.retried(ctx)
	return l.of(ctx).GetRetryToken(ctx, err)
}

// GetInitialToken implements aws.Retryer.
func (l *Limiter) GetInitialToken() func(error) error { return func(error) error { return nil } }

// pause is how long a call waits before it tries again to get a token. The SDK's own wait can be rounded to zero. Then
// the SDK would retry in a busy loop until the clock has advanced.
const pause = 20 * time.Millisecond

// GetAttemptToken waits until the operation of ctx may be called.
func (l *Limiter) GetAttemptToken(ctx context.Context) (func(error) error, error) {
	mode := l.of(ctx)
	for {
		release, err := mode.GetAttemptToken(ctx)
		if err == nil {
			return release, nil
		}
		timer := l.clock.NewTimer(pause)
		select {
		case <-timer.C():
		case <-ctx.Done():
			timer.Stop()
			return nil, fmt.Errorf("wait until AWS may be called again: %w", ctx.Err())
		}
	}
}

// of returns the limiter of the operation in ctx.
func (l *Limiter) of(ctx context.Context) *retry.AdaptiveMode {
	key := awsmiddleware.GetServiceID(ctx) + "/" + awsmiddleware.GetOperationName(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.modes[key] == nil {
		l.modes[key] = retry.NewAdaptiveMode(func(o *retry.AdaptiveModeOptions) { o.FailOnNoAttemptTokens = true })
	}
	return l.modes[key]
}
