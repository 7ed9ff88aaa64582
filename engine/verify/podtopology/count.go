package podtopology

import (
	"fmt"
	"math"

	"github.com/karpenter-go/karpenter/engine/verify/nodematch"
)

// A count is the number of pods in each topology domain, updated during the replay. It counts either the pods that a
// term selects or the pods that have an anti-affinity term.
type count struct {
	topologyKey string
	domains     map[string]*domainCount // by value of the topology key
	// anywhere is how many pods may be in some domain.
	anywhere int
	// eligible are the nodes that a spread constraint counts, nil for other rules. Spread constraints do not count pods
	// that are being deleted.
	eligible *eligibility
	// affinity is true for a count of the pods that required affinity selects.
	affinity bool
}

// A domainCount is the highest possible number and the certain number of pods in a domain.
type domainCount struct{ most, certain int }

func newCount(topologyKey string, eligible *eligibility) *count {
	return &count{topologyKey: topologyKey, domains: make(map[string]*domainCount), eligible: eligible}
}

// add counts pods on a node. If selector is not nil, the pods are there only if the node gets labels that it matches. Pods that
// are not Certain are added to the highest possible numbers only.
func (c *count) add(n *Node, selector *nodematch.Selector, pods int, presence Presence) {
	values := n.domainWith(selector, c.topologyKey)
	if pods == 0 || len(values) == 0 || c.eligible != nil && !c.eligible.possible[n.index] {
		return
	}
	if n.Deleting && c.affinity {
		return
	}
	c.anywhere += pods
	for _, value := range values {
		c.at(value).most += pods
	}
	if value, settled := n.certainDomain(c.topologyKey); settled && presence == Certain &&
		(c.eligible == nil || c.eligible.certain[n.index]) {
		c.at(value).certain += pods
	}
}

// addPresent counts the pods of the group that are present before any planned pod.
func (c *count) addPresent(g *group) {
	running := g.running
	if c.eligible != nil {
		running = g.lasting
	}
	c.add(g.node, nil, running, Certain)
	for _, d := range g.daemons {
		c.add(g.node, d.Set.Selector, 1, d.Presence)
	}
}

func (c *count) at(value string) *domainCount {
	d := c.domains[value]
	if d == nil {
		d = &domainCount{}
		c.domains[value] = d
	}
	return d
}

// most returns the highest number of pods in any domain that the node may be in, and the value of that domain.
func (c *count) most(n *Node) (value string, pods int) {
	for _, v := range n.domain(c.topologyKey) {
		if d := c.domains[v]; d != nil && d.most > pods {
			value, pods = v, d.most
		}
	}
	return value, pods
}

// certain returns how many pods are certain to share a domain with the node.
func (c *count) certain(n *Node) int {
	value, settled := n.certainDomain(c.topologyKey)
	if d := c.domains[value]; settled && d != nil {
		return d.certain
	}
	return 0
}

// An eligibility is the nodes that a spread constraint counts.
type eligibility struct {
	// certain and possible are indexed by node. A node that may be in several domains, or that may lack the label, is possible,
	// but not certain.
	certain, possible []bool
	// domains are the domains of the nodes with one possible value that are not being deleted. If such a node may lack the label,
	// its domain has no certain pods because of it.
	domains map[string]bool
}

// eligibilityID returns a text that is equal only for constraints with the same eligible nodes.
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

// eligibility returns the nodes that the constraint of the class counts.
func (s spreadConstraint) eligibility(k *class, nodes []*Node) *eligibility {
	out := &eligibility{certain: make([]bool, len(nodes)), possible: make([]bool, len(nodes)), domains: make(map[string]bool)}
	for i, n := range nodes {
		if values := n.domain(s.topologyKey); s.counts(n, k) {
			out.possible[i] = true
			out.certain[i] = len(values) == 1 && !n.mayLack(s.topologyKey)
			if len(values) == 1 && !n.Deleting {
				out.domains[values[0]] = true
			}
		}
	}
	return out
}

// counts reports whether kube-scheduler counts the node for the constraint. The node must have the topology keys of all
// constraints of the pod and meet its node inclusion policies.
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

// leastExcept returns the lowest certain number of pods over the eligible domains other than value. It is zero if there are
// fewer eligible domains than minDomains, or if one of the other domains has no certain pods. It is the largest int if there
// is no other domain.
func (c *count) leastExcept(value string, minDomains int) int {
	domains := c.eligible.domains
	if len(domains) < minDomains {
		return 0
	}
	least, counted := math.MaxInt, 0
	for v, d := range c.domains {
		if v != value && d.certain > 0 && domains[v] {
			least = min(least, d.certain)
			counted++
		}
	}
	if counted == len(domains) || counted == len(domains)-1 && domains[value] {
		return least
	}
	return 0
}
