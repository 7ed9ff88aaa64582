package catalog

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/binpack"
	"github.com/karpenter-go/karpenter/engine/binpack/typeset"
	"github.com/karpenter-go/karpenter/engine/binpack/vector"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A Pool is a NodePool that may launch nodes, with the instance types that it may launch.
type Pool struct {
	*model.Pool
	Index int // in Catalog.Pools
	Types []*Type
	// Empty is the reason why the pool has no types. It is OK if there are types.
	Empty model.Verdict

	settings Settings
	watched  []DaemonPod // the DaemonSets that Watch selected and whose pods tolerate the pool's taints
	sets     offerSets
	bins     *binpack.Catalog                  // result of Bins
	options  map[*binpack.TypeOptions]*Options // results of Options, by the result of package binpack
}

// A Catalog is what may be launched: the NodePools with their instance types and offerings.
type Catalog struct {
	// Pools are the NodePools that may launch nodes, by falling weight, then by name. They are tried in this order.
	Pools []*Pool
	// Unusable are the other NodePools, each with the reason why it may not launch nodes for pods.
	Unusable []model.PoolVerdict
	// Limits are what pool limits, reservations and commitments allow at the time of the snapshot.
	Limits   *Limits
	volumes  *Volumes
	fits     map[fitKey]*Fit        // results of Fit
	byTerm   map[setKey]*OfferSet   // results of Pool.OffersFor
	held     map[[2]int]typeset.Set // results of holding, by Demand.ID and Pool.Index
	settings Settings
}

// Settings are the parameters of a plan that decide which nodes may be launched.
type Settings struct {
	// Labels are the well-known labels, and the current names of deprecated ones. A pod may require a well-known label
	// even if no NodePool defines it.
	Labels apiv1.LabelRules
	// MaxNodeCPU is the largest cpu capacity of a new node, in millicores. 0 means no limit.
	MaxNodeCPU int64
	// RelaxMinValues says that minValues of NodePools are ignored.
	RelaxMinValues bool
}

// Known reports whether the label is well-known: a new node may have it although neither its NodePool nor its instance
// type defines it.
func (s *Settings) Known(key string) bool { return s.Labels.WellKnown.Has(key) }

// Compile returns the catalog of the snapshot. d and v are the dimensions and Volumes of the pods to plan, and o are the
// settings of the plan.
func Compile(s *model.Snapshot, d *Dimensions, v *Volumes, o Settings) *Catalog {
	c := &Catalog{
		volumes: v, settings: o, fits: map[fitKey]*Fit{}, byTerm: map[setKey]*OfferSet{}, held: map[[2]int]typeset.Set{},
	}
	reservations := reservations{}
	for _, mp := range s.Pools() {
		if no := mp.Usable(); !no.OK() {
			c.Unusable = append(c.Unusable, model.PoolVerdict{Pool: mp.Name, Verdict: no})
			continue
		}
		p := &Pool{
			Pool: mp, Index: len(c.Pools), settings: o,
			sets: offerSets{byText: map[string]*OfferSet{}}, options: map[*binpack.TypeOptions]*Options{},
		}
		p.compileTypes(s, d, reservations)
		c.Pools = append(c.Pools, p)
	}
	if v.Limited() {
		for _, p := range c.Pools {
			for _, t := range p.Types {
				v.Attachable(t.InstanceType, t.Daemons.WithVolumes, t.Room)
			}
		}
	}
	c.Limits = newLimits(s, c.Pools, reservations)
	return c
}

func (p *Pool) compileTypes(s *model.Snapshot, d *Dimensions, reservations reservations) {
	daemons := DaemonsTolerating(s.Daemons(), p.Taints, p.settings.Labels, false)
	coverage := s.Coverage()
	matched := false
	byLabels := NeedsLabels(daemons)
	overhead := OverheadOf(daemons, require.Set{}, p.settings.Known) // the same on all nodes unless DaemonSets select by labels
	for _, t := range s.Types(p.Name) {
		if _, ok := t.Requirements.Intersects(p.Requirements); !ok {
			continue
		}
		matched = true
		if most := p.settings.MaxNodeCPU; most > 0 && t.Capacity[corev1.ResourceCPU] > most {
			continue
		}
		offerings := buyable(t, p.Requirements)
		if len(offerings) == 0 {
			continue
		}
		whole := &Type{InstanceType: t, Pool: p, Allowed: t.Requirements.And(p.Requirements)}
		parts := whole.byReservation(offerings, reservations)
		if coverage != nil {
			parts = append(parts, whole.byCommitment(offerings, coverage, reservations)...)
		}
		for _, part := range parts {
			if byLabels {
				overhead = OverheadOf(daemons, part.labels(), p.settings.Known)
			}
			part.Daemons, part.Room = overhead, d.Vector(t.Allocatable)
			vector.Subtract(part.Room, d.Vector(overhead.Requests), 1)
			p.Types = append(p.Types, part)
		}
	}
	slices.SortStableFunc(p.Types, func(a, b *Type) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.reservationID(), b.reservationID()))
	})
	switch {
	case len(p.Types) > 0:
	case matched:
		p.Empty = model.Verdict{Rule: model.RuleOffering, Subject: "the instance types of the NodePool"}
	default:
		p.Empty = model.Verdict{Rule: model.RuleLabels, Subject: "no instance type matches the requirements of the NodePool",
			Hint: "relax spec.template.spec.requirements of NodePool " + p.Name}
	}
}

// Watch selects the DaemonSets that daemonsOn and PresencesWithin may return. Each pool ignores those whose pods do not
// tolerate its taints. daemons is Snapshot.Daemons. Watch must be called before daemonsOn, PresencesWithin and Fit.
func (c *Catalog) Watch(daemons []*model.Daemon) {
	for _, p := range c.Pools {
		p.watched = DaemonsTolerating(daemons, p.Taints, p.settings.Labels, false)
	}
}

// daemonsOn returns the DaemonSets selected by Watch whose pods may run on a new node of Types[i] with an offering of s.
func (p *Pool) daemonsOn(s *OfferSet, i int) []Presence {
	if len(p.watched) == 0 {
		return nil
	}
	if s.daemons == nil {
		s.daemons = make([][]Presence, len(p.Types))
	}
	if s.daemons[i] == nil {
		s.daemons[i] = p.PresencesWithin(s.Requirements, i)
	}
	return s.daemons[i]
}

// PresencesWithin returns the DaemonSets selected by Watch whose pods may run on a new node of Types[i] with labels that
// meet reqs. A Presence is certain if it is certain for each of the offerings in Buyable that reqs allow. The result is
// never nil.
func (p *Pool) PresencesWithin(reqs require.Set, i int) []Presence {
	t := p.Types[i]
	var nodes []require.Set
	for _, o := range t.Buyable {
		if _, ok := reqs.Intersects(o.Requirements); ok {
			nodes = append(nodes, t.Allowed.And(reqs).And(o.Requirements))
		}
	}
	return PresencesOn(p.watched, nodes, p.settings.Known)
}
