// Package tracing makes OpenTelemetry spans of batches, plans, checks, launches, commands and calls of the cloud.
//
// Start reads the standard variables OTEL_*. If they set neither an endpoint nor an exporter, there is no tracer. Then Span
// returns the given context and a function that does nothing. The engine is pure and makes no spans; its callers do.
package tracing
