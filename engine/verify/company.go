package verify

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// A seeker is pods of one kind that come to one node and want company.
type seeker struct {
	group   *group
	wish    *gathering
	domains []domain // of each term
	arrived bool
}

// A domain is the nodes with one value of a label.
type domain struct{ key, value string }

// surely returns the domain that the node will be in. If its value is open but there will be one, that is a domain of its own:
// nobody can be sure of those who are there but pods on the same node.
func (st *site) surely(key string) (domain, bool) {
	values := st.domain(key)
	switch {
	case len(values) == 0:
		return domain{}, false
	case len(values) == 1:
		return domain{key, values[0]}, true
	}
	for _, p := range st.places {
		if _, ok := p.node.Labels[key]; !ok {
			return domain{}, false
		}
	}
	return domain{key, "as of " + st.name}, true
}

// A doubt is a daemon's pod that may be on the node, or not.
type doubt struct {
	crewman
	site *site
}

// A gathering is how far the pods that one wish is about have arrived. As kube-scheduler
// has it, they are the pods that all terms of the wish match.
type gathering struct {
	terms []*term
	// count holds those whose domain is known, by domain; sum is how many there are at all.
	count map[domain]int
	sum   int
	// doubtful are pods of daemons that may be there, or not.
	doubtful []doubt
	// waiting are the seekers with this wish, by each domain where they seek.
	waiting map[domain][]*seeker
}

// company checks affinity: the pods that come must be able to arrive in some order, each
// finding the company it wants, or being the first of its kind anywhere.
func (c *checker) company(cr *crowd) {
	all := c.seekers(cr)
	if len(all) == 0 {
		return
	}
	absent := make(map[*group]bool, len(all))
	for _, s := range all {
		absent[s.group] = true
	}
	for _, st := range cr.sites {
		for _, g := range st.groups {
			for _, w := range g.kind.gatherings {
				for _, m := range g.maybe {
					w.doubtful = append(w.doubtful, doubt{m, st})
				}
			}
			n := g.stay
			if !absent[g] {
				n += len(g.come)
			}
			c.arrive(g, n)
		}
	}
	c.inOrder(all)
	// Whoever may be the first stays so only until one of the kind has come, so one way
	// through all seekers finds the firsts; the others come when their company has.
	for _, s := range all {
		if s.finds() || s.firstOfKind(c) {
			s.come(c)
		}
	}
	c.settle(slices.Clone(all))
	for _, s := range all {
		if s.arrived {
			continue
		}
		for _, p := range s.group.come {
			c.add(s.alone(p))
		}
	}
}

// alone says that a pod of s finds no company.
func (s *seeker) alone(pod *corev1.Pod) Violation {
	site := s.group.site
	for _, t := range s.wish.terms {
		if values := site.domain(t.key); len(values) > 1 {
			return unsure(RuleAffinity, site, pod, t.key, values)
		}
	}
	return Violation{Rule: RuleAffinity, Node: site.name, Pod: nameOfPod(pod),
		Detail: "cannot find the pods that it wants to be with, in whatever order pods arrive"}
}

// inOrder sorts seekers as the plan would have the first of their pods placed: where two could
// be the first of a kind, it is for the plan to say which is.
func (c *checker) inOrder(all []*seeker) {
	at := make(map[*corev1.Pod]int, len(c.plan.Order))
	for i, p := range c.plan.Order {
		at[p.Object] = i
	}
	first := make(map[*seeker]int, len(all))
	for _, s := range all {
		first[s] = len(at)
		for _, p := range s.group.come {
			first[s] = min(first[s], at[p])
		}
	}
	slices.SortStableFunc(all, func(a, b *seeker) int { return first[a] - first[b] })
}

// settle lets all arrive who find their company, and those who follow them.
func (c *checker) settle(queue []*seeker) {
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		if !s.arrived && s.finds() {
			queue = append(queue, s.come(c)...)
		}
	}
}

