package catalog

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/binpack"
	"github.com/karpenter-go/karpenter/engine/binpack/vector"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A Pool is a NodePool that may launch nodes, with the instance types that it may launch.
type Pool struct {
	*model.Pool
	Index int // in Catalog.Pools
	Types []*Type
	// Reserves is true if some of Types are launched in a capacity reservation.
	Reserves bool
	// Empty is the reason why the pool has no types. It is OK if there are types.
	Empty model.Verdict

	settings Settings
	limited  []corev1.ResourceName // the resources that Limits limits, in the order of Limits.Names
	daemons  []DaemonPod           // the DaemonSets whose pods tolerate the pool's taints
	// overheads are the different Daemons.Requests of Types.
	overheads []model.Resources
	sets      []*OfferSet
	setOf     map[string]*OfferSet              // results of offersUnder by the text of the requirements
	meets     int                               // the number of intersections that Meet has computed
	bins      *binpack.Catalog                  // result of Bins
	options   map[*binpack.TypeOptions]*Options // results of Options, by the result of package binpack
}

// A Catalog is what may be launched: the NodePools with their instance types and offerings.
type Catalog struct {
	// Pools are the NodePools that may launch nodes, by falling weight, then by name. They are tried in this order.
	Pools []*Pool
	// Unusable are the other NodePools, each with the reason why it may not launch nodes for pods.
	Unusable []model.PoolVerdict
	// Limits are what pool limits, reservations and commitments allow at the time of the snapshot.
	Limits  *Limits
	volumes *Volumes
	fits    map[fitKey]*Fit // results of Fit
}

// Settings are the parameters of a plan that decide which nodes may be launched, and what pods require of them.
type Settings struct {
	// Labels are the well-known labels, and the current names of deprecated ones. A pod may require a well-known label
	// even if no NodePool defines it.
	Labels apiv1.LabelRules
	// MaxNodeCPU is the largest cpu capacity of a new node, in millicores. 0 means no limit.
	MaxNodeCPU int64
	// RelaxMinValues says that minValues of NodePools are ignored.
	RelaxMinValues bool
	// IgnorePreferences says that preferred affinity and spread with ScheduleAnyway are ignored.
	IgnorePreferences bool
	// DefaultSpread returns the spread constraints of a pod that has none of its own. If it is nil, there are no defaults.
	DefaultSpread func(*model.Pod) []corev1.TopologySpreadConstraint
	// Slack is the share of cpu and memory of a new node that is left free, from 0 to 0.5.
	Slack float64
}

// Known reports whether the label is well-known: a new node may have it although neither its NodePool nor its instance
// type defines it.
func (s *Settings) Known(key string) bool { return s.Labels.WellKnown.Has(key) }

// Compile returns the catalog of the snapshot. v are the Volumes of the pods to plan, and o are the settings of the plan.
func Compile(s *model.Snapshot, v *Volumes, o Settings) *Catalog {
	c := &Catalog{volumes: v, fits: map[fitKey]*Fit{}}
	reservations := reservations{}
	for _, mp := range s.Pools() {
		if no := mp.Usable(); !no.OK() {
			c.Unusable = append(c.Unusable, model.PoolVerdict{Pool: mp.Name, Verdict: no})
			continue
		}
		p := &Pool{
			Pool: mp, Index: len(c.Pools), settings: o, limited: mp.Limits.Names(),
			setOf: map[string]*OfferSet{}, options: map[*binpack.TypeOptions]*Options{},
		}
		p.compileTypes(s, v, reservations)
		c.Pools = append(c.Pools, p)
	}
	c.Limits = newLimits(s, c.Pools, reservations)
	return c
}

