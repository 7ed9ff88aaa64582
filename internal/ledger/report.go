package ledger

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/karpenter-go/karpenter/engine/cost"
)

// A Query describes a report.
type Query struct {
	// Since is the time from which amounts are counted. The zero time, and times before the beginning of the ledger, stand
	// for that beginning.
	Since time.Time
	// Now is the time up to which the report charges the rates of the stored ledger. If it is before Saved.Until, such as the
	// zero time, or more than staleAfter after it, the report ends at Saved.Until.
	Now time.Time
	// By has the fields by which rows are grouped; if it is empty, rows are grouped by namespace.
	By []cost.Field
}

// staleAfter is the age up to which the rates of a stored ledger count as current.
const staleAfter = 10 * time.Minute

// A Money is a price per hour, and an amount of dollars since the beginning of the report.
type Money struct {
	DollarsPerHour float64 `json:"dollarsPerHour"`
	Dollars        float64 `json:"dollars"`
}

func (m *Money) add(rate cost.Micros, dollars float64) {
	m.DollarsPerHour += rate.Dollars()
	m.Dollars += dollars
}

// A Row has the cost of the workloads with one key. Idle and Overhead are the costs of idle capacity and overhead on the nodes with
// the key. They are nil unless all fields of the key are properties of nodes. The Row's Money does not contain them, but the Idle
// and Overhead of the report do.
type Row struct {
	Key string `json:"key"`
	// Values are the values of the fields that make up Key, nil if there is only one field.
	Values []string `json:"values,omitempty"`
	Money
	Idle     *Money `json:"idle,omitempty"`
	Overhead *Money `json:"overhead,omitempty"`
}

// A CauseRow is idle capacity or overhead with one cause.
type CauseRow struct {
	Cause cost.Cause `json:"cause"`
	Money
	// Opens is, by NodePool, the next time at which the schedule of the disruption budget that keeps the nodes allows
	// disruption. Only the row of idle capacity with cause cost.Budget has it.
	Opens map[string]time.Time `json:"opens,omitempty"`
}

// A Saving is the sum of the actions that ended on the same day (in UTC) and have the same reason and decision. Cancelled
// counts the cancelled ones. The other fields are sums of those that are done.
type Saving struct {
	Day      string  `json:"day"`
	Reason   string  `json:"reason"`
	Decision string  `json:"decision"`
	Actions  int     `json:"actions"`
	Planned  float64 `json:"plannedPerHour"`
	Realized float64 `json:"realizedPerHour"`
	// Evictions is the number of moved pods.
	Evictions int `json:"evictions"`
	Cancelled int `json:"cancelled,omitempty"`
}

// A Report has the costs of nodes. The sum of Rows, Idle and Overhead is the total.
type Report struct {
	Since time.Time `json:"since"`
	Until time.Time `json:"until"`
	Money
	FloorPerHour float64 `json:"floorPerHour"`
	Nodes        int     `json:"nodes"`
	Unpriced     int     `json:"unpricedNodes,omitempty"`
	By           string  `json:"by"`
	Rows         []Row   `json:"rows"`
	// Idle is by cause. Overhead is the sum of Overheads.
	Idle      []CauseRow `json:"idle"`
	Overhead  Money      `json:"overhead"`
	Overheads []CauseRow `json:"overheadBy,omitempty"`
	// Commitments are how the nodes use commitments at Until and in the period, in the order in which these apply.
	Commitments []Commitment `json:"commitments,omitempty"`
	Savings     []Saving     `json:"savings,omitempty"`
	Actions     []Action     `json:"actions,omitempty"`
	Predictions *Predictions `json:"predictions,omitempty"`
}

// None is the key of pods that lack a value, such as a label.
const None = "(none)"

// Report adds up the amounts.
func (s Saved) Report(q Query) Report {
	if len(q.By) == 0 {
		q.By = []cost.Field{cost.ByNamespace}
	}
	out := Report{
		Since: later(q.Since, s.Begin), Until: s.Until, FloorPerHour: s.Floor.Dollars(), Nodes: s.Nodes, Unpriced: s.Unpriced,
		By: by(q.By), Rows: []Row{}, Idle: []CauseRow{},
	}
	b := builder{by: q.By, rows: map[string]*Row{}, idle: map[cost.Cause]*Money{}, overhead: map[cost.Cause]*Money{}}
	book := s.book()
	out.Commitments = s.commitmentsSince(book, q.Since)
	sums := book.Sum(q.Since)
	for _, k := range slices.SortedFunc(maps.Keys(sums), cost.Key.Compare) { // the order affects rounding
		b.add(k, 0, sums[k])
	}
	lag := q.Now.Sub(s.Until)
	if lag < 0 || lag > staleAfter {
		lag = 0
	}
	out.Until = out.Until.Add(lag)
	for _, p := range s.Rates {
		b.add(p.Key, p.Rate, p.Rate.Dollars()*lag.Hours())
	}
	b.finish(&out)
	for i := range out.Idle {
		if out.Idle[i].Cause == cost.Budget {
			out.Idle[i].Opens = s.Opens
		}
	}
	out.Savings, out.Actions = s.savings(out.Since)
	if p := s.Predictions; len(p.Errors) > 0 || p.Hits+p.Misses > 0 {
		out.Predictions = &p
	}
	return out
}

