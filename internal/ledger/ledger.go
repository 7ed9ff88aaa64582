package ledger

import (
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/karpenter-go/karpenter/api/condition"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/cost"
	"github.com/karpenter-go/karpenter/engine/disrupt/budget"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/telemetry"
)

// A Decision is the decision of disruption for a snapshot.
type Decision struct {
	Blocked  []model.Blocked
	Commands []model.Command
	// Headroom is the capacity that capacity buffers reserve, by node name.
	Headroom map[string]model.Resources
}

// A Ledger adds up costs. It is safe for concurrent use.
type Ledger struct {
	// Label is the key of a pod label by which costs are also added up; empty for none.
	Label string
	// Metrics receives the sums; nil means none.
	Metrics *telemetry.CostMetrics

	mu sync.Mutex // guards the rest
	// last is the time of the last observation or, after Restore, that of the stored ledger. It is zero before both. begin
	// is the time since which amounts are known.
	last, begin time.Time
	now         cost.Allocation
	floor       cost.Micros
	commitments []Commitment
	nodes       map[types.UID]billed
	book        *Book
	savings     savings
	predictions Predictions
	shown       shown
	begun       bool // true after Begin
	// opens is, by NodePool, the next time at which its disruption budgets allow disruption. It was computed at openedAt.
	opens    map[string]time.Time
	openedAt time.Time
}

// New returns an empty Ledger.
func New(m *telemetry.CostMetrics, label string) *Ledger {
	return &Ledger{Metrics: m, Label: label, book: newBook(), nodes: map[types.UID]billed{}}
}

// Begin makes Observe take effect. Before that, Observe does nothing, because the stored ledger may have to be restored
// first.
func (l *Ledger) Begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.begun = true
}

// Charged returns the time up to which costs are charged, and the price per hour at the last observation. The time is zero
// before the first observation or Restore.
func (l *Ledger) Charged() (until time.Time, total cost.Micros) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last, l.now.Total
}

// Floor returns a lower bound of the price per hour in dollars for the capacity that the running pods need. ok is false before
// the first observation, also after Restore, and for a nil Ledger.
func (l *Ledger) Floor() (dollars float64, ok bool) {
	if l == nil {
		return 0, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.floor.Dollars(), !l.last.IsZero() && l.nodes != nil
}

// A billed has the data of a node that is charged.
type billed struct {
	key   cost.Key // key of the node's costs, without the kind
	price cost.Micros
	// known is true if the price is known, initialized if the node is initialized.
	known, initialized bool
}

// bridged is the maximum time between two observations that is charged. A restart of the controller may take that long.
const bridged = time.Hour

// minInterval is the minimum time between two observations without commands. While the cluster changes, disruption decides every
// second. To divide all prices each time would cost more CPU time than it adds precision.
const minInterval = 5 * time.Second

// Observe follows predictions and disruptions with each snapshot: a pod is often bound, and a node initialized or removed,
// within seconds of the decision. It charges the time since the last charge and stores the rates of this snapshot, but only
// if the snapshot is at least minInterval later, or is later and the decision has commands. It charges nothing for a time
// longer than bridged. A nil Ledger, and a Ledger before Begin, does nothing.
func (l *Ledger) Observe(s *model.Snapshot, d Decision) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.begun {
		return
	}
	l.predictions.observe(s, l.Metrics)
	l.savings.observe(s, &cost.Input{Snapshot: s, Label: l.Label}, d.Commands)
	l.publishActions()
	l.savings.condense(s.Now)
	if gap := s.Now.Sub(l.last); gap > 0 && gap < minInterval && len(d.Commands) == 0 {
		return
	}
	in := cost.Input{Snapshot: s, Causes: cost.CausesOf(d.Blocked, d.Commands), Headroom: d.Headroom, Label: l.Label}
	next := cost.Allocate(in)
	first := l.last.IsZero()
	gap := s.Now.Sub(l.last)
	switch {
	case first:
		l.begin, l.last = s.Now, s.Now
	case gap > bridged:
		l.last = s.Now // the rates of the time in between are not known
	case gap <= 0:
		return
	default:
		if l.nodes == nil { // after Restore the earlier rates are not known, so the current ones are used
			l.now, l.commitments = next, CommitmentsOf(s)
		}
		l.charge(l.now.Parts, gap, s.Now)
	}
	l.correct(&in, first || l.nodes == nil || gap > bridged)
	l.now, l.last, l.floor, l.commitments = next, s.Now, floorOf(s, in.Price, d), CommitmentsOf(s)
	l.book.bucket(s.Now).End = s.Now
	if s.Now.Sub(l.openedAt) >= time.Minute {
		l.openedAt, l.opens = s.Now, Opens(s, next, false)
	}
	l.publish()
}

// charge charges the rates for the duration d that ends at now. It splits the duration at the ends of buckets.
func (l *Ledger) charge(parts []cost.Part, d time.Duration, now time.Time) {
	for from := now.Add(-d); from.Before(now); {
		to := l.book.next(from)
		if to.After(now) {
			to = now
		}
		for _, p := range parts {
			l.put(from, p.Key, p.Rate.Dollars()*to.Sub(from).Hours())
		}
		b := l.book.bucket(from)
		for _, c := range l.commitments {
			b.use(c.Name, c.during(to.Sub(from)))
		}
		b.End = later(b.End, to)
		from = to
	}
}

func (l *Ledger) put(at time.Time, k cost.Key, dollars float64) {
	if dollars == 0 {
		return
	}
	l.book.add(at, k, dollars)
	l.shown.add(k, dollars)
}

