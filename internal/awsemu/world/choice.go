package world

import (
	"cmp"
	"slices"
)

// orderPools sorts the pools of a fleet in the order in which they are tried:
//
//   - lowest-price and diversified: by price.
//   - prioritized: by priority, then price.
//   - price-capacity-optimized: pools with room for all wanted instances first,
//     then by price.
//   - capacity-optimized: by room, descending, then by price.
//   - capacity-optimized-prioritized: pools with room for all wanted instances
//     first, then by priority, then by price.
//
// The room of an empty pool counts as unlimited, because a fleet tries it, as on EC2. The error is how a client learns that
// the pool is empty. A pool that failed a check has price 0, which determines when it is tried and reported. Pools that are
// equal by the rules of the strategy are sorted by priority, then by type and zone, so that the choice is repeatable.
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

// knownRoom returns the room of the pool for the choice: unlimited if the pool is empty, see orderPools.
func (o option) knownRoom() int {
	if o.room == 0 {
		return unlimited
	}
	return o.room
}

// compareEnough sorts the pools with room for want instances, by knownRoom, before the others.
func compareEnough(a, b option, want int) int {
	enough := func(o option) int {
		if o.knownRoom() >= want {
			return 0
		}
		return 1
	}
	return cmp.Compare(enough(a), enough(b))
}

// comparePriority sorts by ascending priority. Pools without a priority are last.
func comparePriority(a, b option) int {
	if a.override.HasPriority != b.override.HasPriority {
		if a.override.HasPriority {
			return -1
		}
		return 1
	}
	return cmp.Compare(a.override.Priority, b.override.Priority)
}
