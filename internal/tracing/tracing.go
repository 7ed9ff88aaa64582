package tracing

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// scope is the name of the instrumentation.
const scope = "github.com/karpenter-go/karpenter"

// Names of spans. A cloud call is named CloudCall followed by its method.
const (
	Batch     = "provisioning.batch"
	Solve     = "solve"
	Verify    = "verify"
	Launch    = "launch"
	Decide    = "disruption.decide"
	Command   = "disruption.command"
	CloudCall = "cloud."
)

// A Tracer makes spans. A nil Tracer makes none.
type Tracer struct{ tracer trace.Tracer }

// New returns a Tracer that makes spans with p.
func New(p trace.TracerProvider) *Tracer { return &Tracer{tracer: p.Tracer(scope)} }

// Span begins a span whose parent is the span of ctx. end ends the span. If its argument is an error, the span has the
// status Error. pairs are alternating keys and values of attributes. Keys get the prefix "karpenter.". A value is a string,
// int, int64, float64 or bool; others are ignored.
func (t *Tracer) Span(ctx context.Context, name string, pairs ...any) (_ context.Context, end func(error)) {
	if t == nil {
		return ctx, func(error) {}
	}
	ctx, span := t.tracer.Start(ctx, name, trace.WithAttributes(attributesOf(pairs)...))
	return ctx, func(err error) {
		if err != nil {
			span.RecordError(err)
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
	}
}

// Annotate adds attributes to the span of ctx, if there is one.
func (t *Tracer) Annotate(ctx context.Context, pairs ...any) {
	if t != nil {
		trace.SpanFromContext(ctx).SetAttributes(attributesOf(pairs)...)
	}
}

func attributesOf(pairs []any) []attribute.KeyValue {
	out := make([]attribute.KeyValue, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		key, ok := pairs[i].(string)
		if !ok {
			continue
		}
		key = "karpenter." + key
		switch v := pairs[i+1].(type) {
		case string:
			out = append(out, attribute.String(key, v))
		case int:
			out = append(out, attribute.Int(key, v))
		case int64:
			out = append(out, attribute.Int64(key, v))
		case float64:
			out = append(out, attribute.Float64(key, v))
		case bool:
			out = append(out, attribute.Bool(key, v))
		}
	}
	return out
}

// Wanted reports whether the variables OTEL_* enable traces: an OTLP endpoint or an exporter is set, the exporter is not
// none, and OTEL_SDK_DISABLED is not true.
func Wanted(getenv func(string) string) bool {
	if strings.EqualFold(getenv("OTEL_SDK_DISABLED"), "true") || getenv("OTEL_TRACES_EXPORTER") == "none" {
		return false
	}
	return getenv("OTEL_TRACES_EXPORTER") != "" || getenv("OTEL_EXPORTER_OTLP_ENDPOINT") != "" || getenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") != ""
}

// Start returns a Tracer that exports as configured by the variables OTEL_*, nil if these do not enable traces. The exporters
// read the endpoint, headers, certificates, timeout and compression from the environment. The SDK reads the sampler, its limits
// and the batches. stop exports the remaining spans. It is never nil.
//
// Values that are not supported are logged, and there is no tracer: OpenTelemetry requires that such values do not stop a program.
func Start(ctx context.Context, log logr.Logger, version string, getenv func(string) string) (t *Tracer, stop func(context.Context) error) {
	stop = func(context.Context) error { return nil }
	if !Wanted(getenv) {
		return nil, stop
	}
	exporter, err := exporterOf(ctx, log, getenv)
	if err != nil {
		log.Info("traces are off", "error", err.Error())
		return nil, stop
	}
	// Attributes from the variables replace those given here.
	about, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", "karpenter"), attribute.String("service.version", version)), resource.WithFromEnv())
	if err != nil {
		log.Info("attributes of traces are left out", "error", err.Error())
	}
	p := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about))
	return New(p), p.Shutdown
}

// exporterOf returns the exporter for the protocol in the variables. The default is http/protobuf, as in the specification. Of a
// list of exporters it takes otlp and logs the others.
func exporterOf(ctx context.Context, log logr.Logger, getenv func(string) string) (sdktrace.SpanExporter, error) {
	var others []string
	otlp := getenv("OTEL_TRACES_EXPORTER") == ""
	for name := range strings.SplitSeq(getenv("OTEL_TRACES_EXPORTER"), ",") {
		if name = strings.TrimSpace(name); name == "otlp" {
			otlp = true
		} else if name != "" {
			others = append(others, name)
		}
	}
	if !otlp {
		return nil, fmt.Errorf("OTEL_TRACES_EXPORTER: unknown exporter %q, use otlp or none", getenv("OTEL_TRACES_EXPORTER"))
	}
	if len(others) > 0 {
		log.Info("ignored unknown exporters in OTEL_TRACES_EXPORTER", "exporters", others)
	}
	var client otlptrace.Client
	switch protocol := cmp.Or(getenv("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"), getenv("OTEL_EXPORTER_OTLP_PROTOCOL"), "http/protobuf"); protocol {
	case "grpc":
		client = otlptracegrpc.NewClient()
	case "http/protobuf":
		client = otlptracehttp.NewClient()
	default:
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_PROTOCOL: unknown protocol %q, use grpc or http/protobuf", protocol)
	}
	exporter, err := otlptrace.New(ctx, client)
	if err != nil {
		return nil, fmt.Errorf("start the exporter of traces: %w", err)
	}
	return exporter, nil
}
