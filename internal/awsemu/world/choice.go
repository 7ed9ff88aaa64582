package world

import (
	"cmp"
	"slices"
)

// orderPools sorts the pools of a fleet by the order in which they are tried.
//
//   - lowest-price: by price.
//   - prioritized: by priority, then price.
//   - price-capacity-optimized: pools known to hold all that is wanted first,
//     then by price.
//   - capacity-optimized: the roomiest first, then by price.
//   - capacity-optimized-prioritized: by room as far as it matters (enough or
//     not), then by priority, then price.
//
// A pool that is empty counts as unknown, not as full: a fleet finds out by
// trying it, as on EC2, where the error is what tells a client about it. Pools
// that fail a check are tried, and reported, where their price (0) puts them.
// Equal pools go by type and zone, so the choice is repeatable.
func orderPools(options []option, strategy string, want int) {
	slices.SortStableFunc(options, func(a, b option) int {
		var first int
		switch strategy {
		case "prioritized", "capacity-optimized-prioritized":
			first = comparePriority(a, b)
		case "capacity-optimized":
			first = cmp.Compare(b.knownRoom(), a.knownRoom())
		}
		if strategy == "price-capacity-optimized" || strategy == "capacity-optimized-prioritized" {
			first = cmp.Or(compareEnough(a, b, want), first)
		}
		return cmp.Or(first,
			cmp.Compare(a.price, b.price),
			comparePriority(a, b),
			cmp.Compare(a.launch.pool.Type, b.launch.pool.Type),
			cmp.Compare(a.launch.pool.Zone, b.launch.pool.Zone))
	})
}

// knownRoom is the room as the fleet believes it to be.
func (o option) knownRoom() int {
	if o.room == 0 {
		return unlimited
	}
	return o.room
}

// compareEnough puts pools that hold all that is wanted first.
func compareEnough(a, b option, want int) int {
	enough := func(o option) int {
		if o.knownRoom() >= want {
			return 0
		}
		return 1
	}
	return cmp.Compare(enough(a), enough(b))
}

// comparePriority puts lower priorities first, and none last.
func comparePriority(a, b option) int {
	if a.override.HasPriority != b.override.HasPriority {
		if a.override.HasPriority {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.override.Priority, b.override.Priority)
}
