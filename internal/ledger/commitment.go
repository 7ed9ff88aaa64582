package ledger

import (
	"github.com/karpenter-go/karpenter/engine/model"
)

// A Commitment is how the nodes use a commitment of the price book at one time.
type Commitment struct {
	Name string `json:"name"`
	// Utilization is the share of the commitment that nodes use, from 0 to 1.
	Utilization float64 `json:"utilization"`
	// EligibleNodes is how many nodes the commitment could cover, CoveredNodes how many it covers, with parts of nodes, and
	// Coverage the share, from 0 to 1. Coverage is 0 without eligible nodes.
	EligibleNodes float64 `json:"eligibleNodes"`
	CoveredNodes  float64 `json:"coveredNodes"`
	Coverage      float64 `json:"coverage"`
	// SavedPerHour is what the nodes would cost more without it, in dollars per hour.
	SavedPerHour float64 `json:"savedPerHour"`
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