func by(fields []cost.Field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = string(f)
	}
	return strings.Join(names, ",")
}

// A builder adds parts to rows.
type builder struct {
	by             []cost.Field
	rows           map[string]*Row
	idle, overhead map[cost.Cause]*Money
	total          Money
}

func (b *builder) add(k cost.Key, rate cost.Micros, dollars float64) {
	b.total.add(rate, dollars)
	switch k.Kind {
	case cost.Workload:
		b.row(k).add(rate, dollars)
		return
	case cost.Idle:
		of(b.idle, k.Cause).add(rate, dollars)
	default:
		of(b.overhead, k.Cause).add(rate, dollars)
	}
	if slices.ContainsFunc(b.by, func(f cost.Field) bool { return !f.OfNodes() }) {
		return
	}
	r := b.row(k)
	if k.Kind == cost.Idle {
		r.Idle.add(rate, dollars)
	} else {
		r.Overhead.add(rate, dollars)
	}
}

// row returns the row of k.
func (b *builder) row(k cost.Key) *Row {
	values := make([]string, len(b.by))
	for i, f := range b.by {
		values[i] = cmp.Or(f.Of(k), None)
		if f == cost.ByOwner && k.Owner != "" && slices.Contains(b.by, cost.ByNamespace) {
			values[i] = k.Owner // the key has the namespace, too
		}
	}
	key := strings.Join(values, " ")
	r := b.rows[key]
	if r == nil {
		r = &Row{Key: key}
		if len(values) > 1 {
			r.Values = values
		}
		if !slices.ContainsFunc(b.by, func(f cost.Field) bool { return !f.OfNodes() }) {
			r.Idle, r.Overhead = &Money{}, &Money{}
		}
		b.rows[key] = r
	}
	return r
}

// finish writes the sums to the report, with the largest first.
func (b *builder) finish(out *Report) {
	for _, r := range b.rows {
		out.Rows = append(out.Rows, *r)
	}
	slices.SortFunc(out.Rows, func(a, b Row) int { return cmp.Or(compare(a.Money, b.Money), cmp.Compare(a.Key, b.Key)) })
	out.Idle, out.Overheads = causes(b.idle), causes(b.overhead)
	for _, r := range out.Overheads {
		out.Overhead.DollarsPerHour += r.DollarsPerHour
		out.Overhead.Dollars += r.Dollars
	}
	out.Money = b.total
}

func causes(sums map[cost.Cause]*Money) []CauseRow {
	list := make([]CauseRow, 0, len(sums))
	for cause, m := range sums {
		list = append(list, CauseRow{Cause: cause, Money: *m})
	}
	slices.SortFunc(list, func(a, b CauseRow) int { return cmp.Or(compare(a.Money, b.Money), cmp.Compare(a.Cause, b.Cause)) })
	return list
}

func compare(a, b Money) int {
	return cmp.Or(cmp.Compare(b.DollarsPerHour, a.DollarsPerHour), cmp.Compare(b.Dollars, a.Dollars))
}

func of(sums map[cost.Cause]*Money, c cost.Cause) *Money {
	if sums[c] == nil {
		sums[c] = &Money{}
	}
	return sums[c]
}

// sums are the savings of ended actions, one for each day, reason and decision.
type sums []Saving

// add adds an ended action.
func (s *sums) add(a *Action) {
	x := Saving{Day: a.Ended.UTC().Format(time.DateOnly), Reason: a.reason(), Decision: a.Decision}
	if a.State == Cancelled {
		x.Cancelled = 1
	} else {
		x.Actions, x.Planned, x.Realized, x.Evictions = 1, a.Planned, a.Realized(), a.Evictions
	}
	s.merge(x)
}

// merge adds the amounts of x to the element with its day, reason and decision.
func (s *sums) merge(x Saving) {
	i := slices.IndexFunc(*s, func(y Saving) bool { return compareSavings(x, y) == 0 })
	if i < 0 {
		*s = append(*s, x)
		return
	}
	y := &(*s)[i]
	y.Actions += x.Actions
	y.Planned += x.Planned
	y.Realized += x.Realized
	y.Evictions += x.Evictions
	y.Cancelled += x.Cancelled
}

func compareSavings(a, b Saving) int {
	return cmp.Or(cmp.Compare(a.Day, b.Day), cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Decision, b.Decision))
}

// savings returns the stored actions that began since a time, in the stored order, and the sums of the ended ones, in the order of
// days. Actions that are not stored count by day: all days from that of the time on.
func (s Saved) savings(since time.Time) (total []Saving, actions []Action) {
	var all sums
	for _, x := range s.Sums {
		if x.Day >= since.UTC().Format(time.DateOnly) {
			all.merge(x)
		}
	}
	for _, a := range s.Actions {
		if a.Begun.Before(since) {
			continue
		}
		actions = append(actions, a)
		if a.State != Running {
			all.add(&a)
		}
	}
	slices.SortFunc(all, compareSavings)
	return all, actions
}
