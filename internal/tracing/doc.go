// Package tracing makes OpenTelemetry spans of batches, plans, checks, launches, commands and calls of the cloud.
//
// Start reads the standard variables OTEL_*. Without an endpoint or exporter among them, there is no tracer, and a Span is
// the given context and a function that does nothing. The engine is pure and makes no spans; its callers do.
package tracing
