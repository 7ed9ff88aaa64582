package limit

import (
	"context"
	"errors"
	"strconv"

	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
)

// Metrics measure the calls that the SDK makes.
type Metrics struct {
	clock clock.PassiveClock

	requests        *prometheus.CounterVec
	retries         *prometheus.CounterVec
	duration        *prometheus.HistogramVec
	attempts        *prometheus.CounterVec
	attemptDuration *prometheus.HistogramVec
}

// NewMetrics registers the metrics with reg.
func NewMetrics(reg prometheus.Registerer, c clock.PassiveClock) *Metrics {
	m := &Metrics{
		clock: c,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "aws_sdk_go_request_total", Help: "Calls to AWS, with their retries, by outcome.",
		}, []string{"service", "operation", "code"}),
		retries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "aws_sdk_go_request_retry_count", Help: "Retries of calls to AWS.",
		}, []string{"service", "operation"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "aws_sdk_go_request_duration_seconds", Help: "Duration of calls to AWS, retries included, in seconds.",
			Buckets: prometheus.ExponentialBuckets(0.01, 2, 14),
		}, []string{"service", "operation"}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "aws_sdk_go_request_attempt_total", Help: "Requests sent to AWS, by outcome.",
		}, []string{"service", "operation", "code"}),
		attemptDuration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "aws_sdk_go_request_attempt_duration_seconds", Help: "Duration of requests to AWS in seconds.",
			Buckets: prometheus.ExponentialBuckets(0.01, 2, 14),
		}, []string{"service", "operation"}),
	}
	reg.MustRegister(m.requests, m.retries, m.duration, m.attempts, m.attemptDuration)
	return m
}

func (m *Metrics) retried(ctx context.Context) {
	if m != nil {
		m.retries.WithLabelValues(awsmiddleware.GetServiceID(ctx), awsmiddleware.GetOperationName(ctx)).Inc()
	}
}

// Install adds the measurement to the calls of a client.
func (m *Metrics) Install(stack *middleware.Stack) error {
	whole := middleware.InitializeMiddlewareFunc("MeasureCall", func(
		ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler,
	) (middleware.InitializeOutput, middleware.Metadata, error) {
		start := m.clock.Now()
		out, metadata, err := next.HandleInitialize(ctx, in)
		service, operation := awsmiddleware.GetServiceID(ctx), awsmiddleware.GetOperationName(ctx)
		m.requests.WithLabelValues(service, operation, outcome(err)).Inc()
		m.duration.WithLabelValues(service, operation).Observe(m.clock.Since(start).Seconds())
		return out, metadata, err
	})
	attempt := middleware.DeserializeMiddlewareFunc("MeasureAttempt", func(
		ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler,
	) (middleware.DeserializeOutput, middleware.Metadata, error) {
		start := m.clock.Now()
		out, metadata, err := next.HandleDeserialize(ctx, in)
		service, operation := awsmiddleware.GetServiceID(ctx), awsmiddleware.GetOperationName(ctx)
		m.attempts.WithLabelValues(service, operation, outcome(err)).Inc()
		m.attemptDuration.WithLabelValues(service, operation).Observe(m.clock.Since(start).Seconds())
		return out, metadata, err
	})
	return errors.Join(stack.Initialize.Add(whole, middleware.After), stack.Deserialize.Add(attempt, middleware.Before))
}

// outcome returns a label value for the result of a call: ok, the error code of AWS, the HTTP status of a response
// without a code, or the kind of another error. There are few different values.
func outcome(err error) string {
	var api smithy.APIError
	var response *smithyhttp.ResponseError
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &api):
		return api.ErrorCode()
	case errors.As(err, &response) && response.Response != nil && response.Response.Response != nil:
		return strconv.Itoa(response.HTTPStatusCode())
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	}
	return "unreachable"
}
