package verify

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// keepOff takes the daemons out of crews that pods which stay keep off the node, by their own anti-affinity, the daemon's, or
// host ports, and has nobody rely on those that others may keep off, or those pods if the node turns out to be near them.
func (c *checker) keepOff(sites []*site) {
	for _, h := range c.hands {
		h.shy = h.shy || slices.ContainsFunc(h.rivals, func(r *hand) bool { return r.comes(sites) })
	}
	for _, h := range c.hands {
		barred := c.barred(h, sites)
		h.barred = barred
		for _, st := range sites {
			st.crew = slices.DeleteFunc(st.crew, func(m crewman) bool { return m.hand == h && st.within(barred, true) })
		}
		doubtful := c.doubtful(h, sites)
		for _, st := range sites {
			for i := range st.crew {
				if m := &st.crew[i]; m.hand == h {
					m.steady = m.steady && !h.shy && !st.within(barred, false)
					m.certain = m.steady && !st.withinAny(doubtful)
				}
			}
		}
	}
}

// comes reports whether the daemon may have a pod on any of the sites that is not there yet; for those that are see barred.
func (h *hand) comes(sites []*site) bool {
	return slices.ContainsFunc(sites, func(st *site) bool {
		return slices.ContainsFunc(st.crew, func(m crewman) bool { return m.hand == h })
	})
}

// within reports whether the node is in one of the domains that are barred for good; if not firmly, in one that is barred for a
// while, or whether it may come to be in any.
func (st *site) within(barred map[domain]bool, firmly bool) bool {
	for d, firm := range barred {
		values := st.domain(d.key)
		if settled := len(values) == 1; slices.Contains(values, d.value) && (settled && firm) == firmly {
			return true
		}
	}
	return false
}

// domainWith returns the values that the label may have on the node if the daemon's pod is there.
func (st *site) domainWith(h *hand, key string) []string {
	may := &site{name: st.name, node: st.node}
	for _, p := range st.places {
		if p.takes(h.demand.selector) {
			may.places = append(may.places, p)
		}
	}
	return slices.DeleteFunc(domainOf(may, key), func(v string) bool { return h.barred[domain{key, v}] })
}

// barred returns the domains of pods that stay and with which the daemon's cannot be, and whether that is for good: pods that
// are being deleted do not stay for long.
func (c *checker) barred(h *hand, sites []*site) map[domain]bool {
	out := make(map[domain]bool)
	own := c.manners.of(h.pod).apart
	for _, st := range sites {
		for _, p := range st.stay {
			bar := func(key string) {
				for _, v := range st.domain(key) {
					out[domain{key, v}] = out[domain{key, v}] || p.DeletionTimestamp == nil
				}
			}
			mine := ownedBy(p, h.set.Namespace, h.set.Name)
			for _, t := range own {
				if t.matches(p.Namespace, p.Labels) && !mine {
					bar(t.key)
				}
			}
			for _, t := range c.manners.of(p).apart {
				if t.matches(h.pod.Namespace, h.pod.Labels) {
					bar(t.key)
				}
			}
			if len(h.demand.ports) > 0 && !mine {
				if _, both := demandOfBound(p).clash(h.demand); both {
					bar(corev1.LabelHostname)
				}
			}
		}
	}
	return out
}

// withinAny reports whether the node may come to be in one of the domains that somebody makes doubtful who is not only the daemon on
// that node itself.
func (st *site) withinAny(doubtful map[domain]*site) bool {
	for d, from := range doubtful {
		if from != st && slices.Contains(st.domain(d.key), d.value) {
			return true
		}
	}
	return false
}

// doubtful returns the domains that the daemon's own anti-affinity may keep it out of: somebody may be there whom it must be apart
// from. If that is its own pod on one node and nobody else, the domain comes with that node, where it keeps nobody off.
func (c *checker) doubtful(h *hand, sites []*site) map[domain]*site {
	out := make(map[domain]*site)
	for _, t := range c.manners.of(h.pod).apart {
		met := func(p *corev1.Pod) bool { return t.matches(p.Namespace, p.Labels) }
		for _, st := range sites {
			stay := t.key != corev1.LabelHostname && slices.ContainsFunc(st.stay, met) // else it is barred
			others := stay || slices.ContainsFunc(st.come, met) || slices.ContainsFunc(st.crew, func(m crewman) bool {
				return m.hand != h && met(m.hand.pod)
			})
			own := t.key != corev1.LabelHostname && met(h.pod) && slices.ContainsFunc(st.crew, func(m crewman) bool { return m.hand == h })
			if !others && !own {
				continue
			}
			for _, v := range st.domain(t.key) {
				d := domain{t.key, v}
				if from, known := out[d]; others || known && from != st {
					out[d] = nil
				} else {
					out[d] = st
				}
			}
		}
	}
	return out
}
