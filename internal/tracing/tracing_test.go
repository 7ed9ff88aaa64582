package tracing

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// env sets the variables in the environment, which the exporters read, and returns a function that looks them up.
func env(t *testing.T, pairs map[string]string) func(string) string {
	t.Helper()
	for k, v := range pairs {
		t.Setenv(k, v)
	}
	return func(key string) string { return pairs[key] }
}

// A sink is a collector of traces for gRPC and HTTP.
type sink struct {
	collector.UnimplementedTraceServiceServer
	got chan *collector.ExportTraceServiceRequest
}

func (s *sink) Export(_ context.Context, r *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	s.got <- r
	return &collector.ExportTraceServiceResponse{}, nil
}

func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	request := &collector.ExportTraceServiceRequest{}
	if err != nil || proto.Unmarshal(body, request) != nil || r.URL.Path != "/v1/traces" {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	s.got <- request
}

// Spans reach a collector by both protocols of OTLP, with their parents, attributes and errors.
func TestExport(t *testing.T) {
	s := &sink{got: make(chan *collector.ExportTraceServiceRequest, 10)}
	web := httptest.NewServer(s)
	defer web.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, s)
	go func() { _ = server.Serve(listener) }() // returns after Stop
	defer server.Stop()
	for name, pairs := range map[string]map[string]string{
		"http": {"OTEL_EXPORTER_OTLP_ENDPOINT": web.URL, "OTEL_SERVICE_NAME": "mine"},
		"grpc": {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://" + listener.Addr().String(), "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_SERVICE_NAME": "mine"},
	} {
		t.Run(name, func(t *testing.T) {
			tracer, stop := Start(t.Context(), logr.Discard(), "1.2.3", env(t, pairs))
			if tracer == nil {
				t.Fatal("there is no tracer")
			}
			ctx, endBatch := tracer.Span(t.Context(), Batch, "pods", 10)
			_, endCall := tracer.Span(ctx, CloudCall+"Create", "nodepool", "default", "spot", true, "price", 0.5, "n", int64(3), 7, "no key")
			endCall(errors.New("no capacity"))
			tracer.Annotate(ctx, "episode", "x-1")
			endBatch(nil)
			if err := stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			got := (<-s.got).ResourceSpans[0]
			if about := got.Resource.String(); !strings.Contains(about, "mine") || !strings.Contains(about, "1.2.3") {
				t.Errorf("resource is %s", about)
			}
			spans := got.ScopeSpans[0].Spans
			if len(spans) != 2 || spans[0].Name != "cloud.Create" || spans[1].Name != Batch || string(spans[0].ParentSpanId) != string(spans[1].SpanId) {
				t.Fatalf("spans are %v", spans)
			}
			if spans[0].Status.Message != "no capacity" || len(spans[0].Attributes) != 4 || spans[0].Attributes[0].Key != "karpenter.nodepool" {
				t.Errorf("span of the call is %v", spans[0])
			}
			if len(spans[1].Attributes) != 2 || spans[1].Attributes[0].Value.GetIntValue() != 10 || spans[1].Attributes[1].Value.GetStringValue() != "x-1" {
				t.Errorf("attributes of the batch are %v", spans[1].Attributes)
			}
		})
	}
}

// Traces are off unless a variable enables them. Unsupported values are logged, and do not stop the program.
func TestStart(t *testing.T) {
	for _, tt := range []struct {
		name  string
		pairs map[string]string
		on    bool
		log   string
	}{
		{"nothing", nil, false, ""},
		{"other variables", map[string]string{"OTEL_SERVICE_NAME": "x"}, false, ""},
		{"exporter none", map[string]string{"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, false, ""},
		{"disabled", map[string]string{"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, false, ""},
		{"disabled in capitals", map[string]string{"OTEL_SDK_DISABLED": "TRUE", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, false, ""},
		{"endpoint of traces", map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1/x"}, true, ""},
		{"exporter otlp", map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, true, ""},
		{"another exporter", map[string]string{"OTEL_TRACES_EXPORTER": "zipkin"}, false, `OTEL_TRACES_EXPORTER: unknown exporter "zipkin"`},
		{"another protocol", map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, false, `unknown protocol "http/json"`},
		{"two exporters", map[string]string{"OTEL_TRACES_EXPORTER": "otlp,console"}, true, "console"},
		{"attributes that cannot be read", map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_RESOURCE_ATTRIBUTES": "a"}, true, "attributes of traces"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var lines []string
			log := funcr.New(func(_, line string) { lines = append(lines, strings.ReplaceAll(line, `\"`, `"`)) }, funcr.Options{})
			tracer, stop := Start(t.Context(), log, "", env(t, tt.pairs))
			if got := strings.Join(lines, "\n"); (tracer != nil) != tt.on || (got != "") != (tt.log != "") || !strings.Contains(got, tt.log) {
				t.Errorf("tracer %v, log %s", tracer, got)
			}
			if err := stop(t.Context()); err != nil {
				t.Errorf("stop: %v", err)
			}
		})
	}
}

// Without a tracer, a span allocates nothing.
func TestOff(t *testing.T) {
	var tracer *Tracer
	ctx := t.Context()
	if n := testing.AllocsPerRun(100, func() {
		inner, end := tracer.Span(ctx, Batch)
		tracer.Annotate(inner)
		end(nil)
		if inner != ctx {
			t.Error("the context changes")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
