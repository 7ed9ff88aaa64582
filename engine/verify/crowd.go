package verify

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// A kind is pods that are alike to everyone who looks at pods, and ask the same.
type kind struct {
	namespace string
	labels    labels.Set // those that some term looks at
	manner    *manner
	// demand is that of one of the pods that come. If they are spread, all that come have
	// its selector and its tolerations.
	demand *demand
	groups []*group // in the order of sites
	// constraints bind those that come, in the order of the manner's; empty until asked for.
	constraints []*constraint

	bans       []*ban
	gatherings []*gathering
}

// A group is the pods of a kind on one node.
type group struct {
	kind *kind
	site *site
	// stay are the pods that run there, lasting those of them that are not being deleted.
	stay, lasting int
	// maybe are pods of daemons that may be there, or not.
	maybe []crewman
	come  []*corev1.Pod
}

// A crowd is all pods of the cluster as the plan leaves it, by kind.
type crowd struct {
	sites []*site
	kinds []*kind
	// looked are the keys of pods' labels that some term looks at.
	looked map[string]bool
	byText map[string]*kind
	// labelled finds kinds by "key=value" of a label.
	labelled map[string][]*kind
	matched  map[string][]*kind // by the text of a term
	censuses map[string]census  // likewise
	// domains tells, by label and site, the first site of the same domain; -1 where the
	// domain is open or there is none.
	domains map[string][]int
	// constraints are the constraints by what tells them apart, reach the sites that count by what decides it.
	constraints map[string]*constraint
	reach       map[string][]bool
}

// gatherCrowd sorts all pods on sites by kind.
func (c *checker) gatherCrowd(sites []*site) *crowd {
	cr := &crowd{
		sites: sites, looked: make(map[string]bool),
		byText: make(map[string]*kind), labelled: make(map[string][]*kind),
		matched: make(map[string][]*kind), censuses: make(map[string]census), domains: make(map[string][]int),
		constraints: make(map[string]*constraint), reach: make(map[string][]bool),
	}
	for _, m := range c.manners.byText {
		for _, t := range m.terms() {
			requirements, _ := t.selector.Requirements()
			for _, r := range requirements {
				cr.looked[r.Key()] = true
			}
		}
	}
	for _, st := range sites {
		at := make(map[*kind]*group)
		for _, p := range st.stay {
			g := cr.groupOf(at, st, cr.kindOf(p, c.manners.of(p), nil))
			g.stay++
			if p.DeletionTimestamp == nil {
				g.lasting++
			}
		}
		for _, m := range st.crew {
			g := cr.groupOf(at, st, cr.kindOf(m.hand.pod, c.manners.of(m.hand.pod), nil))
			if m.certain {
				g.stay++
				g.lasting++
			} else {
				g.maybe = append(g.maybe, m)
			}
		}
		for _, p := range st.come {
			g := cr.groupOf(at, st, cr.kindOf(p, c.manners.of(p), c.demands[p]))
			g.come = append(g.come, p)
		}
	}
	return cr
}

func (cr *crowd) groupOf(at map[*kind]*group, st *site, k *kind) *group {
	g, ok := at[k]
	if !ok {
		g = &group{kind: k, site: st}
		at[k] = g
		st.groups = append(st.groups, g)
		k.groups = append(k.groups, g)
	}
	return g
}

// kindOf returns the kind of p. d is nil for a pod that stays.
func (cr *crowd) kindOf(p *corev1.Pod, m *manner, d *demand) *kind {
	var seen []string
	for key, v := range p.Labels {
		if cr.looked[key] {
			seen = append(seen, key+"="+v)
		}
	}
	slices.Sort(seen)
	text := fmt.Sprintf("%s\n%p\n%s", p.Namespace, m, strings.Join(seen, "\n"))
	if d != nil && len(m.spreads) > 0 {
		text += fmt.Sprintf("\n%p\n%s", d.selector, d.tolerated())
	}
	k, ok := cr.byText[text]
	if !ok {
		k = &kind{namespace: p.Namespace, labels: labels.Set{}, manner: m}
		for key, v := range p.Labels {
			if cr.looked[key] {
				k.labels[key] = v
			}
		}
		cr.byText[text] = k
		cr.kinds = append(cr.kinds, k)
		for _, label := range seen {
			cr.labelled[label] = append(cr.labelled[label], k)
		}
	}
	if k.demand == nil {
		k.demand = d
	}
	return k
}

// matching returns the kinds that t looks at.
func (cr *crowd) matching(t *term) []*kind {
	if known, ok := cr.matched[t.text]; ok {
		return known
	}
	var out []*kind
	for _, k := range cr.likely(t) {
		if t.matches(k.namespace, k.labels) {
			out = append(out, k)
		}
	}
	cr.matched[t.text] = out
	return out
}

// likely returns kinds among which are all that t looks at: those that have one of the
// labels that it demands, by its rarest demand.
func (cr *crowd) likely(t *term) []*kind {
	requirements, selectable := t.selector.Requirements()
	if !selectable {
		return nil
	}
	best, found := cr.kinds, false
	for _, r := range requirements {
		switch r.Operator() {
		case selection.In, selection.Equals, selection.DoubleEquals:
		default:
			continue
		}
		var some []*kind
		for v := range r.Values() {
			some = append(some, cr.labelled[r.Key()+"="+v]...)
		}
		if !found || len(some) < len(best) {
			best, found = some, true
		}
	}
	return best
}

// A census counts the pods that a term looks at, by domain.
type census map[string]int

// count takes the census of t. A node whose domain is open counts in each that it may
// become.
func (c *checker) count(cr *crowd, t *term) census {
	if known, ok := cr.censuses[t.text]; ok {
		return known
	}
	out := make(census)
	for _, k := range cr.matching(t) {
		for _, g := range k.groups {
			for _, d := range g.site.domain(t.key) {
				out[d] += g.stay + len(g.maybe) + len(g.come)
			}
		}
	}
	cr.censuses[t.text] = out
	return out
}

// settled returns, by site, the first site of the same domain, -1 where the domain is
// open or there is none.
func (cr *crowd) settled(key string) []int {
	if known, ok := cr.domains[key]; ok {
		return known
	}
	out := make([]int, len(cr.sites))
	first := make(map[string]int)
	for i, st := range cr.sites {
		out[i] = -1
		values := st.domain(key)
		if len(values) != 1 {
			continue
		}
		if _, ok := first[values[0]]; !ok {
			first[values[0]] = i
		}
		out[i] = first[values[0]]
	}
	cr.domains[key] = out
	return out
}
