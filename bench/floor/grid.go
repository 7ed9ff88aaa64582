package floor

// A grid has the most valuable set of items for every amount of cpu and memory up to a width and a height, in cells.
type grid struct {
	width, height int
	worth         []float64
	// taken has a bit for each cell, for each unit of each item. The bit is set if the best set among this unit and
	// those before it contains this unit.
	taken [][]uint64
}

// include makes the grid large enough for the bin.
func (g *grid) include(b bin) { g.width, g.height = max(g.width, b.cpu), max(g.height, b.memory) }

// search returns the most valuable set for each bin of the grid, and the maximum value per dollar.
func (k *configuration) search(g *grid, y []float64) (sets []set, over float64) {
	var units []int // the item of each unit
	for i, it := range k.items {
		for range it.count {
			if y[i] > 0 && it.cpu <= g.width && it.memory <= g.height {
				units = append(units, i)
			}
		}
	}
	rows := g.height + 1
	if g.worth == nil {
		g.worth = make([]float64, (g.width+1)*rows)
	}
	clear(g.worth)
	for len(g.taken) < len(units) {
		g.taken = append(g.taken, make([]uint64, (len(g.worth)+63)/64))
	}
	for n, i := range units {
		clear(g.taken[n])
		g.offer(k.items[i], y[i], g.taken[n])
	}
	for _, b := range k.bins {
		if b.cpu > g.width || b.memory > g.height {
			continue
		}
		over = max(over, g.worth[b.cpu*rows+b.memory]/b.price)
		sets = append(sets, set{b.price, k.collect(g, units, b)})
	}
	return sets, over
}

// offer adds one unit of an item to the sets whose value increases. It iterates from the last cell, so that the unit is
// added only once to each set.
func (g *grid) offer(it item, worth float64, taken []uint64) {
	rows := g.height + 1
	for c := g.width; c >= it.cpu; c-- {
		with, without := g.worth[c*rows:(c+1)*rows], g.worth[(c-it.cpu)*rows:(c-it.cpu+1)*rows]
		for m := g.height; m >= it.memory; m-- {
			if v := without[m-it.memory] + worth; v > with[m] {
				with[m] = v
				at := c*rows + m
				taken[at/64] |= 1 << (at % 64)
			}
		}
	}
}

// collect returns the items of the best set on the bin.
func (k *configuration) collect(g *grid, units []int, b bin) []entry {
	var out []entry
	c, m := b.cpu, b.memory
	for n := len(units) - 1; n >= 0; n-- {
		at := c*(g.height+1) + m
		if g.taken[n][at/64]>>(at%64)&1 == 0 {
			continue
		}
		i := units[n]
		if last := len(out) - 1; last >= 0 && out[last].item == i {
			out[last].count++
		} else {
			out = append(out, entry{i, 1})
		}
		c, m = c-k.items[i].cpu, m-k.items[i].memory
	}
	return out
}
