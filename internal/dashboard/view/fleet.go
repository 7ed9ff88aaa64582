package view

import (
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/decisions"
)

// createdAt returns the creation time of the claim, or that of the node if there is no claim.
func createdAt(n *model.Node) time.Time {
	if n.Claim != nil {
		return n.Claim.CreationTimestamp.UTC()
	}
	return n.Object.CreationTimestamp.UTC()
}

// A Fleeter stores the tiles of a fleet. It computes only the tiles of nodes that have changed. It must not be
// used concurrently.
type Fleeter struct {
	known map[string]*known
	tiles []*Tile // in the order of their IDs; nil if they must be computed
	fates map[string]Fate
	// outcome is the version of the decisions from which fates was computed.
	outcome uint64
	// edition identifies the prices from which the tiles were computed.
	edition *edition
	round   uint64
}

// A known is a tile, and the values from which it was computed.
type known struct {
	node  *model.Node
	price Price
	fate  shown
	tile  *Tile
	round uint64
}

// Changes are the tiles that an Update has computed, and the IDs of the tiles that it has removed.
type Changes struct {
	Tiles []*Tile
	Gone  []string
}

// Update computes the tiles of a snapshot. It returns the changes since the last call.
func (f *Fleeter) Update(s *model.Snapshot, prices Prices, o decisions.Outcome) Changes {
	if f.known == nil {
		f.known = map[string]*known{}
	}
	same := f.fates != nil && f.outcome == o.Version && f.edition == prices.edition
	if f.fates == nil || f.outcome != o.Version {
		f.fates, f.outcome = FatesOf(o), o.Version
	}
	f.edition = prices.edition
	f.round++
	var out Changes
	for n := range s.EachNode() {
		id := IDOf(n)
		k := f.known[id]
		if same && k != nil && k.node == n {
			k.round = f.round
			continue
		}
		price, fate := prices.Of(n), f.fates[n.Name]
		if k != nil && k.node == n && k.fate == fate.shown() && k.price.same(price) {
			k.round = f.round
			continue
		}
		if k == nil {
			k = &known{}
			f.known[id] = k
			f.tiles = nil
		}
		*k = known{node: n, price: price, fate: fate.shown(), tile: NewTile(n, price, fate), round: f.round}
		out.Tiles = append(out.Tiles, k.tile)
	}
	for id, k := range f.known {
		if k.round != f.round {
			delete(f.known, id)
			out.Gone = append(out.Gone, id)
		}
	}
	slices.Sort(out.Gone)
	if len(out.Tiles)+len(out.Gone) > 0 {
		f.tiles = nil
	}
	slices.SortFunc(out.Tiles, byID)
	return out
}

func byID(a, b *Tile) int {
	switch {
	case a.ID < b.ID:
		return -1
	case a.ID > b.ID:
		return 1
	}
	return 0
}

// Tiles returns all tiles in the order of their IDs. The list is shared and must not be changed.
func (f *Fleeter) Tiles() []*Tile {
	if f.tiles == nil {
		f.tiles = make([]*Tile, 0, len(f.known))
		for k := range maps.Values(f.known) {
			f.tiles = append(f.tiles, k.tile)
		}
		slices.SortFunc(f.tiles, byID)
	}
	return f.tiles
}

// Strip returns the summary of the tiles. Fields that no tile has are not set.
func (f *Fleeter) Strip() Strip {
	out := Strip{}
	var price, list, spot float64
	managed, priced := 0, 0
	for _, k := range f.known {
		t := &k.tile.sums
		out.Nodes++
		out.PodsBound += t.bound
		if t.coming {
			out.NodesComing++
			out.Coming.add(t.allocatable)
		} else {
			out.Allocatable.add(t.allocatable)
			out.Requested.add(t.requested)
		}
		if !t.managed {
			continue
		}
		managed++
		if !t.priced {
			out.Unpriced++
			continue
		}
		priced++
		price += t.price
		list += t.list
		if t.spot {
			spot += t.price
		}
	}
	if priced > 0 || managed == 0 {
		price, list = round(price), round(list)
		out.DollarsPerHour, out.ListPerHour = &price, &list
	}
	if price > 0 {
		share := round(spot / price)
		out.SpotShare = &share
	}
	out.Requested.CPU, out.Allocatable.CPU, out.Coming.CPU = round(out.Requested.CPU), round(out.Allocatable.CPU), round(out.Coming.CPU)
	return out
}

// RegionOf returns the region of the nodes, the first by name if there are several, empty if no node has one.
func RegionOf(s *model.Snapshot) string {
	region := ""
	for n := range s.EachNode() {
		if r := n.Labels[corev1.LabelTopologyRegion]; r != "" && (region == "" || r < region) {
			region = r
		}
	}
	return region
}
