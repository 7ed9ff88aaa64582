package compile

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/pack/encode"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// A Group is the pods that a term selects, counted by domain of its topology key, for rules of one kind. For rules per node
// the domains are the nodes that take pods; on new nodes the packing solver counts.
type Group struct {
	Kind topology.Kind
	Key  int
	// Filter says which nodes count, for a spread constraint that honors node affinity or taints.
	Filter catalog.NodeFilter
	// With are further topology keys: spread counts only nodes that have the labels of all spread constraints of the pod.
	With []int
	// Hard says that some rule about the group is required.
	Hard bool
	// Classes are those that an affinity group counts and whose pods may be placed.
	Classes []*Class
	// Port is the host port of a group that counts pods in conflict with it.
	Port catalog.Port
	// Daemons are the indices in Problem.Daemons of those whose pods the group counts.
	Daemons []int
	// Preloaded is the most DaemonSet pods of the group that a new node may have, for spread per node.
	Preloaded int
	// Static says that no new node can count, for spread per node; Idle is then the fewest pods of the group on a node that
	// counts and takes no pods.
	Static bool
	Idle   int32
}

// A groupKey is what makes two groups one.
type groupKey struct {
	term               int
	kind               topology.Kind
	terms, tolerations int
	with               string
}

// A termIndex numbers terms and finds the groups of each.
type termIndex struct {
	book   *topology.Book
	groups map[int][]int // by term
	// leaving are the pods of nodes that are on their way out: they are to be placed, and count nowhere until then.
	leaving map[string]bool
}

func newTermIndex(pods []*model.Pod) termIndex {
	t := termIndex{book: topology.NewBook(), groups: map[int][]int{}, leaving: map[string]bool{}}
	for _, pod := range pods {
		if pod.Bound() {
			t.leaving[pod.Key] = true
		}
	}
	return t
}

// selecting returns the numbers of the terms that select the pod, rising, in memory of out.
func (t *termIndex) selecting(out []int, pod *model.Pod) []int {
	out = t.book.Selecting(out[:0], pod.Object.Namespace, pod.Object.Labels)
	slices.Sort(out)
	return slices.Compact(out)
}

// groupOf returns the group of a rule of the spec.
func (c *compiler) groupOf(r *topology.Rule, s *Spec, t *catalog.Tolerations) int {
	key := groupKey{term: c.terms.book.Number(r.Term), kind: r.Kind, terms: -1, tolerations: -1}
	g := Group{Kind: r.Kind, Key: c.keyOf(r.Term.Key)}
	if r.Kind == topology.Spread && r.HonorAffinity {
		key.terms, g.Filter.Terms = s.Required.ID, s.Required
	}
	if r.Kind == topology.Spread && r.HonorTaints {
		key.tolerations, g.Filter.Tolerations = t.ID, t
	}
	if r.Kind == topology.Spread && !r.Soft && len(s.Rules) > 1 {
		g.With = c.otherSpreadKeys(s, g.Key)
		key.with = string(encode.Ints(nil, g.With))
	}
	if i, ok := c.groupAt[key]; ok {
		return i
	}
	fresh := g
	return c.addGroup(key, &fresh)
}

