package view

import (
	"slices"
	"strings"
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
	// tiles are all tiles in the order of their IDs. shared is true if a caller of Tiles may have the list.
	tiles  []*Tile
	shared bool
	// last is the snapshot of the last round.
	last  *model.Snapshot
	fates map[string]Fate
	// outcome is the version of the decisions from which fates was computed.
	outcome uint64
	// typesAt is when the instance types were listed from which the tiles were computed.
	typesAt time.Time
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

// Changes are the tiles that a call of Update has added or replaced, and the IDs of the tiles that it has removed. Both are in
// the order of IDs.
type Changes struct {
	Tiles []*Tile
	Gone  []string
}

// Update computes the tiles of a snapshot. It returns the changes since the last call. If decisions, instance types and what
// commitments cover have not changed since then, it considers only the nodes that have changed. A new node can change what
// commitments cover on others.
func (f *Fleeter) Update(s *model.Snapshot, prices Prices, o decisions.Outcome) Changes {
	if f.known == nil {
		f.known = map[string]*known{}
	}
	same := f.last != nil && f.outcome == o.Version && f.typesAt.Equal(prices.typesAt) && f.last.Coverage() == s.Coverage()
	if f.fates == nil || f.outcome != o.Version {
		f.fates, f.outcome = FatesOf(o), o.Version
	}
	f.typesAt = prices.typesAt
	f.round++
	var out Changes
	if same {
		now, before := s.NodeChanges(f.last)
		for _, n := range now {
			f.update(n, prices, &out)
		}
		for _, n := range before {
			f.remove(n, &out)
		}
	} else {
		for _, n := range s.EachNode() {
			f.update(n, prices, &out)
		}
		for id, k := range f.known {
			if k.round != f.round {
				delete(f.known, id)
				out.Gone = append(out.Gone, id)
			}
		}
	}
	f.last = s
	slices.SortFunc(out.Tiles, byID)
	slices.Sort(out.Gone)
	f.merge(out)
	return out
}

// update replaces the tile of a node if the node, its price or the shown part of its fate has changed.
func (f *Fleeter) update(n *model.Node, prices Prices, out *Changes) {
	id := IDOf(n)
	k := f.known[id]
	price, fate := prices.Of(n), f.fates[n.Name]
	if k != nil && k.node == n && k.fate == fate.shown() && k.price.same(price) {
		k.round = f.round
		return
	}
	if k == nil {
		k = &known{}
		f.known[id] = k
	}
	*k = known{node: n, price: price, fate: fate.shown(), tile: newTile(n, price, fate, k), round: f.round}
	out.Tiles = append(out.Tiles, k.tile)
}

// remove removes the tile of a version of a node, unless it is now that of another version.
func (f *Fleeter) remove(n *model.Node, out *Changes) {
	id := IDOf(n)
	if k := f.known[id]; k != nil && k.node == n {
		delete(f.known, id)
		out.Gone = append(out.Gone, id)
	}
}

func byID(a, b *Tile) int { return strings.Compare(a.ID, b.ID) }

// merge applies the changes to the list of tiles. A list that a caller may have is not changed.
func (f *Fleeter) merge(c Changes) {
	if len(c.Tiles)+len(c.Gone) == 0 {
		return
	}
	if f.shared {
		f.tiles, f.shared = slices.Clone(f.tiles), false
	}
	var added []*Tile
	for _, t := range c.Tiles {
		if i, found := slices.BinarySearchFunc(f.tiles, t, byID); found {
			f.tiles[i] = t
		} else {
			added = append(added, t)
		}
	}
	if len(c.Gone) > 0 {
		f.tiles = slices.DeleteFunc(f.tiles, func(t *Tile) bool {
			_, gone := slices.BinarySearch(c.Gone, t.ID)
			return gone
		})
	}
	if len(added) > 0 {
		f.tiles = append(f.tiles, added...)
		slices.SortFunc(f.tiles, byID)
	}
}

// Len returns the number of tiles.
func (f *Fleeter) Len() int { return len(f.tiles) }

// Tiles returns all tiles in the order of their IDs. The list is shared and must not be changed.
func (f *Fleeter) Tiles() []*Tile {
	f.shared = true
	return f.tiles
}

// Strip returns the summary of the tiles. It does not set the fields that tiles do not determine: PodsPending,
// FloorPerHour, LastDecision, Leader and LeaderName.
func (f *Fleeter) Strip() Strip {
	out := Strip{}
	var price, list, spot float64
	managed, priced := 0, 0
	for _, tile := range f.tiles {
		t := &tile.sums
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
			if t.launched {
				out.Unpriced++
			}
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
	for _, n := range s.EachNode() {
		if r := n.Labels[corev1.LabelTopologyRegion]; r != "" && (region == "" || r < region) {
			region = r
		}
	}
	return region
}
