package verify

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A hand is a daemon whose pods somebody looks at, or that keep others away.
type hand struct {
	set    *appsv1.DaemonSet
	demand *demand
	pod    *corev1.Pod // as it will be on any node
	// shy means that something may keep it off a node that it selects, its own anti-affinity and other daemons aside.
	shy bool
	// rivals are the daemons that keep it off their nodes or domains, by host ports or anti-affinity.
	rivals []*hand
	// barred are the domains that pods which stay keep it out of, and whether for good.
	barred map[domain]bool
}

// learnHands reads what daemons' pods ask of others, so that its terms are known.
func (c *checker) learnHands() {
	for i, set := range c.sets {
		h := &hand{set: set, demand: c.daemons[i], pod: &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: set.Namespace, Name: set.Name, Labels: set.Spec.Template.Labels,
			},
			Spec: set.Spec.Template.Spec,
		}}
		m := c.manners.of(h.pod)
		h.shy = len(m.near)+len(m.spreads) > 0 ||
			slices.ContainsFunc(h.pod.Spec.Volumes, func(v corev1.Volume) bool {
				return v.PersistentVolumeClaim != nil || v.Ephemeral != nil
			})
		c.hands = append(c.hands, h)
	}
}

// heeded keeps the hands that matter to some pod or to each other, and finds out which of them may be kept off their nodes, by whom.
func (c *checker) heeded() {
	var kept []*hand
	for _, h := range c.hands {
		seen := len(c.manners.of(h.pod).apart) > 0
		for _, m := range c.manners.byText {
			for _, t := range m.terms() {
				seen = seen || t.matches(h.pod.Namespace, h.pod.Labels)
			}
			for _, t := range m.apart { // for pods on nodes that are known see barred
				h.shy = h.shy || t.matches(h.pod.Namespace, h.pod.Labels) && c.elsewhere(m)
			}
		}
		for _, r := range c.hands {
			if _, both := r.demand.clash(h.demand); r != h && (both || c.shuns(r, h)) {
				h.rivals = append(h.rivals, r)
				seen = seen || both // it is a rival of r as well
			}
		}
		if seen {
			kept = append(kept, h)
		}
	}
	c.hands = kept
}

// shuns reports whether a daemon must be apart from the pods of another.
func (c *checker) shuns(h, other *hand) bool {
	return slices.ContainsFunc(c.manners.of(h.pod).apart, func(t *term) bool {
		return t.matches(other.pod.Namespace, other.pod.Labels)
	})
}

// elsewhere reports whether a pod has the manner that need not be placed any more, on a node that is not known.
func (c *checker) elsewhere(m *manner) bool {
	for name, pods := range c.bound {
		if _, known := c.snapshot.NodeByName(name); known {
			continue
		}
		if slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return c.demands[p] == nil && c.manners.of(p) == m }) {
			return true
		}
	}
	return false
}

// A crewman is a hand on a site to be: certainly there, or maybe. A steady one nothing but
// its own anti-affinity may keep off.
type crewman struct {
	hand            *hand
	certain, steady bool
}

// crewAmong returns the hands that come with a node that is one of places.
func (c *checker) crewAmong(places []*place, taints []corev1.Taint) []crewman {
	var out []crewman
	for _, h := range c.hands {
		if _, kept := h.demand.untolerated(taints); kept {
			continue
		}
		takes := func(p *place) bool { return p.takes(h.demand.selector) }
		if slices.ContainsFunc(places, takes) {
			all := !slices.ContainsFunc(places, func(p *place) bool { return !takes(p) })
			out = append(out, crewman{hand: h, steady: all})
		}
	}
	return out
}

// crewOf returns the hands that a node which is there has not got yet. One without room for all its daemons may do without.
func (c *checker) crewOf(st *site, allocatable amounts) []crewman {
	if len(c.hands) == 0 {
		return nil
	}
	_, used := c.expect(st.node, st.taints, st.stay)
	for _, p := range st.stay {
		used.add(demandOfBound(p).requests)
	}
	room := true
	for name, v := range used {
		room = room && v <= allocatable[name]
	}
	var out []crewman
	for _, h := range c.hands {
		if _, kept := h.demand.untolerated(st.taints); kept || !h.demand.selector.matches(st.node) {
			continue
		}
		if !slices.ContainsFunc(st.stay, func(p *corev1.Pod) bool { return ownedBy(p, h.set.Namespace, h.set.Name) }) {
			out = append(out, crewman{hand: h, steady: room})
		}
	}
	return out
}
