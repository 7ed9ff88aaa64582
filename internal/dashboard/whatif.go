package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/explain"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/internal/dashboard/view"
	"github.com/karpenter-go/karpenter/internal/ledger"
	"github.com/karpenter-go/karpenter/internal/offline"
)

// Bounds of a what-if. The engine bounds its work by counts, so these bounds limit the time and memory of a what-if.
const (
	mostBody = 512 << 10
	// mostGiven is the maximum number of prices and of nodes in a request. mostAdded is the maximum number of pods of its
	// workloads.
	mostGiven = 1000
	mostAdded = 5000
	// mostNodes is the number of nodes up to which disruption and the lower bound, which is a part of it, are computed.
	mostNodes = 2000
	// mostTries is the maximum number of plans that consolidation makes for its proposals.
	mostTries = 1000
	// highest is the highest accepted price in dollars per hour.
	highest = 1e6
	// mostRows is the maximum length of launches, removals and refused in the answer.
	mostRows = 200
)

// whatIf computes the effect of a change. Only one what-if is computed at a time, because it uses a whole core.
func (s *Server) whatIf(r *http.Request) (any, error) {
	request, err := readWhatIf(r)
	if err != nil {
		return nil, err
	}
	select {
	case s.trying <- struct{}{}:
		defer func() { <-s.trying }()
	default:
		return nil, problem{http.StatusTooManyRequests, "another what-if is being computed", "try again in a few seconds"}
	}
	t := try{server: s, request: request, now: s.state.now()}
	return t.run(r.Context())
}

// readWhatIf reads and validates the body of a request.
func readWhatIf(r *http.Request) (view.WhatIfRequest, error) {
	var out view.WhatIfRequest
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return out, problem{http.StatusUnsupportedMediaType, "the content type is not application/json", "send Content-Type: application/json"}
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, mostBody+1))
	if err != nil {
		return out, problem{http.StatusBadRequest, "the body cannot be read: " + err.Error(), "send it again"}
	}
	if len(data) > mostBody {
		return out, problem{http.StatusRequestEntityTooLarge, fmt.Sprintf("the body has more than %d kB", mostBody>>10), "use fewer manifests"}
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&out); err != nil {
		return out, problem{http.StatusBadRequest, "the body is not valid: " + err.Error(), `send {"manifests": "…", "withoutNodes": [], "prices": {}}`}
	}
	if len(out.Prices) > mostGiven || len(out.WithoutNodes) > mostGiven {
		return out, problem{http.StatusBadRequest, fmt.Sprintf("more than %d prices or nodes", mostGiven), "use fewer"}
	}
	for name, price := range out.Prices {
		if !(price >= 0 && price <= highest) || math.IsInf(price, 0) {
			return out, problem{http.StatusBadRequest, fmt.Sprintf("prices: %v for %q is out of range 0 to %.0f", price, name, highest), "give dollars per hour"}
		}
	}
	if len(out.Prices)+len(out.WithoutNodes) == 0 && strings.TrimSpace(out.Manifests) == "" {
		return out, problem{http.StatusBadRequest, "the request has no change", "give manifests, withoutNodes or prices"}
	}
	return out, nil
}

// A try is the computation of one what-if.
type try struct {
	server   *Server
	request  view.WhatIfRequest
	now      present
	warnings []string
}

// run computes the fleet with and without the change.
func (t *try) run(ctx context.Context) (any, error) {
	s := t.now.snapshot
	changed, err := t.apply(ctx, s)
	if err != nil {
		return nil, err
	}
	var gone []string
	for _, id := range t.request.WithoutNodes {
		n, ok := t.now.node(id)
		if !ok {
			return nil, problem{http.StatusBadRequest, "withoutNodes: node " + id + " not found", "use the ID of a node of /api/v1/fleet"}
		}
		gone = append(gone, n.Name)
	}
	options := t.server.state.Pack
	if spread := t.server.state.Spread; spread != nil {
		options.DefaultSpread = spread(ctx)
	}
	before := offline.Decide(s, options, t.clock)
	change := before.Change(offline.Alteration{Snapshot: changed, Gone: gone})
	after := offline.Decide(change.Snapshot, options, t.clock)
	if err := ctx.Err(); err != nil { // the client has disconnected
		return nil, fmt.Errorf("compute what-if: %w", err)
	}
	disrupted := []*offline.Disruption{t.disrupt(before), t.disrupt(after)}
	out := view.WhatIf{
		Before: t.side(before, disrupted[0]), After: t.side(after, disrupted[1]), Launches: t.launches(after, disrupted[1]),
		Removals: t.removals(s, change, gone, disrupted[1]), Drifted: []string{}, Refused: t.refusals(after),
	}
	out.After.Evictions += change.Evictions
	for _, d := range change.Drifted {
		out.Drifted = append(out.Drifted, d.Node)
	}
	out.Warnings = append([]string{}, t.warnings...)
	return out, nil
}

// clock returns the current time. It is used to measure the duration of decisions, which is not part of the answer.
func (t *try) clock() time.Time { return t.server.state.Clock.Now() }

// disrupt returns the next decision of disruption, nil if there are too many nodes.
func (t *try) disrupt(run *offline.Run) *offline.Disruption {
	if nodes := len(run.Snapshot.Nodes()); nodes > mostNodes {
		t.warn(fmt.Sprintf("consolidation and the lower bound are not part of the answer, because there are more than %d nodes", mostNodes))
		return nil
	}
	o := t.server.state.Disrupt
	o.MaxWhatIfs = mostTries
	return run.DisruptOnly(o, t.clock)
}

