package pack

import "slices"

// openTier opens nodes on the shelves for the lots that fit there. Where limits leave out pods of a higher priority than some
// that were served, it begins again and serves priority after priority.
func (p *problem) openTier(shelves []*shelf) {
	lots := p.waiting(shelves)
	t := newTier(p, shelves, lots)
	if t == nil {
		return
	}
	nodes := t.improve(t.correct(t.fill()))
	if unfair(lots) {
		for _, o := range nodes {
			t.move(o, -1)
		}
		nodes = nil
		for len(lots) > 0 {
			band := lots[0].class.priority // classes, and so lots, come with the highest first
			n := slices.IndexFunc(lots, func(l *lot) bool { return l.class.priority != band })
			if n < 0 {
				n = len(lots)
			}
			if t := newTier(p, shelves, lots[:n]); t != nil {
				nodes = append(nodes, t.fill()...)
			}
			lots = lots[n:]
		}
	}
	p.nodes = append(p.nodes, nodes...)
}

// waiting returns the lots with units left that one of the shelves takes, highest priority first.
func (p *problem) waiting(shelves []*shelf) []*lot {
	var lots []*lot
	for _, l := range p.lots {
		if l.left() > 0 && slices.ContainsFunc(shelves, func(s *shelf) bool { return l.fit.on[s.index].flavour != nil }) {
			lots = append(lots, l)
		}
	}
	slices.SortStableFunc(lots, func(a, b *lot) int { return int(b.class.priority) - int(a.class.priority) })
	return lots
}

// unfair reports whether some lot was served though one of higher priority was not to the end.
func unfair(lots []*lot) bool {
	for i, l := range lots {
		if l.left() == 0 {
			continue
		}
		return slices.ContainsFunc(lots[i:], func(o *lot) bool {
			return o.class.priority < l.class.priority && o.next > 0
		})
	}
	return false
}
