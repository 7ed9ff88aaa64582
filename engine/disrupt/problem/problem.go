package problem

import (
	"slices"
	"strings"

	"github.com/karpenter-go/karpenter/engine/disrupt/budget"
	"github.com/karpenter-go/karpenter/engine/model"
)

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
	tariff tariff
	// alone caches the results of the method released, by Coverage.Class of the node.
	alone map[int]float64
}

// Compile compiles s into a Problem and returns its State before any command.
func Compile(s *model.Snapshot, o Options) *State {
	if o.MaxWhatIfs == 0 {
		o.MaxWhatIfs = maxWhatIfs
	}
	if o.Pack.MaxTypes == 0 {
		o.Pack.MaxTypes = maxTypes
	}
	p := &Problem{
		Snapshot: s, Options: o, byName: map[string]*Candidate{}, types: map[string]map[string]*model.InstanceType{},
		pdbs: budget.PDBsOf(s), alone: map[int]float64{},
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
	p.appraise()
	return p.start()
}

// Candidate returns the candidate of the node, nil if the node is not a candidate.
func (p *Problem) Candidate(n *model.Node) *Candidate { return p.byName[n.Name] }

// WorthOf returns the worth of the resources in dollars per hour: a lower bound of the price of that capacity.
func (p *Problem) WorthOf(r model.Resources) float64 { return p.tariff.worth(r) }
