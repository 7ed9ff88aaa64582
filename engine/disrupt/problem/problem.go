package problem

import (
	"cmp"
	"slices"
	"strings"
	"time"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/disrupt/budget"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/repair"
)

// Options configures a decision. The zero value is valid.
type Options struct {
	// Pack are the options for packing the pods of nodes that are removed.
	Pack pack.Options
	// SpotToSpot allows cheaper spot nodes to replace spot nodes.
	SpotToSpot bool
	// IgnoreDeletionCost excludes controller.kubernetes.io/pod-deletion-cost from eviction costs.
	IgnoreDeletionCost bool
	// Static enables static NodePools, which keep the number of nodes in replicas.
	Static bool
	// TerminateFirst are the reasons for which a node may be terminated before it is replaced, if only its own capacity
	// is left for the replacement.
	TerminateFirst []apiv1.DisruptionReason
	// Repair are the policies of node repair. If they are nil, no node is repaired. LegacyRepair removes unhealthy nodes
	// with force, before they are replaced and without budgets.
	Repair       *repair.Policies
	LegacyRepair bool
	// Mode is the mode of NodePools without an annotation: Auto, DryRun or Approve. Empty means Auto.
	Mode string
	// Paused stops voluntary disruption of all NodePools.
	Paused bool
	// ShiftedZones are zones from which traffic is shifted away. Their nodes are neither disrupted
	// voluntarily nor repaired.
	ShiftedZones []string
	// OldPrices is true until the provider has refreshed its prices. While it is true, only empty nodes are consolidated.
	OldPrices bool
	// Simulate treats all nodes of NodePools as managed, initialized and consolidatable, with or without a claim.
	Simulate bool
	// Backoff are the nodes, by name, whose disruption was rolled back recently, with the time of the next attempt.
	Backoff map[string]time.Time
	// MaxNodes bounds how many nodes one decision disrupts voluntarily. 0 means no bound; a negative number allows
	// none.
	MaxNodes int
	// MaxWhatIfs bounds the what-ifs of one decision: consolidation packs no more once all methods together have packed
	// this number. Unlike a time limit, a count gives the same decision on a slow machine. If the bound is reached, the
	// next decision evaluates the candidates in name order, beginning after Cursor.After of package consolidate. The
	// default is 4,000.
	MaxWhatIfs int
}

// A Problem is a Snapshot compiled for disruption. It is immutable.
type Problem struct {
	Snapshot *model.Snapshot
	Options  Options
	// Candidates are the managed nodes of NodePools, in name order. With Options.Simulate, nodes of NodePools without a
	// claim are included.
	Candidates []*Candidate

	byName map[string]*Candidate
	types  map[string]map[string]*model.InstanceType // by pool and name
	pdbs   *budget.PDBs
	prices dualPrices
	// releasedAlone caches the results of the method released, by Coverage.Class of the node.
	releasedAlone map[int]float64
}

const (
	// maxWhatIfs is the default of Options.MaxWhatIfs.
	maxWhatIfs = 4000
	// maxTypes is the default of pack.Options.MaxTypes.
	maxTypes = 600
)

// Compile compiles s into a Problem and returns its State before any command.
func Compile(s *model.Snapshot, o Options) *State {
	o.MaxWhatIfs = cmp.Or(o.MaxWhatIfs, maxWhatIfs)
	o.Pack.MaxTypes = cmp.Or(o.Pack.MaxTypes, maxTypes)
	p := &Problem{
		Snapshot: s, Options: o, byName: map[string]*Candidate{}, types: map[string]map[string]*model.InstanceType{},
		pdbs: budget.PDBsOf(s), releasedAlone: map[int]float64{},
	}
	for _, pool := range s.Pools() {
		p.types[pool.Name] = map[string]*model.InstanceType{}
		for _, t := range s.Types(pool.Name) {
			p.types[pool.Name][t.Name] = t
		}
	}
	for _, n := range s.Nodes() {
		if n.Pool != "" && (n.Managed() || o.Simulate) {
			c := newCandidate(p, n)
			p.Candidates, p.byName[n.Name] = append(p.Candidates, c), c
		}
	}
	slices.SortFunc(p.Candidates, func(a, b *Candidate) int { return strings.Compare(a.Node.Name, b.Node.Name) })
	for i, c := range p.Candidates {
		c.index = i
	}
	p.setWorths()
	return p.initialState()
}

// Candidate returns the candidate of the node, nil if the node is not a candidate.
func (p *Problem) Candidate(n *model.Node) *Candidate { return p.byName[n.Name] }

// WorthOf returns the worth of the resources in dollars per hour: a lower bound of the price of that capacity.
func (p *Problem) WorthOf(r model.Resources) float64 { return p.prices.worth(r) }
