package world

import (
	"slices"

	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
)

// perSpread is the maximum number of instances of a spread placement group in a zone.
const perSpread = 7

// A PlacementGroup determines how instances are placed on hosts.
type PlacementGroup struct {
	ID, Name string
	Strategy string // cluster, spread or partition
	// Partitions is the number of partitions, 0 unless the strategy is partition.
	Partitions int
	Tags       map[string]string
}

// Place creates a placement group.
func (w *World) Place(g PlacementGroup) (PlacementGroup, *wire.Error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.Contains([]string{"cluster", "spread", "partition"}, g.Strategy) {
		return g, wire.Errorf("InvalidParameterValue", "The strategy '%s' is neither cluster, spread nor partition", g.Strategy)
	}
	if slices.ContainsFunc(w.placements, func(p PlacementGroup) bool { return p.Name == g.Name }) {
		return g, wire.Errorf("InvalidPlacementGroup.Duplicate", "The placement group '%s' already exists", g.Name)
	}
	if g.Strategy == "partition" && g.Partitions == 0 {
		g.Partitions = 7
	}
	g.ID = w.newID("pg")
	w.placements = append(w.placements, g)
	return g, nil
}

// PlacementGroups returns all placement groups, by order of creation.
func (w *World) PlacementGroups() []PlacementGroup {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.placements)
}

// placeIn sets the placement group of a launch. It returns an error if the group does not exist, or cannot take
// instances of the type or in the partition.
func (w *World) placeIn(l *launch) *Failure {
	p := l.data.Placement
	if p.GroupID == "" && p.GroupName == "" {
		return nil
	}
	at := slices.IndexFunc(w.placements, func(g PlacementGroup) bool {
		return g.ID == p.GroupID || p.GroupID == "" && g.Name == p.GroupName
	})
	if at < 0 {
		return failf("InvalidPlacementGroup.Unknown", "The Placement Group '%s' is unknown.", firstSet(p.GroupID, p.GroupName))
	}
	g := w.placements[at]
	switch {
	case p.Partition > g.Partitions:
		return failf("InvalidParameterValue", "Partition %d is not one of the %d of '%s'", p.Partition, g.Partitions, g.Name)
	case g.Strategy == "cluster" && !w.clusters(l.pool.Type):
		return failf("InvalidParameterCombination", "Instances of type '%s' may not be placed in a cluster placement group", l.pool.Type)
	}
	l.group = &g
	return nil
}

func (w *World) clusters(name string) bool {
	t, ok := w.cfg.Catalog.Type(name)
	return ok && t.ClusterPlacement
}

// placeRoom returns an error if the placement group of the launch has no room for another instance in the zone.
func (w *World) placeRoom(l launch) *Failure {
	if l.group == nil || l.group.Strategy != "spread" {
		return nil
	}
	n, now := 0, w.cfg.Clock.Now()
	for _, i := range w.order {
		if i.Data.Placement.GroupID == l.group.ID && i.Zone == l.pool.Zone && i.State(now) != Terminated {
			n++
		}
	}
	if n < perSpread {
		return nil
	}
	return failf("InsufficientInstanceCapacity",
		"You have reached the limit of instances in this spread placement group in the Availability Zone %s.", l.pool.Zone)
}

// settlePlacement sets the placement group and the partition of a new instance. Unless the launch
// names a partition, it is the first of those with the fewest instances. Terminated instances that
// are still visible count.
func (w *World) settlePlacement(i *Instance, l launch) {
	if l.group == nil {
		return
	}
	i.Data.Placement.GroupID, i.Data.Placement.GroupName = l.group.ID, l.group.Name
	if l.group.Partitions == 0 || i.Data.Placement.Partition != 0 {
		return
	}
	fill := make([]int, l.group.Partitions)
	for _, other := range w.order {
		if p := other.Data.Placement; p.GroupID == l.group.ID && p.Partition > 0 {
			fill[p.Partition-1]++
		}
	}
	i.Data.Placement.Partition = slices.Index(fill, slices.Min(fill)) + 1
}
