package backtest

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"
	"strings"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/offline"
)

// Replay replays a trace under the policy. The trace must have been cut (see Trace.Cut). progress, which may be nil, is
// called from time to time with the replayed share of the period, from 0 to 1.
func Replay(t *Trace, p Policy, s Settings, progress func(done float64)) (Result, error) {
	r, err := begin(t, p, s)
	if err != nil {
		return Result{}, err
	}
	for step := 0; r.now < r.end; step++ {
		if r.step(); r.err != nil {
			return Result{}, r.err
		}
		if progress != nil && step%100 == 0 {
			progress(float64(r.now-r.begin) / float64(r.end-r.begin))
		}
		r.now = r.next()
	}
	return r.result(), nil
}

// begin returns the replay at the beginning of the period. The pods that exist then are bound to ready nodes, and their
// wait is not counted.
func begin(t *Trace, p Policy, s Settings) (*replay, error) {
	w, err := newWorld(t, p, s)
	if err != nil {
		return nil, err
	}
	w.tally.alive = make([]*pod, len(t.Pods))
	r := &replay{world: w, trace: t, begin: w.now, end: t.End.UnixMilli(), deletions: deletions(t)}
	r.createUntil(r.now)
	r.tally.quiet = true
	r.provision(0)
	r.tally.quiet = false
	r.decide, r.sample = r.now+s.Disrupt.Milliseconds(), r.now
	return r, r.err
}

// A replay is a world and the part of the trace that is not replayed yet.
type replay struct {
	*world
	trace      *Trace
	begin, end int64
	created    int   // number of pods that were created so far
	deletions  []int // indexes of the pods that are deleted, in the order of their deletion
	deleted    int   // number of deletions so far
	decide     int64 // time of the next decision of disruption
	decided    int64 // time of the last decision of disruption
	sample     int64 // time of the next computation of the lower bound
	draining   bool
}

// deletions returns the indexes of the pods that are deleted before the end of the period, in the order of their deletion.
func deletions(t *Trace) []int {
	var out []int
	for i, p := range t.Pods {
		if p.Deleted < t.End.UnixMilli() {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(a, b int) int { return cmp.Compare(t.Pods[a].Deleted, t.Pods[b].Deleted) })
	return out
}

// createUntil creates those pods of the trace that are created at or before the time at and are deleted after it.
func (r *replay) createUntil(at int64) {
	for r.created < len(r.trace.Pods) && r.trace.Pods[r.created].Created <= at {
		p := &r.trace.Pods[r.created]
		if p.Deleted > at {
			c := r.create(r.created, &r.shapes[p.Shape], 1)
			c.since = max(p.Created, r.begin)
			r.tally.alive[r.created] = c
		}
		r.created++
	}
}

// step changes the world to its state at the time now.
func (r *replay) step() {
	r.join()
	for r.deleted < len(r.deletions) && r.trace.Pods[r.deletions[r.deleted]].Deleted <= r.now {
		r.delete(r.deletions[r.deleted])
		r.deleted++
	}
	r.createUntil(r.now)
	r.schedule()
	if r.provision(r.settings.Boot); r.err != nil {
		return
	}
	if r.now >= r.decide {
		r.settle()
		if r.state.changed || r.now-r.decided >= idle {
			r.disrupt()
			r.decided = r.now
		}
		r.decide = r.now + r.settings.Disrupt.Milliseconds()
	}
	r.draining = r.advance()
	if r.now >= r.sample {
		r.floor()
	}
}

// idle is the interval in milliseconds between decisions of disruption while the cluster does not change. A decision may
// then differ only because of the time: for example, a disruption budget becomes active, or a node expires.
const idle = 10 * 60 * 1000

// delete removes the pod with the number from the cluster.
func (r *replay) delete(number int) {
	p := r.tally.alive[number]
	if p == nil {
		return // the pod was created and deleted in the same step
	}
	if p.node == nil {
		r.waiting = slices.DeleteFunc(r.waiting, func(o *pod) bool { return o == p })
		r.tally.unbound(p, r.trace.Pods[number].Deleted)
	}
	r.remove(p)
	r.tally.alive[number] = nil
}

// samples is the minimum number of computations of the lower bound in a period of at least that many steps.
const samples = 24

// floor computes the lower bound of the price per hour now, and counts it for the time until the next computation.
func (r *replay) floor() {
	until := min(r.now+max(r.settings.Step.Milliseconds(), min(r.settings.Sample.Milliseconds(), (r.end-r.begin)/samples)), r.end)
	o := r.policy.Options.Pack
	o.Fast = true
	r.tally.floor += offline.Floor(r.look(), o) * float64(until-r.now) / hour
	r.sample = until
}

// next returns the time of the next step: the time of the next event, rounded up to whole steps.
func (r *replay) next() int64 {
	step := r.settings.Step.Milliseconds()
	at := min(r.decide, r.sample)
	if r.created < len(r.trace.Pods) {
		at = min(at, r.trace.Pods[r.created].Created)
	}
	if r.deleted < len(r.deletions) {
		at = min(at, r.trace.Pods[r.deletions[r.deleted]].Deleted)
	}
	for _, n := range r.nodes {
		if !n.joined {
			at = min(at, n.up)
		}
	}
	if r.draining || len(r.waiting) > 0 && r.state.freed {
		at = r.now
	}
	for _, p := range r.waiting {
		if r.promises[p.key] == "" {
			at = min(at, p.refused+retry.Milliseconds())
		}
	}
	steps := max(1, (at-r.begin+step-1)/step-(r.now-r.begin)/step)
	return min(r.now+steps*step, r.end)
}

// hour is an hour in milliseconds.
const hour = 3_600_000

// compareRefs orders references.
func compareRefs(a, b model.Ref) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Key, b.Key))
}