// correct charges amounts that the rates of the previous snapshot did not contain: the costs of nodes that have started or
// ended since, and the difference to prices that were valid before they were known. If quiet is true, it only records the
// nodes.
func (l *Ledger) correct(in *cost.Input, quiet bool) {
	s := in.Snapshot
	seen := make(map[types.UID]billed, len(l.nodes))
	for _, n := range s.Nodes() {
		if !cost.Billed(n) {
			continue
		}
		price, known := in.Price(n)
		b := billed{key: placeOf(n), price: price, known: known, initialized: n.Initialized}
		seen[n.Claim.UID] = b
		if quiet {
			continue
		}
		before, was := l.nodes[n.Claim.UID]
		switch {
		case !was:
			l.move(s.Now, idleOf(b.key, cost.Starting), price, s.Now.Sub(later(launchedAt(n), l.begin)))
		case before.price != price || before.known != known:
			l.reprice(in, n, before)
		}
	}
	if !quiet {
		for uid, b := range l.nodes {
			if _, stays := seen[uid]; !stays {
				l.move(s.Now, idleOf(b.key, cost.Leaving), -b.price, s.Now.Sub(l.endedAt(s, uid)))
			}
		}
	}
	l.nodes = seen
}

// move charges a price for the duration d that ends at now, to the bucket that contains now. A negative d counts as zero.
func (l *Ledger) move(now time.Time, k cost.Key, price cost.Micros, d time.Duration) {
	l.put(now, k, price.Dollars()*max(0, d).Hours())
}

// reprice charges the difference between the new and the previous price, from the time at which the new price became valid.
// If that time is not known, it charges nothing. If no price was known before, it charges the new price from the launch.
func (l *Ledger) reprice(in *cost.Input, n *model.Node, before billed) {
	now := in.Snapshot.Now
	price, _ := in.Price(n)
	since := later(launchedAt(n), l.begin)
	if before.known { // otherwise nothing was charged
		o := in.Snapshot.OfferingOf(n)
		if o == nil || o.Since.IsZero() {
			return
		}
		since = later(o.Since, since)
	}
	d := max(0, now.Sub(since))
	sign := cost.Micros(1)
	difference := price - before.price
	if difference < 0 {
		sign, difference = -1, -difference
	}
	for _, p := range in.Node(n, difference) {
		l.move(now, p.Key, sign*p.Rate, d)
	}
}

func placeOf(n *model.Node) cost.Key {
	return cost.Key{
		Pool: n.Pool, CapacityType: n.Labels[apiv1.CapacityTypeLabelKey], Zone: n.Labels[corev1.LabelTopologyZone],
	}
}

func idleOf(k cost.Key, cause cost.Cause) cost.Key {
	k.Kind, k.Cause = cost.Idle, cause
	return k
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// launchedAt returns the time at which the instance of the node was launched.
func launchedAt(n *model.Node) time.Time {
	if c := condition.Get(n.Claim, apiv1.ConditionTypeLaunched); c != nil {
		return c.LastTransitionTime.Time
	}
	return n.Claim.CreationTimestamp.Time
}

// endedAt returns the time at which the billing of the claim's instance ends: when its termination was requested. If that
// is not known, as for a claim that is gone, endedAt returns the middle between the last observation and now.
func (l *Ledger) endedAt(s *model.Snapshot, uid types.UID) time.Time {
	for _, c := range s.Claims.Values() {
		if c.UID != uid {
			continue
		}
		if end := condition.Get(c, apiv1.ConditionTypeInstanceTerminating); end != nil {
			return later(end.LastTransitionTime.Time, l.last)
		}
	}
	return l.last.Add(s.Now.Sub(l.last) / 2)
}

// Opens returns, by NodePool, the next time at which the schedules of its budgets allow the disruption of underutilized
// nodes. It has only NodePools with idle capacity that the budgets block now. simulated is the field of disrupt.Options
// with this name.
func Opens(s *model.Snapshot, a cost.Allocation, simulated bool) map[string]time.Time {
	out := map[string]time.Time{}
	var budgets *budget.NodePools
	for _, p := range a.Parts {
		pool, ok := s.Pool(p.Key.Pool)
		if p.Key.Cause != cost.Budget || !ok {
			continue
		}
		if budgets == nil {
			budgets = budget.Of(s, simulated)
		}
		if _, done := out[pool.Name]; done {
			continue
		}
		if at, ok := budgets.Reopens(pool, apiv1.DisruptionReasonUnderutilized, s.Now); ok {
			out[pool.Name] = at
		}
	}
	return out
}

// Floor returns a lower bound of the price of the nodes for the pods that run on them, in dollars per hour: the price of
// each node less its waste. Nodes of a command count with the price of their replacements.
func Floor(s *model.Snapshot, d Decision) float64 {
	in := cost.Input{Snapshot: s}
	return floorOf(s, in.Price, d).Dollars()
}

func floorOf(s *model.Snapshot, price func(*model.Node) (cost.Micros, bool), d Decision) cost.Micros {
	waste := make(map[string]cost.Micros, len(d.Blocked))
	for _, b := range d.Blocked {
		waste[b.Node.Name] = cost.MicrosOf(b.Waste)
	}
	commands := make(map[string]int, len(d.Commands))
	removed := make([]cost.Micros, len(d.Commands)) // the price of the nodes of each command
	for i := range d.Commands {
		for _, n := range d.Commands[i].Nodes {
			commands[n.Name] = i
		}
	}
	floor := cost.Micros(0)
	for _, n := range s.EachNode() {
		if !cost.Billed(n) {
			continue
		}
		micros, _ := price(n)
		if i, ok := commands[n.Name]; ok {
			removed[i] += micros
			continue
		}
		floor += max(0, micros-waste[n.Name])
	}
	for i := range d.Commands {
		saves := cost.MicrosOf(max(0, d.Commands[i].Saves))
		floor += max(0, removed[i]-saves)
	}
	return floor
}
