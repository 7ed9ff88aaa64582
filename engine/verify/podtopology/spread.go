package podtopology

import (
	"fmt"
	"math"
	"slices"

	"github.com/karpenter-go/karpenter/engine/verify/nodematch"
)

// A spreadCount counts the pods that a spread constraint selects while pods are placed, by domain.
type spreadCount struct {
	spreadConstraint
	class *class // one with the constraint
	*eligibility
	keyDomains *keyDomains
	pods       []domainCount
	at         map[int]int // the position in pods, by domain number
}

// A domainCount is how many pods a domain holds at most, and how many for certain.
type domainCount struct {
	domain        int
	most, certain int
}

// keyDomains numbers the values of a topology key.
type keyDomains struct {
	values []string
	number map[string]int
}

// An eligibility says which nodes and domains count for a spread constraint, by number.
type eligibility struct {
	nodes, domains []bool
	count          int // of eligible domains
}

// spreadCountsOf returns the counts for the spread constraints of a class with planned pods. It registers new ones with the
// classes that they select.
func (r *replay) spreadCountsOf(k *class) []*spreadCount {
	var out []*spreadCount
	for _, s := range k.rules.spread {
		eligible := s.eligibilityID(k)
		id := fmt.Sprintf("%s %d %d %s", s.id, s.maxSkew, s.minDomains, eligible)
		known, ok := r.spread[id]
		if !ok {
			if r.eligible[eligible] == nil {
				r.eligible[eligible] = r.eligibilityOf(s, k)
			}
			known = &spreadCount{
				spreadConstraint: s, class: k, eligibility: r.eligible[eligible], keyDomains: r.domainsOf(s.topologyKey), at: make(map[int]int),
			}
			r.spread[id] = known
			for _, selected := range r.cluster.selectedBy(s.term) {
				selected.spreadCounts = append(selected.spreadCounts, known)
			}
		}
		out = append(out, known)
	}
	return out
}

// domainsOf numbers the domains of all nodes by the key.
func (r *replay) domainsOf(key string) *keyDomains {
	if known, ok := r.domains[key]; ok {
		return known
	}
	out := &keyDomains{number: make(map[string]int)}
	for _, n := range r.cluster.nodes {
		for _, value := range n.domain(key) {
			if _, ok := out.number[value]; !ok {
				out.number[value] = len(out.values)
				out.values = append(out.values, value)
			}
		}
	}
	r.domains[key] = out
	return out
}

// eligibilityID returns a text that is the same for constraints of pods for which the same nodes count.
func (s spreadConstraint) eligibilityID(k *class) string {
	id := s.topologyKey
	for _, other := range k.rules.spread {
		id += " " + other.topologyKey
	}
	if s.honorAffinity {
		id += fmt.Sprintf(" %p", k.selector)
	}
	if s.honorTaints {
		id += " " + nodematch.TolerationsText(k.tolerations)
	}
	return id
}

// eligibilityOf returns the nodes that count for the constraint of the class, and their domains. A node whose domain is open does
// not count.
func (r *replay) eligibilityOf(s spreadConstraint, k *class) *eligibility {
	domains := r.domainsOf(s.topologyKey)
	out := &eligibility{nodes: make([]bool, len(r.cluster.nodes)), domains: make([]bool, len(domains.values))}
	for i, n := range r.cluster.nodes {
		values := n.domain(s.topologyKey)
		if len(values) != 1 || !s.counts(n, k) {
			continue
		}
		out.nodes[i] = true
		if d := domains.number[values[0]]; !out.domains[d] {
			out.domains[d] = true
			out.count++
		}
	}
	return out
}

// counts reports whether kube-scheduler counts the node for the constraint: it has the labels of all constraints of the pod, and
// it matches the pod as far as the node inclusion policies say.
func (s spreadConstraint) counts(n *Node, k *class) bool {
	for _, other := range k.rules.spread {
		if len(n.domain(other.topologyKey)) == 0 {
			return false
		}
	}
	if s.honorAffinity && !n.matchedBy(k.selector) {
		return false
	}
	if s.honorTaints {
		if _, kept := nodematch.Untolerated(k.tolerations, n.Taints); kept {
			return false
		}
	}
	return true
}

// add counts pods on a node whose topology key may have these values. certain means that the pods are certain to be there.
func (c *spreadCount) add(n *Node, values []string, pods int, certain bool) {
	certain = certain && c.nodes[n.index]
	if !c.nodes[n.index] && (len(n.domain(c.topologyKey)) < 2 || !c.counts(n, c.class)) {
		return
	}
	for _, value := range values {
		i := c.position(c.keyDomains.number[value])
		c.pods[i].most += pods
		if certain {
			c.pods[i].certain += pods
		}
	}
}

func (c *spreadCount) position(number int) int {
	i, ok := c.at[number]
	if !ok {
		i = len(c.pods)
		c.at[number] = i
		c.pods = append(c.pods, domainCount{domain: number})
	}
	return i
}

// exceeded returns a value of the topology key with which a further pod of the class on the node exceeds maxSkew. It returns false
// if there is none.
func (c *spreadCount) exceeded(n *Node, k *class) (e excess, ok bool) {
	for _, value := range n.domain(c.topologyKey) {
		number := c.keyDomains.number[value]
		most := 0
		if i, ok := c.at[number]; ok {
			most = c.pods[i].most
		}
		if k.matches(c.term) {
			most++
		}
		if most <= c.maxSkew {
			continue
		}
		if least := c.leastExcept(number); most-least > c.maxSkew {
			return excess{value, most, least}, true
		}
	}
	return excess{}, false
}

// An excess is a domain that would hold too many pods, how many, and how many the emptiest other domain holds.
type excess struct {
	value       string
	most, least int
}

// leastExcept returns how many pods the emptiest eligible domain but one holds for certain. If there are fewer domains than
// minDomains, the emptiest counts as empty.
func (c *spreadCount) leastExcept(number int) int {
	if c.count < c.minDomains {
		return 0
	}
	others := c.count
	if c.domains[number] {
		others--
	}
	least, counted := math.MaxInt, 0
	for _, d := range c.pods {
		if d.domain != number && c.domains[d.domain] {
			least = min(least, d.certain)
			counted++
		}
	}
	if counted < others {
		return 0
	}
	return least
}

// settled reports whether the node is certain to have the keys of all counts, and returns the first key of which it is not.
func settled(n *Node, counts []*spreadCount) (key string, ok bool) {
	i := slices.IndexFunc(counts, func(c *spreadCount) bool {
		_, certain := n.certainDomain(c.topologyKey)
		return !certain
	})
	if i < 0 {
		return "", true
	}
	return counts[i].topologyKey, false
}