// A tally collects the numbers of a Result during a replay.
type tally struct {
	// alive has the existing pods, indexed by their number in the trace.
	alive []*pod
	// quiet is true while the pods that exist at the beginning of the period are bound. Their waits do not count.
	quiet bool
	// waits are the times for which pods waited for a node, in milliseconds.
	waits                                []int64
	neverBound                           int
	dollars, floor                       float64
	launched, peak, evictions, disrupted int
}

// bound records how long the pod has waited. A pod that is bound in the step of its creation has not waited.
func (t *tally) bound(p *pod, now int64) {
	switch {
	case t.quiet:
	case p.fresh:
		t.waits = append(t.waits, 0)
	default:
		t.waits = append(t.waits, now-p.since)
	}
}

// unbound records the wait of a pod without a node that was deleted at the time at, or that existed at the end of the
// period.
func (t *tally) unbound(p *pod, at int64) {
	t.waits = append(t.waits, max(0, at-p.since))
	t.neverBound++
}

// charge adds the price of a node from its launch until now.
func (t *tally) charge(n *node, now int64) {
	t.dollars += n.price * float64(now-n.launched) / hour
}

// A Result is the result of replaying the trace under one policy. Its JSON is part of the output of the command.
type Result struct {
	Policy string `json:"policy"`
	// Dollars is the price of all nodes from launch to termination, or to the end of the period. Floor is a lower bound of
	// the price for the same pods, computed at intervals.
	Dollars float64 `json:"dollars"`
	Floor   float64 `json:"floorDollars"`
	// Evictions is the number of evicted pods, Disrupted the number of nodes, also empty ones, whose disruption was not
	// cancelled.
	Evictions int     `json:"evictions"`
	Disrupted int     `json:"nodesDisrupted"`
	Pending   Pending `json:"pendingSeconds"`
	// Pods is the number of pods that existed. Unbound is how many of them had no node when they were deleted or when the
	// period ended.
	Pods    int `json:"pods"`
	Unbound int `json:"podsWithoutNode"`
	// Launched is the number of launched nodes, Peak the largest number of nodes at one time.
	Launched int `json:"nodesLaunched"`
	Peak     int `json:"nodesAtMost"`
}

// MarshalJSON adds the names under which scripts read three of the fields: name, pendingSecondsP95 and nodesPeak.
func (r Result) MarshalJSON() ([]byte, error) {
	type plain Result
	return json.Marshal(struct {
		Name string `json:"name"`
		plain
		PendingP95 float64 `json:"pendingSecondsP95"`
		NodesPeak  int     `json:"nodesPeak"`
	}{r.Policy, plain(r), r.Pending.P95, r.Peak})
}

// Pending has the median, the 95th percentile and the maximum of the times that pods waited for a node, in seconds.
type Pending struct {
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	Max float64 `json:"max"`
}

// result ends the replay. The remaining nodes are charged until the end of the period.
func (r *replay) result() Result {
	for _, n := range r.nodes {
		r.tally.charge(n, r.end)
	}
	for _, p := range r.waiting {
		r.tally.unbound(p, r.end)
	}
	slices.Sort(r.tally.waits)
	at := func(share float64) float64 {
		n := len(r.tally.waits)
		if n == 0 {
			return 0
		}
		return float64(r.tally.waits[max(0, int(math.Ceil(share*float64(n)))-1)]) / 1000
	}
	t := &r.tally
	return Result{
		Policy: r.policy.Name, Dollars: cents(t.dollars), Floor: cents(t.floor), Evictions: t.evictions, Disrupted: t.disrupted,
		Pending: Pending{P50: at(0.5), P95: at(0.95), Max: at(1)}, Pods: len(r.trace.Pods), Unbound: t.neverBound,
		Launched: t.launched, Peak: t.peak,
	}
}

// cents rounds dollars to hundredths of a cent.
func cents(dollars float64) float64 { return math.Round(dollars*10_000) / 10_000 }
