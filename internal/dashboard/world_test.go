package dashboard_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/internal/dashboard"
	"github.com/karpenter-go/karpenter/internal/dashboard/sample"
	"github.com/karpenter-go/karpenter/internal/decisions"
	"github.com/karpenter-go/karpenter/internal/ledger"
)

// still is a cluster that does not change.
type still struct {
	s        *model.Snapshot
	unsynced bool
}

func (still) Version() uint64             { return 1 }
func (c still) Snapshot() *model.Snapshot { return c.s }
func (c still) Synced() bool              { return !c.unsynced }

// optionsOf returns the options of a dashboard for a scenario, with the decisions of the engine for it.
func optionsOf(t *testing.T, c *scenario.Cluster) dashboard.Options {
	t.Helper()
	s, err := c.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	clock := clocktesting.NewFakeClock(s.Now)
	o := dashboard.Options{
		Cluster:   still{s: s},
		WithTypes: func(_ context.Context, s *model.Snapshot) *model.Snapshot { return s },
		TypesOf: func(context.Context, *apiv1.NodePool) ([]*model.InstanceType, error) {
			return s.Types(s.Pools()[0].Name), nil
		},
		Decisions: decisions.New(clock, nil), Latest: &decisions.Latest{}, Costs: ledger.New(nil, ""),
		Pack: pack.Options{Labels: apiv1.CoreLabels()}, Leader: func() bool { return true }, Clock: clock,
	}
	o.Costs.Begin()
	plan := pack.Solve(s, o.Pack)
	o.Latest.Plan(plan.Refusals)
	d := disrupt.Decide(s, disrupt.Options{Pack: o.Pack}, disrupt.Cursor{})
	o.Latest.Disruption(decisions.Outcome{Blocked: d.Blocked, Commands: d.Commands, Proposed: d.Proposed, Headroom: d.Stats.Headroom})
	o.Costs.Observe(s, ledger.Decision{Blocked: d.Blocked, Commands: d.Commands, Headroom: d.Stats.Headroom})
	for i := range d.Commands {
		o.Decisions.Begin(decisions.Commanded(s, &d.Commands[i], nil, d.Blocked))
	}
	clock.Step(time.Hour)
	o.Costs.Observe(s.At(s.Now.Add(time.Hour)), ledger.Decision{Blocked: d.Blocked, Commands: d.Commands})
	return o
}

// serve returns a server whose fleet was computed once.
func serve(t testing.TB, o dashboard.Options) *dashboard.Server {
	t.Helper()
	server, err := dashboard.New(o, nil)
	if err != nil {
		t.Fatal(err)
	}
	server.Refresh(t.Context())
	return server
}

// generated returns a generated fleet with its server and its clock.
func generated(t testing.TB, nodes, pods int) (*sample.Fleet, *dashboard.Server, *clocktesting.FakeClock) {
	t.Helper()
	clock := clocktesting.NewFakeClock(scenario.Epoch())
	fleet := sample.New(clock, nodes, pods, 1)
	return fleet, serve(t, fleet.Options()), clock
}

// ask sends a request to the handler, and returns the response and its body.
func ask(t testing.TB, h http.Handler, request string, header ...string) (*http.Response, string) {
	t.Helper()
	method, rest, _ := strings.Cut(request, " ")
	path, body, _ := strings.Cut(rest, " ")
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Host = "localhost:8082"
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	result := w.Result()
	data, err := io.ReadAll(result.Body)
	if err != nil {
		t.Fatal(err)
	}
	return result, string(data)
}

// decode parses the JSON of an answer.
func decode[T any](t testing.TB, text string) (v T) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// askHost requests the fleet with the given host name.
func askHost(t testing.TB, h http.Handler, host string) *http.Response {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/api/v1/fleet", nil)
	r.Host = host
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Result()
}

// typesOf is the type of Options.TypesOf.
type typesOf = func(context.Context, *apiv1.NodePool) ([]*model.InstanceType, error)

// waiting returns a function like f that first sends to begun and then waits for end.
func waiting(f typesOf, begun chan<- bool, end <-chan bool) typesOf {
	return func(ctx context.Context, p *apiv1.NodePool) ([]*model.InstanceType, error) {
		begun <- true
		<-end
		return f(ctx, p)
	}
}
