package verify

import "slices"

// A knot is constraints that have to do with each other, as they bind or look at the same pods that come, and the kinds of those.
type knot struct {
	constraints []*constraint
	kinds       []*kind
	about       map[*kind][]*constraint // that bind a kind or look at it
}

// knots returns the constraints that have to do with others.
func (c *checker) knots(cr *crowd) []knot {
	var all []*constraint
	about, of := make(map[*kind][]*constraint), make(map[*constraint][]*kind)
	tie := func(k *kind, con *constraint) {
		if k.demand != nil && !slices.Contains(about[k], con) {
			about[k] = append(about[k], con)
			of[con] = append(of[con], k)
		}
	}
	for _, k := range cr.kinds {
		if k.demand == nil {
			continue // none of them come
		}
		for _, con := range c.constraintsOf(cr, k) {
			if len(of[con]) == 0 {
				all = append(all, con)
				for _, other := range cr.matching(con.term) {
					tie(other, con)
				}
			}
			tie(k, con)
		}
	}
	var out []knot
	seen, met := make(map[*constraint]bool), make(map[*kind]bool)
	for _, first := range all {
		if seen[first] {
			continue
		}
		seen[first] = true
		n := knot{constraints: []*constraint{first}, about: about}
		for i := 0; i < len(n.constraints); i++ {
			for _, k := range of[n.constraints[i]] {
				if met[k] {
					continue
				}
				met[k] = true
				n.kinds = append(n.kinds, k)
				for _, con := range about[k] {
					if !seen[con] {
						seen[con] = true
						n.constraints = append(n.constraints, con)
					}
				}
			}
		}
		if len(n.constraints) > 1 {
			out = append(out, n)
		}
	}
	return out
}

// arrivalsOf returns the arrivals of all pods of the knot, none of whom is there yet.
func (c *checker) arrivalsOf(cr *crowd, n knot) []*arrival {
	tallies := make(map[*constraint]*tally, len(n.constraints))
	for _, con := range n.constraints {
		tallies[con] = c.tallyOf(cr, con)
	}
	var out []*arrival
	for _, k := range n.kinds {
		for _, g := range k.groups {
			if len(g.come) == 0 {
				continue
			}
			a := &arrival{group: g}
			for _, con := range k.constraints {
				for _, d := range g.site.domain(con.key) {
					a.own = append(a.own, seat{tally: tallies[con], at: tallies[con].place(d)})
				}
			}
			for _, con := range n.about[k] {
				open, sure := c.counted(con, g.site)
				if !con.matches(k.namespace, k.labels) || !open && !sure {
					continue
				}
				for _, d := range g.site.domain(con.key) {
					a.adds = append(a.adds, seat{tally: tallies[con], at: tallies[con].place(d), sure: sure})
				}
			}
			out = append(out, a)
		}
	}
	return out
}

// tallyOf counts the pods that are there before any come.
func (c *checker) tallyOf(cr *crowd, con *constraint) *tally {
	t := &tally{constraint: con, index: make(map[string]int)}
	domains := 0
	for _, st := range cr.sites {
		if !con.reach[st.index] {
			continue
		}
		if i := t.place(st.domain(con.key)[0]); t.sure[i] < 0 {
			t.sure[i] = 0
			domains++
		}
	}
	t.few = domains < con.minDomains
	for _, k := range cr.matching(con.term) {
		for _, g := range k.groups {
			open, sure := c.counted(con, g.site)
			if !open && !sure {
				continue
			}
			for _, d := range g.site.domain(con.key) {
				i := t.place(d)
				t.here[i] += g.lasting + len(g.maybe)
				if sure {
					t.sure[i] += g.lasting
				}
			}
		}
	}
	return t
}

// place returns where the domain is in the lists.
func (t *tally) place(domain string) int {
	i, ok := t.index[domain]
	if !ok {
		i = len(t.index)
		t.index[domain] = i
		t.here, t.sure = append(t.here, 0), append(t.sure, -1)
	}
	return i
}
