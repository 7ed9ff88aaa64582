package pack

import "math"

// floor returns a price that no set of nodes for the pods of the opened nodes goes below: the linear relaxation over all
// pools, whatever their weight, with the daemons' share taken out of every shape.
//
// Classes that can share no shape are bounded apart, which is tighter than all at once. A shape is priced only for the
// classes that it can hold one pod of.
func (p *problem) floor(nodes []*opened) float64 {
	placed := make([]int, len(p.classes))
	for _, o := range nodes {
		for _, part := range o.share {
			placed[part.class] += part.n
		}
	}
	groups := newGroups(len(p.classes))
	for k, s := range p.shelves {
		for j := range s.pool.shapes {
			first := -1
			for i := range p.classes {
				if placed[i] == 0 || !p.held(i, k, j) {
					continue
				}
				if first < 0 {
					first = i
				}
				groups.join(first, i)
			}
		}
	}
	sum := 0.0
	for root := range p.classes {
		if groups.find(root) == root {
			sum += p.groupFloor(groups, root, placed)
		}
	}
	return sum
}

// held reports whether shape j of shelf k holds a pod of class i.
func (p *problem) held(i, k, j int) bool {
	f := &p.fits[i][k]
	return f.verdict.OK() && f.holds != nil && f.holds[j]
}

func (p *problem) groupFloor(groups groups, root int, placed []int) float64 {
	need := make([]float64, len(p.cols))
	for i, c := range p.classes {
		if groups.find(i) != root || placed[i] == 0 {
			continue
		}
		for r, v := range p.cols.scale(c.need) {
			need[r] += float64(v * float64(placed[i]))
		}
	}
	var rooms [][]float64
	var prices []float64
	for k, s := range p.shelves {
		for j, sh := range s.pool.shapes {
			price := math.Inf(1)
			for i := range p.classes {
				if placed[i] > 0 && groups.find(i) == root && p.held(i, k, j) {
					price = min(price, s.flavours[p.fits[i][k].flavour].price[j])
				}
			}
			if !math.IsInf(price, 1) {
				rooms = append(rooms, p.cols.scale(sh.room))
				prices = append(prices, max(price, 0))
			}
		}
	}
	if len(rooms) == 0 {
		return 0
	}
	cost, _ := relax(need, rooms, prices)
	return cost
}

// groups is a union-find over classes.
type groups []int

func newGroups(n int) groups {
	g := make(groups, n)
	for i := range g {
		g[i] = i
	}
	return g
}

func (g groups) find(i int) int {
	for g[i] != i {
		g[i] = g[g[i]]
		i = g[i]
	}
	return i
}

// join merges two groups; the lower number stays the root.
func (g groups) join(a, b int) {
	a, b = g.find(a), g.find(b)
	g[max(a, b)] = min(a, b)
}
