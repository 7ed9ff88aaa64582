package pack

import "slices"

const (
	// maxYields is how many nodes come from another pool for one pod that only theirs is left for.
	maxYields = 8
	// maxAsks is how many nodes are asked for all pods together.
	maxAsks = 256
)

// A yielded node is one of the plan, the at-th, as it was and as it has become.
type yielded struct {
	at      int
	was, is *opened
}

// makeWay has planned nodes come from another pool whose pods do not mind, until the limits of their own leave a place for the next
// pods of c, and reports whether they do; if not, all is as it was. Pods are worth more than the weights of pools and than a
// node that is a little dearer: those of c have no place otherwise.
func (r *repairer) makeWay(c *class) bool {
	wanted := r.limited(c)
	if len(wanted) == 0 || len(wanted) == len(r.shelves) {
		return false
	}
	var gone []yielded
	for i := 0; i < len(r.nodes) && len(gone) < maxYields && r.asks > 0; i++ {
		o := r.nodes[i]
		if !slices.Contains(wanted, o.shelf) || !r.movable(o) {
			continue
		}
		r.asks--
		to := r.elsewhere(o, r.loads[i].need, wanted)
		if to == nil {
			continue
		}
		gone = append(gone, yielded{at: i, was: o, is: to})
		r.replace(i, to)
		if r.serve(c) {
			r.takeBack(gone)
			return true
		}
	}
	for _, y := range slices.Backward(gone) {
		r.replace(y.at, y.was)
	}
	return false
}

// takeBack has those nodes be what they were that the limits of their pools allow again: to make way for one pod, more may have left
// than had to.
func (r *repairer) takeBack(gone []yielded) {
	for _, y := range gone {
		if left, _ := y.was.shelf.pool.leaves(y.was.takes(), nil); left > 0 && r.nodes[y.at] == y.is {
			r.replace(y.at, y.was)
		}
	}
}

// limited returns the shelves of pools with limits that have nodes for pods of c.
func (r *repairer) limited(c *class) (out []*shelf) {
	for i := range c.stages {
		s := &c.stages[i]
		for _, ch := range r.choices(c, s) {
			l := r.lotFor(c, s, ch)
			for _, sh := range r.shelves {
				if l.fit.on[sh.index].flavour != nil && len(sh.pool.remaining) > 0 && !slices.Contains(out, sh) {
					out = append(out, sh)
				}
			}
		}
	}
	return out
}

// movable reports whether nobody on the node, its daemons included, asks anything about others, or is asked about, and it costs
// something: a reservation is not given up.
func (r *repairer) movable(o *opened) bool {
	if o.shelf.pool.shapes[o.shape].reserved != nil || o.picky() || len(r.hands) > 0 {
		return false
	}
	return !slices.ContainsFunc(o.share, func(part portion) bool {
		l := part.lot
		return l.unit > 1 || !l.class.free || len(l.rules)+len(l.members)+len(l.class.members)+len(l.stage.wide)+len(l.stage.host) > 0
	})
}

// elsewhere returns the node as a shelf other than those can launch it, in the pool of most weight, there for the least; nil if none
// can.
func (r *repairer) elsewhere(o *opened, need []int64, but []*shelf) (best *opened) {
	for _, sh := range r.shelves {
		if best != nil && sh.pool.Weight < best.shelf.pool.Weight {
			break
		}
		if slices.Contains(but, sh) {
			continue
		}
		if to := r.from(sh, o, need); to != nil && (best == nil || to.price < best.price) {
			best = to
		}
	}
	return best
}

// from returns the node as the shelf can launch it at the lowest price; nil if it cannot.
func (r *repairer) from(sh *shelf, o *opened, need []int64) *opened {
	fl := o.share[0].lot.fit.on[sh.index].flavour
	for _, part := range o.share[1:] {
		on := part.lot.fit.on[sh.index].flavour
		if fl == nil || on == nil {
			return nil
		}
		fl = sh.join(fl, on)
	}
	if fl == nil || !fl.some {
		return nil
	}
	if _, enough := r.enough(sh, fl, need, o.cargo, nil); !enough {
		return nil
	}
	to := &opened{shelf: sh, flavour: fl, share: slices.Clone(o.share), cargo: o.cargo, fee: o.fee}
	to.shape = to.cheapest(-1, nil, need, func(j int) bool {
		count, _ := sh.pool.affords(sh.pool.shapes[j])
		return count > 0
	})
	if to.shape < 0 {
		return nil
	}
	to.toll = r.toll(to, need)
	to.price = fl.price[to.shape] + to.fee
	return to
}

// replace has the i-th planned node be that one, and the limits paid for it instead.
func (r *repairer) replace(i int, o *opened) {
	was := r.nodes[i]
	was.shelf.pool.debit(was, -1)
	o.shelf.pool.debit(o, 1)
	r.nodes[i], r.loads[i] = o, r.loadOf(o)
	if len(r.groups) > 0 {
		r.recount()
	}
}
