package verify

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// keepOff takes the daemons out of crews that pods which stay keep off the node, by their own anti-affinity or the daemon's,
// and has nobody rely on those that others may keep off.
func (c *checker) keepOff(sites []*site) {
	for _, h := range c.hands {
		barred := c.barred(h, sites)
		doubtful := c.doubtful(h, sites)
		for _, st := range sites {
			for i := range st.crew {
				if st.crew[i].hand == h && doubtful {
					st.crew[i].certain = false
				}
			}
			st.crew = slices.DeleteFunc(st.crew, func(m crewman) bool {
				return m.hand == h && slices.ContainsFunc(barred, func(d domain) bool {
					values := st.domain(d.key)
					return len(values) == 1 && values[0] == d.value
				})
			})
		}
	}
}

// barred returns the domains of pods that stay and with which the daemon's cannot be. Pods that are being deleted do not stay
// for long.
func (c *checker) barred(h *hand, sites []*site) []domain {
	var out []domain
	own := c.manners.of(h.pod).apart
	for _, st := range sites {
		for _, p := range st.stay {
			if p.DeletionTimestamp != nil {
				continue
			}
			bar := func(t *term) {
				for _, v := range st.domain(t.key) {
					if d := (domain{t.key, v}); !slices.Contains(out, d) {
						out = append(out, d)
					}
				}
			}
			for _, t := range own {
				if t.matches(p.Namespace, p.Labels) && !ownedBy(p, h.set.Namespace, h.set.Name) {
					bar(t)
				}
			}
			for _, t := range c.manners.of(p).apart {
				if t.matches(h.pod.Namespace, h.pod.Labels) {
					bar(t)
				}
			}
		}
	}
	return out
}

// doubtful reports whether the daemon's own anti-affinity may keep it off some node: there is the label, and somebody whom it
// must be apart from.
func (c *checker) doubtful(h *hand, sites []*site) bool {
	return slices.ContainsFunc(c.manners.of(h.pod).apart, func(t *term) bool {
		labelled := slices.ContainsFunc(sites, func(st *site) bool { return len(st.domain(t.key)) > 0 })
		return labelled && slices.ContainsFunc(sites, func(st *site) bool {
			met := func(p *corev1.Pod) bool { return t.matches(p.Namespace, p.Labels) }
			return slices.ContainsFunc(st.stay, met) || slices.ContainsFunc(st.come, met) ||
				slices.ContainsFunc(st.crew, func(m crewman) bool {
					return met(m.hand.pod) && (m.hand != h || t.key != corev1.LabelHostname)
				})
		})
	})
}
