package verify

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// A seeker is a pod that comes and wants company.
type seeker struct {
	pod    *corev1.Pod
	terms  []*term
	values []string // of each term's domain
	site   *site
}

// A gathering is how far pods have arrived: for each affinity term, the pods that it
// looks at, by domain.
type gathering struct {
	terms map[string]*term
	count map[string]census
}

// company checks affinity: the pods that come must be able to arrive in some order, each
// finding the company it wants, or being the first of its kind anywhere.
func (c *checker) company(sites []*site) {
	waiting := c.seekers(sites)
	if len(waiting) == 0 {
		return
	}
	g := c.gather(sites, waiting)
	for len(waiting) > 0 {
		before := len(waiting)
		waiting = slices.DeleteFunc(waiting, func(s *seeker) bool {
			found := g.has(s)
			if found {
				c.arrive(g, s)
			}
			return found
		})
		if len(waiting) < before {
			continue
		}
		first := slices.IndexFunc(waiting, g.firstOfKind)
		if first < 0 {
			break
		}
		c.arrive(g, waiting[first])
		waiting = slices.Delete(waiting, first, first+1)
	}
	for _, s := range waiting {
		c.add(Violation{Rule: RuleAffinity, Node: s.site.name, Pod: nameOfPod(s.pod),
			Detail: "cannot find the pods that it wants to be with, in whatever order pods arrive"})
	}
}

// seekers returns the pods that come and want company. One whose domain is not settled
// is reported and left out.
func (c *checker) seekers(sites []*site) []*seeker {
	var out []*seeker
	for _, st := range sites {
		for _, p := range st.come {
			if terms := affinityOf(p); len(terms) > 0 {
				if s, ok := c.seek(st, p, terms); ok {
					out = append(out, s)
				}
			}
		}
	}
	return out
}

func (c *checker) seek(st *site, p *corev1.Pod, terms []*term) (*seeker, bool) {
	s := &seeker{pod: p, terms: terms, site: st}
	for _, t := range terms {
		values := c.domain(st, t.key)
		if v, bad := unsure(RuleAffinity, st, p, t.key, values); bad {
			c.add(v)
			return nil, false
		}
		s.values = append(s.values, values[0])
	}
	return s, true
}

// gather counts all pods but those that wait.
func (c *checker) gather(sites []*site, waiting []*seeker) *gathering {
	g := &gathering{terms: make(map[string]*term), count: make(map[string]census)}
	absent := make(map[*corev1.Pod]bool)
	for _, s := range waiting {
		absent[s.pod] = true
		for _, t := range s.terms {
			g.terms[t.text] = t
		}
	}
	present := func(st *site) [][]*corev1.Pod {
		come := slices.DeleteFunc(slices.Clone(st.come), func(p *corev1.Pod) bool { return absent[p] })
		return [][]*corev1.Pod{st.stay, come}
	}
	for text, t := range g.terms {
		g.count[text] = c.count(sites, t, present)
	}
	return g
}

// arrive counts s among those present.
func (c *checker) arrive(g *gathering, s *seeker) {
	for text, t := range g.terms {
		if t.matches(s.pod) {
			for _, d := range c.domain(s.site, t.key) {
				g.count[text][d]++
			}
		}
	}
}

// has reports whether all the company that s wants is there.
func (g *gathering) has(s *seeker) bool {
	for i, t := range s.terms {
		if g.count[t.text][s.values[i]] == 0 {
			return false
		}
	}
	return true
}

// firstOfKind reports whether s may come though nobody is there: it wants to be with its
// like, and there is none of them in any domain.
func (g *gathering) firstOfKind(s *seeker) bool {
	for _, t := range s.terms {
		if len(g.count[t.text]) > 0 || !t.matches(s.pod) {
			return false
		}
	}
	return true
}