func (t *try) warn(text string) {
	if !slices.Contains(t.warnings, text) {
		t.warnings = append(t.warnings, text)
	}
}

// shorten returns the first mostRows entries of a list of the answer, and adds a warning if there are more.
func shorten[T any](t *try, field string, list []T) []T {
	if len(list) <= mostRows {
		return list
	}
	t.warn(fmt.Sprintf("%s has the first %d of %d entries", field, mostRows, len(list)))
	return list[:mostRows]
}

// side returns the summary of a run and the decision of disruption after it. The lower bound is the sum of two: that of the
// existing nodes, as in the strip, and that of the plan for new nodes. It is at most the price, because nodes at that price hold
// the pods: what commitments covered on removed nodes may cover others.
func (t *try) side(run *offline.Run, d *offline.Disruption) view.WhatIfSide {
	out := view.WhatIfSide{DollarsPerHour: run.Plan.Price, Nodes: len(run.Plan.Nodes)}
	for _, n := range run.Snapshot.EachNode() {
		out.Nodes++
		if n.Pool != "" {
			out.DollarsPerHour += run.Snapshot.PriceOf(n)
		}
	}
	if d != nil {
		out.DollarsPerHour, out.Evictions = d.After, d.Moved
		for i := range d.Commands {
			out.Nodes += len(d.Commands[i].Replacements) - len(d.Commands[i].Nodes)
		}
	}
	out.DollarsPerHour = math.Round(out.DollarsPerHour*1e6) / 1e6
	for _, r := range run.Plan.Refusals {
		out.Pending += len(r.Pods)
	}
	if d != nil {
		floor := ledger.Floor(run.Snapshot, ledger.Decision{Blocked: d.Blocked, Commands: d.Commands}) + min(run.Plan.Floor, run.Plan.Price)
		floor = min(math.Round(floor*1e6)/1e6, out.DollarsPerHour)
		out.FloorPerHour = &floor
	}
	return out
}

// launches returns the nodes that would be launched after the change, in at most mostRows entries. Equal nodes are one
// entry.
func (t *try) launches(run *offline.Run, d *offline.Disruption) []view.WhatIfLaunch {
	out := []view.WhatIfLaunch{}
	index := map[[4]string]int{}
	add := func(n *model.PlannedNode) {
		key := [4]string{n.Pool.Name, n.Options[0].Name, n.Offering.CapacityType, n.Offering.Zone}
		i, known := index[key]
		if !known {
			i = len(out)
			index[key] = i
			price := n.Price()
			out = append(out, view.WhatIfLaunch{Pool: key[0], Type: key[1], CapacityType: key[2], Zone: key[3], DollarsPerHour: &price})
		}
		out[i].Count++
	}
	for i := range run.Plan.Nodes {
		add(&run.Plan.Nodes[i])
	}
	if d != nil {
		for i := range d.Commands {
			for k := range d.Commands[i].Replacements {
				add(&d.Commands[i].Replacements[k])
			}
		}
	}
	return shorten(t, "launches", out)
}

// removals returns the nodes that the change removes, those that drift because of it, and those that disruption would
// remove after it, at most mostRows.
func (t *try) removals(s *model.Snapshot, change offline.Changed, gone []string, d *offline.Disruption) []view.WhatIfRemoval {
	out := []view.WhatIfRemoval{}
	seen := map[string]bool{}
	add := func(name, reason string) {
		if n, ok := s.NodeByName(name); ok && !seen[name] {
			seen[name] = true
			out = append(out, view.WhatIfRemoval{Node: name, Type: n.Labels[corev1.LabelInstanceTypeStable], DollarsPerHour: t.now.prices.Of(n).Own, Reason: reason})
		}
	}
	for _, name := range gone {
		add(name, "removed by the change")
	}
	for _, x := range change.Drifted {
		add(x.Node, "drifts: "+x.Reason)
	}
	if d != nil {
		for i := range d.Commands {
			for _, n := range d.Commands[i].Nodes {
				add(n.Name, strings.ToLower(string(d.Commands[i].Reason)))
			}
		}
	}
	return shorten(t, "removals", out)
}

// refusals returns the pods that would have no node after the change, in at most mostRows groups.
func (t *try) refusals(run *offline.Run) []view.WhatIfRefusal {
	out := []view.WhatIfRefusal{}
	e := explain.New(run.Snapshot, run.Options.Labels)
	for _, r := range shorten(t, "refused", run.Plan.Refusals) {
		f, others := e.Nearest(r)
		x := view.WhatIfRefusal{Pod: r.Pods[0].Key, Count: len(r.Pods), Reason: f.Why, Fix: f.Fix}
		if f.Pool != "" {
			x.Reason = `NodePool "` + f.Pool + `": ` + f.Why
		}
		if others > 0 {
			x.Reason += "; and " + units.Counted(others, "more NodePool")
		}
		out = append(out, x)
	}
	return out
}

// invalid returns err if it is a problem, or else a problem with the text of err.
func invalid(err error) error {
	var p problem
	if errors.As(err, &p) {
		return err
	}
	return problem{http.StatusUnprocessableEntity, "manifests: " + err.Error(), "correct the manifests; karpenter lint checks them as well"}
}
