package verify

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// neighbours checks what pods ask of each other, in the cluster as the plan leaves it:
// spread, affinity and anti-affinity, also that of pods which run already.
func (c *checker) neighbours() {
	if !c.sociable {
		return
	}
	sites := c.sites()
	c.spreads(sites)
	c.apart(sites)
	c.company(sites)
}

// A census counts the pods that a term looks at, by domain.
type census map[string]int

// count takes the census of t. A node whose domain is open counts in each that it may
// become.
func (c *checker) count(sites []*site, t *term, who func(*site) [][]*corev1.Pod) census {
	out := make(census)
	for _, st := range sites {
		n := 0
		for _, pods := range who(st) {
			for _, p := range pods {
				if t.matches(p) {
					n++
				}
			}
		}
		if n == 0 {
			continue
		}
		for _, d := range c.domain(st, t.key) {
			out[d] += n
		}
	}
	return out
}

func everybody(st *site) [][]*corev1.Pod { return [][]*corev1.Pod{st.stay, st.come} }

// apart checks anti-affinity: that of the pods that come, and that of pods that stay
// against the ones that come.
func (c *checker) apart(sites []*site) {
	known := make(map[string]census)
	for _, st := range sites {
		for _, p := range st.come {
			for _, t := range antiAffinityOf(p) {
				if known[t.text] == nil {
					known[t.text] = c.count(sites, t, everybody)
				}
				self := 0
				if t.matches(p) {
					self = 1
				}
				for _, d := range c.domain(st, t.key) {
					if known[t.text][d] > self {
						c.add(Violation{Rule: RuleAntiAffinity, Node: st.name, Pod: nameOfPod(p),
							Detail: fmt.Sprintf("pods it wants to be apart from share %s %q", t.key, d)})
					}
				}
			}
		}
	}

	// Of those that stay only the domains matter where each term forbids company.
	terms, closed := make(map[string]*term), make(map[string]map[string]string)
	var order []string
	for _, st := range sites {
		for _, p := range st.stay {
			for _, t := range antiAffinityOf(p) {
				if terms[t.text] == nil {
					terms[t.text], closed[t.text] = t, make(map[string]string)
					order = append(order, t.text)
				}
				for _, d := range c.domain(st, t.key) {
					closed[t.text][d] = nameOfPod(p)
				}
			}
		}
	}
	for _, st := range sites {
		for _, p := range st.come {
			for _, text := range order {
				t := terms[text]
				if !t.matches(p) {
					continue
				}
				for _, d := range c.domain(st, t.key) {
					if other, ok := closed[text][d]; ok {
						c.add(Violation{Rule: RuleAntiAffinity, Node: st.name, Pod: nameOfPod(p),
							Detail: fmt.Sprintf("pod %s keeps it out of %s %q", other, t.key, d)})
					}
				}
			}
		}
	}
}

// A seeker is a pod that comes and wants company.
type seeker struct {
	pod    *corev1.Pod
	terms  []*term
	values []string // of each term's domain
	site   *site
}

// company checks affinity: the pods that come must be able to arrive in some order, each
// finding the company it wants, or being the first of its kind anywhere.
func (c *checker) company(sites []*site) {
	var waiting []*seeker
	known := make(map[string]census)
	terms := make(map[string]*term)
	for _, st := range sites {
		for _, p := range st.come {
			if s := c.seek(st, p); s != nil {
				waiting = append(waiting, s)
				for _, t := range s.terms {
					terms[t.text] = t
				}
			}
		}
	}
	wants := make(map[*corev1.Pod]bool)
	for _, s := range waiting {
		wants[s.pod] = true
	}
	easy := func(st *site) [][]*corev1.Pod {
		var out []*corev1.Pod
		for _, p := range st.come {
			if !wants[p] {
				out = append(out, p)
			}
		}
		return [][]*corev1.Pod{st.stay, out}
	}
	for text, t := range terms {
		known[text] = c.count(sites, t, easy)
	}
	arrive := func(s *seeker) {
		for text, t := range terms {
			if t.matches(s.pod) {
				for _, d := range c.domain(s.site, t.key) {
					known[text][d]++
				}
			}
		}
	}
	for len(waiting) > 0 {
		var rest []*seeker
		for _, s := range waiting {
			if s.finds(known) {
				arrive(s)
			} else {
				rest = append(rest, s)
			}
		}
		if len(rest) == len(waiting) {
			at := firstOfKind(rest, known)
			if at < 0 {
				break
			}
			arrive(rest[at])
			rest = append(rest[:at], rest[at+1:]...)
		}
		waiting = rest
	}
	for _, s := range waiting {
		c.add(Violation{Rule: RuleAffinity, Node: s.site.name, Pod: nameOfPod(s.pod),
			Detail: "cannot find the pods that it wants to be with, in whatever order pods arrive"})
	}
}

// seek returns the seeker that p is at st, or nil if it wants no company or its domain
// is not settled.
func (c *checker) seek(st *site, p *corev1.Pod) *seeker {
	terms := affinityOf(p)
	if len(terms) == 0 {
		return nil
	}
	s := &seeker{pod: p, terms: terms, site: st}
	for _, t := range terms {
		values := c.domain(st, t.key)
		if v, bad := unsure(RuleAffinity, st, p, t.key, values); bad {
			c.add(v)
			return nil
		}
		s.values = append(s.values, values[0])
	}
	return s
}

// finds reports whether all the company is there.
func (s *seeker) finds(known map[string]census) bool {
	for i, t := range s.terms {
		if known[t.text][s.values[i]] == 0 {
			return false
		}
	}
	return true
}

// firstOfKind returns the first seeker who may come though nobody is there: it wants to
// be with its like, and there is none of them in any domain. It returns -1 for nobody.
func firstOfKind(waiting []*seeker, known map[string]census) int {
	for i, s := range waiting {
		alone := true
		for _, t := range s.terms {
			alone = alone && len(known[t.text]) == 0 && t.matches(s.pod)
		}
		if alone {
			return i
		}
	}
	return -1
}

func nameOfPod(p *corev1.Pod) string { return p.Namespace + "/" + p.Name }
