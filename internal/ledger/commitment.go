package ledger

import (
	"maps"
	"slices"
	"time"

	"github.com/karpenter-go/karpenter/engine/model"
)

// A Commitment is how the nodes use a commitment of the price book at one time.
type Commitment struct {
	Name string `json:"name"`
	// Utilization is the share of the commitment that nodes use, from 0 to 1.
	Utilization float64 `json:"utilization"`
	// EligibleNodes is how many nodes the commitment could cover. CoveredNodes is how many it covers, with parts of nodes.
	// Coverage is CoveredNodes divided by EligibleNodes, 0 without eligible nodes.
	EligibleNodes float64 `json:"eligibleNodes"`
	CoveredNodes  float64 `json:"coveredNodes"`
	Coverage      float64 `json:"coverage"`
	// SavedPerHour is how much more the nodes would cost without the commitment, in dollars per hour.
	SavedPerHour float64 `json:"savedPerHour"`
	// Since is how the nodes used the commitment in the period of a report. It is nil in a ledger, and in a report without
	// amounts of the commitment in that period.
	Since *CommitmentPeriod `json:"since,omitempty"`
	// Ended is true if the commitment is not in the price book any more, or covers no type of the NodePools.
	Ended bool `json:"ended,omitempty"`
}

// A CommitmentPeriod is how nodes used a commitment in a period.
type CommitmentPeriod struct {
	// Utilization is the mean of Commitment.Utilization. Coverage is CoveredNodeHours divided by EligibleNodeHours, 0
	// without eligible nodes.
	Utilization       float64 `json:"utilization"`
	EligibleNodeHours float64 `json:"eligibleNodeHours"`
	CoveredNodeHours  float64 `json:"coveredNodeHours"`
	Coverage          float64 `json:"coverage"`
	// Saved is how much more the nodes would have cost without the commitment, in dollars.
	Saved float64 `json:"saved"`
}

// Used is how nodes used a commitment in a period, in amounts that can be added up.
type Used struct {
	// Hours is how long the commitment existed, and Utilized these hours multiplied by the utilization.
	Hours    float64 `json:"h"`
	Utilized float64 `json:"u"`
	// Eligible and Covered are node hours. Saved is in dollars.
	Eligible float64 `json:"e"`
	Covered  float64 `json:"c"`
	Saved    float64 `json:"s"`
}

// during returns the use of the commitment in a period in which it does not change.
func (c *Commitment) during(d time.Duration) Used {
	return Used{Hours: 1, Utilized: c.Utilization, Eligible: c.EligibleNodes, Covered: c.CoveredNodes, Saved: c.SavedPerHour}.times(d.Hours())
}

func (u Used) plus(o Used) Used {
	return Used{u.Hours + o.Hours, u.Utilized + o.Utilized, u.Eligible + o.Eligible, u.Covered + o.Covered, u.Saved + o.Saved}
}

func (u Used) times(f float64) Used {
	return Used{u.Hours * f, u.Utilized * f, u.Eligible * f, u.Covered * f, u.Saved * f}
}

// period returns u as shares.
func (u Used) period() *CommitmentPeriod {
	p := &CommitmentPeriod{EligibleNodeHours: u.Eligible, CoveredNodeHours: u.Covered, Saved: u.Saved}
	if u.Hours > 0 {
		p.Utilization = u.Utilized / u.Hours
	}
	if u.Eligible > 0 {
		p.Coverage = u.Covered / u.Eligible
	}
	return p
}

// maxCommitments bounds the number of commitments in one bucket. Further ones are not added up.
const maxCommitments = 200

// use adds the use of a commitment.
func (b *Bucket) use(name string, u Used) {
	if b.Used == nil {
		b.Used = map[string]Used{}
	}
	if sum, known := b.Used[name]; known || len(b.Used) < maxCommitments {
		b.Used[name] = sum.plus(u)
	}
}

// commitmentsSince returns the commitments with their use since a time. Commitments that do not exist any more come last, by
// name, with only Name, Since and Ended set.
func (s Saved) commitmentsSince(book *Book, since time.Time) []Commitment {
	out, used := slices.Clone(s.Commitments), book.Used(since)
	for i := range out {
		if u, ok := used[out[i].Name]; ok {
			out[i].Since = u.period()
			delete(used, out[i].Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(used)) {
		out = append(out, Commitment{Name: name, Since: used[name].period(), Ended: true})
	}
	return out
}

// CommitmentsOf returns how the nodes of s use commitments, in the order in which these apply.
func CommitmentsOf(s *model.Snapshot) []Commitment {
	var out []Commitment
	for _, u := range s.Coverage().Usage() {
		c := Commitment{Name: u.ID, EligibleNodes: u.Eligible, CoveredNodes: u.Covered, SavedPerHour: u.Saved}
		if u.Units > 0 {
			c.Utilization = float64(u.Used) / float64(u.Units)
		}
		if u.Eligible > 0 {
			c.Coverage = u.Covered / u.Eligible
		}
		out = append(out, c)
	}
	return out
}

// publishCommitments writes the gauges of commitments.
func (l *Ledger) publishCommitments() {
	m := l.Metrics
	m.CommitmentUtilization.Reset()
	m.CommitmentCoverage.Reset()
	for _, c := range l.commitments {
		m.CommitmentUtilization.WithLabelValues(c.Name).Set(c.Utilization)
		m.CommitmentCoverage.WithLabelValues(c.Name).Set(c.Coverage)
	}
}
