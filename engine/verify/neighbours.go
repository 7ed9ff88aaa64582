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
				c.alone(st, p, t, known[t.text])
			}
		}
	}
	bans := c.bans(sites)
	for _, st := range sites {
		for _, p := range st.come {
			for _, b := range bans {
				if b.term.matches(p) {
					c.banned(st, p, b)
				}
			}
		}
	}
}

// alone checks that no pod that p wants to be apart from shares a domain with it.
func (c *checker) alone(st *site, p *corev1.Pod, t *term, all census) {
	self := 0
	if t.matches(p) {
		self = 1
	}
	for _, d := range c.domain(st, t.key) {
		if all[d] > self {
			c.add(Violation{Rule: RuleAntiAffinity, Node: st.name, Pod: nameOfPod(p),
				Detail: fmt.Sprintf("pods it wants to be apart from share %s %q", t.key, d)})
		}
	}
}

// A ban is a term of pods that stay, and the domains from which they keep those it
// matches out.
type ban struct {
	term    *term
	domains map[string]string // and the pod that does
}

// bans returns what the pods that stay forbid.
func (c *checker) bans(sites []*site) []ban {
	var out []ban
	at := make(map[string]int)
	for _, st := range sites {
		for _, p := range st.stay {
			for _, t := range antiAffinityOf(p) {
				i, ok := at[t.text]
				if !ok {
					i = len(out)
					at[t.text] = i
					out = append(out, ban{term: t, domains: make(map[string]string)})
				}
				for _, d := range c.domain(st, t.key) {
					out[i].domains[d] = nameOfPod(p)
				}
			}
		}
	}
	return out
}

// banned checks that p, which b is about, comes to none of its domains.
func (c *checker) banned(st *site, p *corev1.Pod, b ban) {
	for _, d := range c.domain(st, b.term.key) {
		if other, ok := b.domains[d]; ok {
			c.add(Violation{Rule: RuleAntiAffinity, Node: st.name, Pod: nameOfPod(p),
				Detail: fmt.Sprintf("pod %s keeps it out of %s %q", other, b.term.key, d)})
		}
	}
}

func nameOfPod(p *corev1.Pod) string { return p.Namespace + "/" + p.Name }
