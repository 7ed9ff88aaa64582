package podtopology

import (
	"fmt"
	"math"
	"slices"

	"github.com/karpenter-go/karpenter/engine/verify/nodematch"
)

// A count is how many pods each topology domain holds while pods are placed. Which pods it counts depends on the rule: those that
// a term selects, or those that have an anti-affinity term.
type count struct {
	topologyKey string
	domains     map[string]*domainCount // by value of the topology key
	// anywhere is how many pods may be in some domain.
	anywhere int
	// eligible says which nodes count for a spread constraint; nil for other rules. For spread a pod that is being deleted does not
	// count.
	eligible *eligibility
}

// A domainCount is how many pods a domain holds at most, and how many for certain.
type domainCount struct{ most, certain int }

func newCount(topologyKey string, eligible *eligibility) *count {
	return &count{topologyKey: topologyKey, domains: make(map[string]*domainCount), eligible: eligible}
}

// add counts pods on a node. selector is that of the pods, if it tells more about the node's domain, or nil.
func (c *count) add(n *Node, selector *nodematch.Selector, pods int, presence Presence) {
	values := n.domainWith(selector, c.topologyKey)
	if pods == 0 || len(values) == 0 || c.eligible != nil && !c.eligible.possible[n.index] {
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

// addPresent counts the pods of the group that are there before any planned pod.
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

// most returns how many pods a domain of the node may hold: the value for which they are the most, and the number.
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

// An eligibility says which nodes count for a spread constraint.
type eligibility struct {
	nodes []*Node
	// certain and possible are by index of the node. A node of which the domain is open is possible only.
	certain, possible []bool
	// domains is how many domains the certain nodes have.
	domains int
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

// eligibility returns the nodes that count for the constraint of the class.
func (s spreadConstraint) eligibility(k *class, nodes []*Node) *eligibility {
	out := &eligibility{nodes: nodes, certain: make([]bool, len(nodes)), possible: make([]bool, len(nodes))}
	domains := make(map[string]bool)
	for i, n := range nodes {
		if values := n.domain(s.topologyKey); s.counts(n, k) {
			out.possible[i] = true
			if out.certain[i] = len(values) == 1; out.certain[i] {
				domains[values[0]] = true
			}
		}
	}
	out.domains = len(domains)
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

// leastExcept returns how many pods the emptiest eligible domain but one holds for certain. If there are fewer eligible domains
// than minDomains, the emptiest counts as empty.
func (c *count) leastExcept(value string, minDomains int) int {
	if c.eligible.domains < minDomains {
		return 0
	}
	least, counted := math.MaxInt, 0
	for v, d := range c.domains {
		if v != value && d.certain > 0 {
			least = min(least, d.certain)
			counted++
		}
	}
	if counted == c.eligible.domains || counted == c.eligible.domains-1 && c.eligible.has(value, c.topologyKey) {
		return least
	}
	return 0
}

// has reports whether a node that is certain to count is in the domain.
func (e *eligibility) has(value, topologyKey string) bool {
	return slices.ContainsFunc(e.nodes, func(n *Node) bool {
		return e.certain[n.index] && n.domain(topologyKey)[0] == value
	})
}