// seekers returns the pods that come and want company, in the order of sites. Those whose
// domain is not settled are reported and left out.
func (c *checker) seekers(cr *crowd) []*seeker {
	var out []*seeker
	known := make(map[string]*gathering)
	for _, st := range cr.sites {
		for _, g := range st.groups {
			m := g.kind.manner
			if len(g.come) == 0 || len(m.near) == 0 {
				continue
			}
			wish, ok := known[m.text]
			if !ok {
				wish = newGathering(cr, m.near)
				known[m.text] = wish
			}
			if s, ok := c.seek(g, wish); ok {
				out = append(out, s)
			}
		}
	}
	return out
}

// newGathering returns the gathering for a wish, and tells the kinds that it is about.
func newGathering(cr *crowd, terms []*term) *gathering {
	w := &gathering{terms: terms, count: make(map[domain]int), waiting: make(map[domain][]*seeker)}
	for _, k := range cr.matching(terms[0]) {
		if !slices.ContainsFunc(terms, func(t *term) bool { return !t.matches(k.namespace, k.labels) }) {
			k.gatherings = append(k.gatherings, w)
		}
	}
	return w
}

func (c *checker) seek(g *group, wish *gathering) (*seeker, bool) {
	s := &seeker{group: g, wish: wish}
	for _, t := range wish.terms {
		d, known := g.site.surely(t.key)
		if !known {
			for _, p := range g.come {
				c.add(unsure(RuleAffinity, g.site, p, t.key, g.site.domain(t.key)))
			}
			return nil, false
		}
		s.domains = append(s.domains, d)
	}
	for _, d := range s.domains {
		wish.waiting[d] = append(wish.waiting[d], s)
	}
	return s, true
}

// come has the pods of s arrive and returns those who may find company by that.
func (s *seeker) come(c *checker) []*seeker {
	s.arrived = true
	return c.arrive(s.group, len(s.group.come))
}

// arrive counts n pods of g where they are wished for, and returns the seekers to whom
// that may make a difference.
func (c *checker) arrive(g *group, n int) []*seeker {
	if n == 0 {
		return nil
	}
	var woken []*seeker
	for _, w := range g.kind.gatherings {
		for _, t := range w.terms {
			if len(g.site.domain(t.key)) > 0 {
				w.sum += n
			}
			d, known := g.site.surely(t.key)
			if !known {
				continue
			}
			if w.count[d] == 0 {
				woken = append(woken, w.waiting[d]...)
			}
			w.count[d] += n
		}
	}
	return woken
}

// finds reports whether all the company that s wants is there.
func (s *seeker) finds() bool {
	for _, d := range s.domains {
		if s.wish.count[d] == 0 {
			return false
		}
	}
	return true
}

// firstOfKind reports whether s may come though nobody is there: it wants to be with its
// like, and there is none of them in any domain. Those who may be there, or not, must be in
// its own: if they are, it has company. Or they are there only if some of those are.
func (s *seeker) firstOfKind(c *checker) bool {
	return s.wish.sum == 0 && slices.Contains(s.group.kind.gatherings, s.wish) &&
		!slices.ContainsFunc(s.wish.doubtful, func(d doubt) bool {
			return !s.near(d.site) && !slices.ContainsFunc(s.wish.doubtful, func(o doubt) bool {
				return s.near(o.site) && c.allOrNone(d, o)
			})
		})
}

// near reports whether the node is where s is, by all of its terms.
func (s *seeker) near(st *site) bool {
	for i, t := range s.wish.terms {
		if d, known := st.surely(t.key); !known || d != s.domains[i] {
			return false
		}
	}
	return true
}

// allOrNone reports whether two pods of a daemon are either both there or none of them:
// nothing but their own anti-affinity may keep them off, and by all its terms they are in one
// domain, from which the first of them would keep all others away.
func (c *checker) allOrNone(a, b doubt) bool {
	if a.hand != b.hand || !a.steady || !b.steady {
		return false
	}
	return !slices.ContainsFunc(c.manners.of(a.hand.pod).apart, func(t *term) bool {
		in, known := a.site.surely(t.key)
		other, too := b.site.surely(t.key)
		return !known || !too || in != other || t.matches(a.hand.pod.Namespace, a.hand.pod.Labels)
	})
}
