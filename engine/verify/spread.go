package verify

import (
	"fmt"
	"math"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// spreads checks topology spread: where pods come, no domain may hold more than maxSkew
// pods above the emptiest domain that they could go to. If that holds in the end, pods
// that arrive where there are fewest meet it all the way. Pods of the kind that come
// without the constraint may come later, and so do not count against their own domain.
func (c *checker) spreads(sites []*site) {
	known := make(map[string]balance)
	for _, st := range sites {
		for _, p := range st.come {
			constraints := spreadsOf(p)
			for _, s := range constraints {
				values := c.domain(st, s.key)
				if v, bad := unsure(RuleSpread, st, p, s.key, values); bad {
					c.add(v)
					continue
				}
				d := c.demands[p]
				id := fmt.Sprintf("%s %d %p %t %t %d %v", s.text, s.maxSkew, d.selector,
					s.honorAffinity, s.honorTaints, s.minDomains, keysOf(constraints))
				if s.honorTaints {
					id += fmt.Sprint(p.Spec.Tolerations)
				}
				b, ok := known[id]
				if !ok {
					b = c.balance(sites, s, constraints, d)
					known[id] = b
				}
				if n := b.counts[values[0]]; n-b.least > s.maxSkew {
					c.add(Violation{Rule: RuleSpread, Node: st.name, Pod: nameOfPod(p), Detail: fmt.Sprintf(
						"%s %q holds %d pods of the kind, the emptiest domain %d: more than %d apart",
						s.key, values[0], n, b.least, s.maxSkew)})
				}
			}
		}
	}
}

// A balance is how many pods of a kind each domain holds.
type balance struct {
	counts census
	least  int // in the emptiest domain that counts
}

// balance counts the pods of a constraint over the nodes that d could go to.
func (c *checker) balance(sites []*site, s spread, all []spread, d *demand) balance {
	b := balance{counts: make(census)}
	final := make(census)
	for _, st := range sites {
		if !c.counts(st, s, all, d) {
			continue
		}
		domain := c.domain(st, s.key)
		if len(domain) != 1 {
			continue
		}
		stay, come, free := 0, 0, 0
		for _, p := range st.stay {
			if p.DeletionTimestamp == nil && s.matches(p) {
				stay++
			}
		}
		for _, p := range st.come {
			switch {
			case !s.matches(p):
			case s.binds(p):
				come++
			default:
				free++
			}
		}
		b.counts[domain[0]] += stay + come
		final[domain[0]] += stay + come + free // a domain without pods is one too
	}
	b.least = math.MaxInt
	for _, n := range final {
		b.least = min(b.least, n)
	}
	if len(b.counts) < s.minDomains {
		b.least = 0
	}
	return b
}

// counts reports whether a node counts for a constraint: it has the labels of all of the
// pod's constraints, and the pod could go there as far as the constraint cares.
func (c *checker) counts(st *site, s spread, all []spread, d *demand) bool {
	for _, other := range all {
		if len(c.domain(st, other.key)) == 0 {
			return false
		}
	}
	if s.honorAffinity && !c.takes(st, d.selector) {
		return false
	}
	if s.honorTaints {
		if _, kept := d.untolerated(st.taints); kept {
			return false
		}
	}
	return true
}

// binds reports whether pod has the constraint itself.
func (s spread) binds(pod *corev1.Pod) bool {
	return slices.ContainsFunc(spreadsOf(pod), func(o spread) bool {
		return o.text == s.text && o.maxSkew == s.maxSkew
	})
}

func keysOf(all []spread) []string {
	keys := make([]string, len(all))
	for i, s := range all {
		keys[i] = s.key
	}
	return keys
}