// otherSpreadKeys returns the other topology keys over which pods of s must be spread, rising.
func (c *compiler) otherSpreadKeys(s *Spec, but int) []int {
	var keys []int
	for i := range s.Rules {
		if r := &s.Rules[i]; r.Kind == topology.Spread && !r.Soft {
			if key := c.keyOf(r.Term.Key); key != but && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	return keys
}

// addGroup returns the group with the key, g if there is none yet.
func (c *compiler) addGroup(key groupKey, g *Group) int {
	if i, ok := c.groupAt[key]; ok {
		return i
	}
	i := len(c.Groups)
	c.groupAt[key] = i
	c.Groups = append(c.Groups, g)
	c.terms.groups[key.term] = append(c.terms.groups[key.term], i)
	return i
}

// repulsionGroup returns the group of the pods that a term of required anti-affinity keeps out.
func (c *compiler) repulsionGroup(term int) int {
	i := c.addGroup(groupKey{term: term, kind: topology.Apart, terms: -1, tolerations: -1},
		&Group{Kind: topology.Apart, Key: c.keyOf(c.terms.book.Term(term).Key)})
	c.Groups[i].Hard = true
	return i
}

// portGroup returns the group that counts the pods in conflict with host port q.
func (c *compiler) portGroup(q catalog.Port) int {
	i := slices.IndexFunc(c.ports, func(g int) bool { return c.Groups[g].Port == q })
	if i >= 0 {
		return c.ports[i]
	}
	c.Groups = append(c.Groups, &Group{Kind: topology.Apart, Key: HostKey, Port: q, Hard: true})
	c.ports = append(c.ports, len(c.Groups)-1)
	return len(c.Groups) - 1
}

// A repulsion is the terms of required anti-affinity of a pod that runs: it keeps pods out of its domains.
type repulsion struct {
	node  string
	terms []int
}

// findRepulsions reads the required anti-affinity of the pods that run and stay.
func (c *compiler) findRepulsions() {
	seen := map[string][]int{}
	var buf []byte
	for _, n := range c.Snapshot.Nodes() {
		for _, pod := range n.Pods {
			terms := topology.RequiredApart(pod.Object)
			if len(terms) == 0 || c.terms.leaving[pod.Key] {
				continue
			}
			buf = encode.AffinityTerms(encode.String(buf[:0], pod.Object.Namespace), terms)
			for i := range terms {
				for _, k := range slices.Concat(terms[i].MatchLabelKeys, terms[i].MismatchLabelKeys) {
					buf = encode.String(buf, pod.Object.Labels[k])
				}
			}
			numbers, ok := seen[string(buf)]
			if !ok {
				for _, t := range topology.Bans(pod.Object, c.namespaces) {
					numbers = append(numbers, c.terms.book.Number(t))
				}
				seen[string(buf)] = numbers
			}
			c.repulsions = append(c.repulsions, repulsion{node: n.Name, terms: numbers})
		}
	}
}

// joinGroups finds the groups that count each spec, once all groups are known.
//
// A spread group counts only pods that have rules or are counted by required ones. The others are placed after them, and are
// in no one's way then.
func (c *compiler) joinGroups() {
	if len(c.Groups) == 0 && len(c.repulsions) == 0 && !daemonsRepel(c) {
		c.Daemons = nil
		for _, s := range specs(c) {
			s.Free = true
		}
		return
	}
	for _, b := range c.repulsions {
		for _, t := range b.terms {
			c.repulsionGroup(t)
		}
	}
	for _, d := range c.Daemons {
		if d != nil {
			for _, t := range d.terms {
				d.Repels = append(d.Repels, c.repulsionGroup(t))
			}
		}
	}
	var terms []int
	for _, s := range specs(c) {
		if len(s.Stages) > 0 { // else it takes no part in the plan
			terms = c.terms.selecting(terms, s.Pod)
			c.joinSpec(s, terms)
		}
	}
	for _, class := range c.Classes {
		for _, m := range class.Members {
			if g := c.Groups[m]; g.Kind == topology.Near && class.Refused.OK() {
				g.Classes = append(g.Classes, class)
			}
		}
	}
	joinDaemons(c)
}

// joinSpec finds the groups that count the spec, which the terms select.
func (c *compiler) joinSpec(s *Spec, terms []int) {
	ruled := len(s.Rules) > 0 || len(s.Ports) > 0
	var spread []int
	for _, t := range terms {
		for _, i := range c.terms.groups[t] {
			if c.Groups[i].Kind == topology.Spread {
				spread = append(spread, i)
			} else {
				s.Members, ruled = append(s.Members, i), ruled || c.Groups[i].Hard
			}
		}
	}
	for _, i := range spread {
		if ruled && bothSatisfiable(s.Required, c.Groups[i].Filter.Terms) {
			s.Members = append(s.Members, i)
		}
	}
	s.Free = !ruled
	for _, q := range s.Ports {
		for _, i := range c.ports {
			if q.Conflicts(c.Groups[i].Port) {
				s.Members = append(s.Members, i)
			}
		}
	}
	slices.Sort(s.Members)
	s.Members = slices.Compact(s.Members)
	for _, m := range s.Members {
		if c.Groups[m].Key == HostKey {
			s.NodeMembers = append(s.NodeMembers, m)
		}
	}
}

// bothSatisfiable reports whether some node could meet both alternatives; nil is met by all.
func bothSatisfiable(a, b *catalog.NodeTerms) bool {
	if a == nil || b == nil || a == b {
		return true
	}
	return slices.ContainsFunc(a.Terms, func(x require.Set) bool {
		return slices.ContainsFunc(b.Terms, func(y require.Set) bool {
			_, ok := x.Intersects(y)
			return ok
		})
	})
}

// namespaceIndex returns a function from a selector of namespaces to their names.
func namespaceIndex(s *model.Snapshot) topology.Namespaces {
	return func(selector labels.Selector) []string {
		var out []string
		for _, n := range s.Namespaces() {
			if selector.Matches(labels.Set(n.Labels)) {
				out = append(out, n.Name)
			}
		}
		return out
	}
}

// Lacks reports whether a node in these domains, given by key, is without a label that it needs to count for the group.
func (g *Group) Lacks(domain func(key int) int) bool {
	return slices.ContainsFunc(g.With, func(key int) bool { return key != HostKey && domain(key) == Outside })
}

// findStaticSpreads finds the groups spread per node for which no new node can count: their pods are spread over the nodes
// that exist, of which none need be empty.
func (c *compiler) findStaticSpreads() {
	for i, g := range c.Groups {
		if g.Key == HostKey && g.Kind == topology.Spread && !c.InFlightCounts(g) && !c.newNodeCounts(g) {
			g.Static, g.Idle = true, c.LeastIdle(i)
		}
	}
}

// InFlightCounts reports whether some claim that is not launched may count for the group.
func (p *Problem) InFlightCounts(g *Group) bool {
	return slices.ContainsFunc(p.Nodes, func(n *Node) bool { return n.InFlight && !g.Lacks(n.Domain) })
}

// newNodeCounts reports whether some pool has a type whose nodes count for the group.
func (p *Problem) newNodeCounts(g *Group) bool {
	return slices.ContainsFunc(p.Catalog.Pools, func(pool *catalog.Pool) bool {
		return g.Filter.Tolerates(pool) && slices.ContainsFunc(p.CountingTerms(g), func(term require.Set) bool {
			s := pool.OffersFor(term)
			return s != nil && !s.Empty()
		})
	})
}

// CountingTerms returns the alternatives of which a node must meet one to count for the group, with the labels of its other
// spread keys.
func (p *Problem) CountingTerms(g *Group) []require.Set {
	with, terms := require.Set{}, []require.Set{{}}
	for _, key := range g.With {
		if key != HostKey {
			with = with.With(require.New(p.Keys[key].Label, require.Exists))
		}
	}
	if g.Filter.Terms != nil {
		terms = g.Filter.Terms.Terms
	}
	out := make([]require.Set, len(terms))
	for i, t := range terms {
		out[i] = t.And(with)
	}
	return out
}
