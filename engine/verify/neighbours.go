package verify

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
)

// neighbours checks what pods ask of each other, in the cluster as the plan leaves it:
// spread, affinity and anti-affinity, also that of pods which run already.
func (c *checker) neighbours() {
	if len(c.manners.byText) == 0 {
		return
	}
	cr := c.gatherCrowd(c.sites())
	c.spreads(cr)
	c.apart(cr)
	c.company(cr)
}

// apart checks anti-affinity: that of the pods that come, and that of pods that stay
// against the ones that come.
func (c *checker) apart(cr *crowd) {
	for _, st := range cr.sites {
		for _, g := range st.groups {
			for _, t := range g.kind.manner.apart {
				if len(g.come) > 0 {
					c.alone(g, t, c.count(cr, t))
				}
			}
		}
	}
	c.ban(cr)
	for _, st := range cr.sites {
		for _, g := range st.groups {
			for _, b := range g.kind.bans {
				c.banned(g, b)
			}
		}
	}
}

// alone checks that no pod that those of g want to be apart from shares a domain with
// them.
func (c *checker) alone(g *group, t *term, all census) {
	self := 0
	if t.matches(g.kind.namespace, g.kind.labels) {
		self = 1
	}
	for _, d := range g.site.domain(t.key) {
		if all[d] <= self {
			continue
		}
		for _, p := range g.come {
			c.add(Violation{Rule: RuleAntiAffinity, Node: g.site.name, Pod: nameOfPod(p),
				Detail: fmt.Sprintf("pods it wants to be apart from share %s %q", t.key, d)})
		}
	}
}

// A ban is a term of pods that stay, and the domains from which they keep those it
// matches out.
type ban struct {
	term    *term
	domains map[string]string // and a pod that does
}

// ban tells each kind what the pods that stay forbid it.
func (c *checker) ban(cr *crowd) {
	known := make(map[string]*ban)
	for _, st := range cr.sites {
		forbid := func(p *corev1.Pod, in func(key string) []string) {
			for _, t := range c.manners.of(p).apart {
				b, ok := known[t.text]
				if !ok {
					b = &ban{term: t, domains: make(map[string]string)}
					known[t.text] = b
					for _, k := range cr.matching(t) {
						k.bans = append(k.bans, b)
					}
				}
				for _, d := range in(t.key) {
					b.domains[d] = nameOfPod(p)
				}
			}
		}
		for _, p := range st.stay {
			forbid(p, st.domain)
		}
		for _, m := range st.crew {
			forbid(m.hand.pod, func(key string) []string { return st.domainWith(m.hand, key) })
		}
	}
}

// banned checks that no pod of g, which b is about, comes to any of its domains.
func (c *checker) banned(g *group, b *ban) {
	if len(g.come) == 0 {
		return
	}
	for _, d := range g.site.domain(b.term.key) {
		other, ok := b.domains[d]
		if !ok {
			continue
		}
		for _, p := range g.come {
			c.add(Violation{Rule: RuleAntiAffinity, Node: g.site.name, Pod: nameOfPod(p),
				Detail: fmt.Sprintf("pod %s keeps it out of %s %q", other, b.term.key, d)})
		}
	}
}

func nameOfPod(p *corev1.Pod) string { return p.Namespace + "/" + p.Name }
