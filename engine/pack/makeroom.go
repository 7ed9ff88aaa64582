package pack

import (
	"cmp"
	"slices"

	"github.com/karpenter-go/karpenter/engine/model"
)

// Bounds of the search for room among pods that are on their way.
const (
	// maxStrays is how many pods it is done for in one plan: more than a few are better off on nodes of their own.
	maxStrays = 64
	// maxHosts is how many nodes are tried for one pod, those first that lack the least.
	maxHosts = 64
	// maxMoves is how many pods go elsewhere for one that needs their room.
	maxMoves = 3
)

// A kept pod is on its way to the node that it was promised, and to no one does it matter whether it gets there or elsewhere.
type kept struct {
	class *class
	pod   *model.Pod
}

// aloof reports whether pods of c ask for nothing but room, labels and tolerated taints, and nobody asks anything about them.
func (c *class) aloof() bool {
	last := &c.stages[len(c.stages)-1]
	return c.free && len(c.members) == 0 && len(c.ports) == 0 && len(c.attach) == 0 &&
		len(last.wide) == 0 && len(last.host) == 0 && last.wary == nil && last.escort == nil
}

// strays reports whether few pods wait for a place beside many that are on their way to theirs. Those have mostly lost their
// room to others that the scheduler put there, whose own room is free now: in pieces, until somebody moves.
func (p *problem) strays() bool {
	left, onTheirWay := 0, 0
	for _, c := range p.classes {
		onTheirWay += len(c.promised)
		if c.refusal.OK() && c.why == nil {
			left += c.left()
		}
	}
	return left > 0 && left <= min(maxStrays, onTheirWay) && len(p.moving) == 0
}

// makeRoom places pods of c for which no node has room left where pods that are on their way there can go elsewhere. It
// prefers to move pods of nodes that are not up yet, for those are not about to be bound, and then small ones.
func (p *problem) makeRoom(c *class, s *stage) {
	if !p.shuffles || !c.aloof() {
		return
	}
	for c.left() > 0 {
		hosts := slices.DeleteFunc(slices.Clone(p.targets), func(t *target) bool { return len(t.kept) == 0 })
		slices.SortStableFunc(hosts, func(a, b *target) int {
			return cmp.Or(cmp.Compare(late(a), late(b)), cmp.Compare(p.lack(c, a), p.lack(c, b)))
		})
		hosts = hosts[:min(len(hosts), maxHosts)]
		at := slices.IndexFunc(hosts, func(t *target) bool { return p.clear(c, s, t) })
		if at < 0 {
			return
		}
		pods := c.take(1)
		p.settle(c, s, hosts[at], pods)
		hosts[at].pods = append(hosts[at].pods, pods...)
		p.order = append(p.order, step{pod: pods[0], free: c.free})
	}
}

// late is 0 for a node that is not up yet, else 1.
func late(t *target) int {
	if t.node.Registered {
		return 1
	}
	return 0
}

// lack is what t's room lacks for a pod of c, as a share of the pod, the scarcest resource counting; 0 if it lacks nothing.
func (p *problem) lack(c *class, t *target) float64 {
	most := 0.0
	for i, amount := range c.need.amount {
		if short := amount - t.room[i]; amount > 0 && short > 0 {
			most = max(most, float64(short)/float64(amount))
		}
	}
	return most
}

// clear moves kept pods away from t until a pod of c has room there, and reports whether it has; if not, nobody has moved.
func (p *problem) clear(c *class, s *stage, t *target) bool {
	if _, refused := s.tolerance.refuses(t.node.Taints); refused || !p.admits(s.labels, t) {
		return false
	}
	type moved struct {
		kept
		to *target
	}
	var moves []moved
	back := func() {
		for _, m := range slices.Backward(moves) {
			p.move(m.kept, m.to, t)
		}
	}
	for p.lack(c, t) > 0 {
		k, to := p.mover(c, t)
		if to == nil || len(moves) == maxMoves {
			back()
			return false
		}
		p.move(k, t, to)
		moves = append(moves, moved{k, to})
	}
	if p.room(c, s, t, c.pods[c.next:c.next+1]) == 0 { // for a reason other than room
		back()
		return false
	}
	return true
}

// mover returns the kept pod of t whose going helps a pod of c most, the smallest of several that help alike, and the node that
// has room for it; nil if there is none.
func (p *problem) mover(c *class, t *target) (k kept, to *target) {
	after, size := p.lack(c, t), 0.0
	tried := map[*class]bool{c: true} // to move one of its own kind helps nobody
	for _, candidate := range t.kept {
		if tried[candidate.class] {
			continue
		}
		tried[candidate.class] = true
		lack, weight := 0.0, 0.0
		for i, amount := range c.need.amount {
			if amount > 0 {
				given := candidate.class.need.amount[i]
				weight = max(weight, float64(given)/float64(amount))
				lack = max(lack, float64(amount-t.room[i]-given)/float64(amount))
			}
		}
		if lack > after || lack == after && (to == nil || weight >= size) {
			continue
		}
		if u := p.spot(candidate, t); u != nil {
			k, to, after, size = candidate, u, lack, weight
		}
	}
	return k, to
}

// spot returns the node with the least room that has enough for the kept pod, other than from; nil if there is none.
func (p *problem) spot(k kept, from *target) *target {
	var best *target
	least := 0.0
	last := &k.class.stages[len(k.class.stages)-1]
	for _, t := range p.targets {
		if t == from || p.room(k.class, last, t, []*model.Pod{k.pod}) == 0 {
			continue
		}
		over := 0.0
		for i, amount := range k.class.need.amount {
			if amount > 0 {
				over = max(over, float64(t.room[i])/float64(amount))
			}
		}
		if best == nil || over < least {
			best, least = t, over
		}
	}
	return best
}

// move sends a kept pod to another node than the one it was on its way to.
func (p *problem) move(k kept, from, to *target) {
	for i, amount := range k.class.need.amount {
		from.room[i] += amount
		to.room[i] -= amount
	}
	is := func(o kept) bool { return o.pod == k.pod }
	from.kept = slices.DeleteFunc(from.kept, is)
	to.kept = append(to.kept, k)
	from.pods = slices.DeleteFunc(from.pods, func(o *model.Pod) bool { return o == k.pod })
	to.pods = append(to.pods, k.pod)
}
