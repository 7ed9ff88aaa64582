package podtopology

// checkOwnAntiAffinity checks that no pod which the required anti-affinity of a planned pod selects may share its domain.
func (c *cluster) checkOwnAntiAffinity() {
	counts := make(map[string]map[string]int) // by the id of a term
	for _, g := range c.plannedGroups() {
		for _, t := range g.class.rules.antiAffinity {
			if counts[t.id] == nil {
				counts[t.id] = c.countByDomain(t)
			}
			self := 0
			if g.class.matches(t) {
				self = 1
			}
			for _, value := range g.node.domain(t.topologyKey) {
				if counts[t.id][value] <= self {
					continue
				}
				for _, p := range g.planned {
					c.report(AntiAffinity, g.node, p, "a pod that its required anti-affinity selects may be in %s %q", t.topologyKey, value)
				}
			}
		}
	}
}

// countByDomain returns how many pods that the term selects each domain may hold. The pods of a node whose domain is open count in
// each domain that it may be in.
func (c *cluster) countByDomain(t *term) map[string]int {
	out := make(map[string]int)
	for _, k := range c.selectedBy(t) {
		for _, g := range k.groups {
			for _, value := range g.node.domain(t.topologyKey) {
				out[value] += len(g.running) + len(g.planned)
			}
			for _, d := range g.daemons {
				for _, value := range g.node.domainWith(d.Set.Selector, t.topologyKey) {
					out[value]++
				}
			}
		}
	}
	return out
}

// An exclusion is an anti-affinity term of pods that run or may come as pods of DaemonSets, with the domains from which it
// excludes the pods that it selects.
type exclusion struct {
	term    *term
	domains map[string]string // by value, the name of a pod with the term
}

// checkAntiAffinityOfOthers checks that no planned pod is in a domain from which another pod's required anti-affinity excludes it.
// The terms of planned pods are checked by checkOwnAntiAffinity.
func (c *cluster) checkAntiAffinityOfOthers() {
	known := make(map[string]*exclusion)
	for _, k := range c.classes {
		for _, t := range k.rules.antiAffinity {
			if known[t.id] == nil {
				known[t.id] = &exclusion{term: t, domains: make(map[string]string)}
				for _, selected := range c.selectedBy(t) {
					selected.antiAffinities = append(selected.antiAffinities, known[t.id])
				}
			}
			for _, g := range k.groups {
				known[t.id].add(g)
			}
		}
	}
	for _, g := range c.plannedGroups() {
		for _, x := range g.class.antiAffinities {
			for _, value := range g.node.domain(x.term.topologyKey) {
				other, excluded := x.domains[value]
				if !excluded {
					continue
				}
				for _, p := range g.planned {
					c.report(AntiAffinity, g.node, p, "required anti-affinity of pod %s excludes it from %s %q",
						other, x.term.topologyKey, value)
				}
			}
		}
	}
}

// add adds the domains of the running pods and of the DaemonSet pods of a group.
func (x *exclusion) add(g *group) {
	for _, p := range g.running {
		for _, value := range g.node.domain(x.term.topologyKey) {
			x.domains[value] = nameOf(p)
		}
	}
	for _, d := range g.daemons {
		for _, value := range g.node.domainWith(d.Set.Selector, x.term.topologyKey) {
			x.domains[value] = nameOf(d.Set.Pod)
		}
	}
}
