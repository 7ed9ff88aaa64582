package podtopology

import (
	"fmt"
	"math"
	"slices"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/verify/nodematch"
)

// A count is the number of pods in each topology domain, updated during the replay. It counts either the pods that a
// term selects or the pods that have an anti-affinity term.
type count struct {
	topologyKey string
	domains     map[string]domainCount // by value of the topology key
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

// add counts pods on a node whose topology key may have one of the values. Pods that are not certain are added to the highest
// possible numbers only. For spread constraints, pods of a node with several possible domains are not certain either.
func (c *count) add(n *Node, values []string, pods int, certain bool) {
	if pods == 0 || len(values) == 0 || c.eligible != nil && !c.eligible.nodes[n] || n.Deleting && c.affinity {
		return
	}
	c.anywhere += pods
	for _, value := range values {
		d := c.domains[value]
		d.most += pods
		c.domains[value] = d
	}
	if of := n.domain(c.topologyKey); certain && of.settled && (c.eligible == nil || len(of.values) == 1) {
		d := c.domains[of.certain]
		d.certain += pods
		c.domains[of.certain] = d
	}
}

// addPresent counts the pods of the group that are present before any planned pod.
func (c *count) addPresent(g *group) {
	running := g.running
	if c.eligible != nil {
		running = g.lasting
	}
	c.add(g.node, g.node.domain(c.topologyKey).values, running, true)
	for _, d := range g.daemons {
		c.add(g.node, g.node.valuesWith(d.Selector, c.topologyKey), 1, d.Certain)
	}
}

// most returns the highest number of pods in any domain that the node may be in, and the value of that domain.
func (c *count) most(n *Node) (value string, pods int) {
	for _, v := range n.domain(c.topologyKey).values {
		if most := c.domains[v].most; most > pods {
			value, pods = v, most
		}
	}
	return value, pods
}

// leastExcept returns the lowest certain number of pods over the eligible domains other than value. It is zero if there are
// fewer eligible domains than minDomains, and the largest int if there is no other domain.
func (c *count) leastExcept(value string, minDomains int) int {
	if len(c.eligible.domains) < minDomains {
		return 0
	}
	least := math.MaxInt
	for v := range c.eligible.domains {
		if v != value {
			least = min(least, c.domains[v].certain)
		}
		if least == 0 {
			break
		}
	}
	return least
}

// An eligibility is the nodes that a spread constraint counts.
type eligibility struct {
	nodes map[*Node]bool
	// domains are the domains of the nodes with one possible value that are not being deleted. If such a node may lack the label,
	// its domain has no certain pods because of it.
	domains map[string]bool
}

// eligibilityID returns a text that is equal only for constraints with the same eligible nodes.
func (s spreadConstraint) eligibilityID(rules *podRules) string {
	id := s.topologyKey
	for _, other := range rules.spread {
		id += " " + other.topologyKey
	}
	if s.honorAffinity {
		id += fmt.Sprintf(" %p", rules.selector)
	}
	if s.honorTaints {
		id += " " + tolerationsText(rules.tolerations)
	}
	return id
}

// eligibility returns the nodes that the constraint of pods with the rules counts.
func (s spreadConstraint) eligibility(rules *podRules, nodes []*Node) *eligibility {
	out := &eligibility{nodes: make(map[*Node]bool), domains: make(map[string]bool)}
	for _, n := range nodes {
		if s.counts(n, rules) {
			out.nodes[n] = true
			if values := n.domain(s.topologyKey).values; len(values) == 1 && !n.Deleting {
				out.domains[values[0]] = true
			}
		}
	}
	return out
}

// counts reports whether kube-scheduler counts the node for the constraint. The node must have the topology keys of all
// constraints of the pod and meet its node inclusion policies.
func (s spreadConstraint) counts(n *Node, rules *podRules) bool {
	for _, other := range rules.spread {
		if len(n.domain(other.topologyKey).values) == 0 {
			return false
		}
	}
	excludes := func(l *nodematch.LabelSet) bool { return !l.MatchedBy(rules.selector) }
	if s.honorAffinity && slices.ContainsFunc(n.Labels, excludes) {
		return false
	}
	_, kept := model.Untolerated(rules.tolerations, n.Taints)
	return !s.honorTaints || !kept
}