func (p *Pool) compileTypes(s *model.Snapshot, v *Volumes, reservations reservations) {
	p.daemons = DaemonsTolerating(s.Daemons(), p.Taints, p.settings.Labels.Aliases)
	matched := false
	byLabels := NeedsLabels(p.daemons)
	overhead := OverheadOf(p.daemons, require.Set{}, p.settings.Known) // the same on all nodes unless DaemonSets select by labels
	for _, t := range s.Types(p.Name) {
		if _, ok := t.Requirements.Intersects(p.Requirements); !ok {
			continue
		}
		matched = true
		if most := p.settings.MaxNodeCPU; most > 0 && t.Capacity[corev1.ResourceCPU] > most {
			continue
		}
		whole := &Type{
			InstanceType: t, Pool: p, Allowed: t.Requirements.And(p.Requirements),
			Charge: amounts(t.Capacity.Plus(model.Resources{model.Nodes: 1}), p.limited),
		}
		for _, part := range whole.byReservation(s.Coverage(), reservations) {
			if byLabels {
				overhead = OverheadOf(p.daemons, part.labels(), p.settings.Known)
			}
			part.Daemons, part.overhead, part.Room = overhead, p.internOverhead(overhead.Requests), v.Room(t, &overhead)
			p.Types = append(p.Types, part)
			p.Reserves = p.Reserves || part.Reservation != nil && !part.Reservation.Commitment
		}
	}
	slices.SortStableFunc(p.Types, func(a, b *Type) int { return strings.Compare(a.name, b.name) })
	switch {
	case len(p.Types) > 0:
	case matched:
		p.Empty = model.Verdict{Rule: model.RuleOffering, Subject: "the instance types of the NodePool"}
	default:
		p.Empty = model.Verdict{Rule: model.RuleLabels, Subject: "no instance type matches the requirements of the NodePool",
			Hint: "relax spec.template.spec.requirements of NodePool " + p.Name}
	}
}

// internOverhead returns the index in p.overheads of equal requests. If there are none, it adds them.
func (p *Pool) internOverhead(requests model.Resources) int {
	equal := func(r model.Resources) bool { return maps.Equal(r, requests) }
	if i := slices.IndexFunc(p.overheads, equal); i >= 0 {
		return i
	}
	p.overheads = append(p.overheads, requests)
	return len(p.overheads) - 1
}

// LeastOverhead returns the requests of DaemonSet pods that a node has in any case, whichever of the types, which are of one
// pool, it is launched as: the minimum of each resource. Resources that no DaemonSet pod on one of the types requests are
// omitted. Callers must not change the result.
func LeastOverhead(types []*Type) model.Resources {
	if len(types) == 0 {
		return nil
	}
	least := types[0].Daemons.Requests
	seen := make([]bool, len(types[0].Pool.overheads))
	seen[types[0].overhead] = true
	for _, t := range types[1:] {
		if seen[t.overhead] {
			continue
		}
		seen[t.overhead] = true
		lower := model.Resources{}
		for name, v := range t.Daemons.Requests {
			if w, both := least[name]; both {
				lower[name] = min(v, w)
			}
		}
		least = lower
	}
	return least
}

// daemonsOn returns PresencesWithin for the requirements of s, computed once.
func (p *Pool) daemonsOn(s *OfferSet, i int) []Presence {
	if s.daemons == nil {
		s.daemons = make([][]Presence, len(p.Types))
	}
	if s.daemons[i] == nil {
		s.daemons[i] = p.PresencesWithin(s.Requirements, i)
	}
	return s.daemons[i]
}

// PresencesWithin returns the DaemonSets whose pods may run on a new node of Types[i] with labels that meet reqs. A Presence
// is certain if it is certain for each of the offerings in Buyable that reqs allow. The result is never nil.
func (p *Pool) PresencesWithin(reqs require.Set, i int) []Presence {
	t := p.Types[i]
	var nodes []require.Set
	for _, o := range t.Buyable {
		if _, ok := reqs.Intersects(o.Requirements); ok {
			nodes = append(nodes, t.Allowed.And(reqs).And(o.Requirements))
		}
	}
	return PresencesOn(p.daemons, nodes, p.settings.Known)
}

// LeaveSlack lowers Room of each type by share (0 to 0.5) of its allocatable cpu and memory. It lowers Room by less if one
// of the demands, alone on a node of the type, would otherwise not fit any more.
func (c *Catalog) LeaveSlack(share float64, demands []*Demand) {
	for _, p := range c.Pools {
		for _, t := range p.Types {
			room := slices.Clone(t.Room)
			for i, name := range c.volumes.dimensions.Names {
				if name == corev1.ResourceCPU || name == corev1.ResourceMemory {
					room[i] -= int64(float64(t.Allocatable[name]) * share)
				}
			}
			for _, x := range demands {
				if vector.Fits(x.Amount, t.Room) {
					for i, v := range x.Amount {
						room[i] = max(room[i], v)
					}
				}
			}
			t.Room = room
		}
	}
}
