package compile

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/pack/encode"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// A Group is a topology group: the pods that one term selects (a label selector with a topology key), for constraints
// of one kind. They are counted by domain of the key. If the key is the hostname, domains are the nodes of Problem.Nodes,
// and package binpack counts the pods on new nodes. A term has a group of its own for each Filter and each list of
// OtherKeys. Other groups count pods with conflicting host ports, see Port.
type Group struct {
	Kind topology.Kind
	Key  int // index in Problem.Keys
	// Filter selects the nodes whose pods count, for spread with nodeAffinityPolicy or nodeTaintsPolicy Honor.
	Filter catalog.NodeFilter
	// OtherKeys are the topology keys (indices in Problem.Keys) of the other required spread constraints of the pods with
	// this one. As in kube-scheduler, pods on a node without one of these labels are not counted.
	OtherKeys []int
	// Hard says that some constraint with this group is required.
	Hard bool
	// Classes are the classes whose pods the group counts, except refused ones. It is set only for affinity groups.
	Classes []*Class
	// Port is the host port of a group that counts the pods with conflicting host ports. Other groups have the zero Port.
	Port catalog.Port
	// Daemons are the indices in Problem.Daemons of the DaemonSets whose pods the group counts.
	Daemons []int
}

// A groupKey identifies a group: by the number of its term, kind, filter, and encoded OtherKeys.
type groupKey struct {
	term   int
	kind   topology.Kind
	filter catalog.NodeFilter
	with   string
}

// A termIndex numbers terms (label selectors with a topology key) and finds the groups of each term.
type termIndex struct {
	book   *topology.Book
	groups map[int][]int // groups[n] are the indices of the groups of term n
	// displaced has the keys of Snapshot.Displaced. These pods do not count on the node on which they still run.
	displaced map[string]bool
}

func newTermIndex(displaced []*model.Pod) termIndex {
	t := termIndex{book: topology.NewBook(), groups: map[int][]int{}, displaced: map[string]bool{}}
	for _, pod := range displaced {
		t.displaced[pod.Key] = true
	}
	return t
}

// selecting returns the numbers of the terms that select the pod, rising, without those that Book.Retain removed. It
// overwrites out.
func (t *termIndex) selecting(out []int, pod *model.Pod) []int {
	out = t.book.Selecting(out[:0], pod.Object.Namespace, pod.Object.Labels)
	slices.Sort(out)
	return slices.Compact(out)
}

// groupOf returns the index of the group of a rule of s. It adds the group if it is new. t are the tolerations of the
// stage.
func (c *compiler) groupOf(r *topology.Rule, s *Spec, t *catalog.Tolerations) int {
	g := Group{Kind: r.Kind, Key: c.keyOf(r.Term.Key)}
	if r.Kind == topology.Spread && r.HonorAffinity {
		g.Filter.Terms = s.Required
	}
	if r.Kind == topology.Spread && r.HonorTaints {
		g.Filter.Tolerations = t
	}
	if r.Kind == topology.Spread && !r.Soft && len(s.Rules) > 1 {
		g.OtherKeys = c.otherSpreadKeys(s, g.Key)
	}
	key := groupKey{term: c.terms.book.Number(r.Term), kind: r.Kind, filter: g.Filter, with: string(encode.Ints(nil, g.OtherKeys))}
	if i, ok := c.groupAt[key]; ok {
		return i
	}
	fresh := g
	return c.addGroup(key, &fresh)
}

// otherSpreadKeys returns the indices of the topology keys of the required spread constraints of s except own, rising.
func (c *compiler) otherSpreadKeys(s *Spec, own int) []int {
	var keys []int
	for i := range s.Rules {
		if r := &s.Rules[i]; r.Kind == topology.Spread && !r.Soft {
			if key := c.keyOf(r.Term.Key); key != own && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	slices.Sort(keys)
	return keys
}

// addGroup returns the index of the group with the key. If there is none, it adds g.
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

// repulsionGroup returns the index of the group of the pods that a term of required anti-affinity selects.
func (c *compiler) repulsionGroup(term int) int {
	i := c.addGroup(groupKey{term: term, kind: topology.Apart},
		&Group{Kind: topology.Apart, Key: c.keyOf(c.terms.book.Term(term).Key)})
	c.Groups[i].Hard = true
	return i
}

// portGroup returns the index of the group that counts the pods whose host ports conflict with q.
func (c *compiler) portGroup(q catalog.Port) int {
	i := slices.IndexFunc(c.ports, func(g int) bool { return c.Groups[g].Port == q })
	if i >= 0 {
		return c.ports[i]
	}
	c.Groups = append(c.Groups, &Group{Kind: topology.Apart, Key: HostKey, Port: q, Hard: true})
	c.ports = append(c.ports, len(c.Groups)-1)
	return len(c.Groups) - 1
}

// A repulsion is the required anti-affinity of a running pod. A pod that one of the terms selects must not be placed in the
// domain of the running pod's node, by the topology key of the term.
type repulsion struct {
	node  string // name of the running pod's node
	terms []int  // numbers in termIndex.book
}

// findRepulsions sets repulsions from the required anti-affinity of the running pods, except displaced ones.
func (c *compiler) findRepulsions() {
	seen := map[string][]int{}
	var buf []byte
	for _, n := range model.Repelling(c.Snapshot) {
		for _, pod := range n.Repelling {
			if c.terms.displaced[pod.Key] {
				continue
			}
			terms := topology.RequiredApart(pod.Object)
			buf = encode.Messages(encode.String(buf[:0], pod.Object.Namespace), terms)
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

// joinGroups adds the groups of required anti-affinity of running and DaemonSet pods. It then sets Spec.Members, NodeMembers
// and Free, Group.Classes, Daemon.Repels, and what joinDaemons sets. It must run after classify.
//
// Of the pods to plan, a spread group counts only those that have rules or host ports, or that required affinity or
// anti-affinity selects. All others (Spec.Free) come last in the order of the plan, so that they cannot violate the spread
// of pods placed before.
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
		if len(s.Stages) > 0 { // pods of a spec without stages are refused
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

// joinSpec finds the topology groups that count the pods of s, and stores them in s.Members and s.NodeMembers. It also sets
// s.Free. terms are the numbers of the affinity, anti-affinity and spread terms that select the pods.
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
		if f := c.Groups[i].Filter.Terms; ruled && (f == nil || c.Intern.BothMeet(s.Required, f) != nil) {
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

// namespaceIndex returns a function that returns the names of the namespaces that a label selector selects.
func namespaceIndex(s *model.Snapshot) topology.Namespaces {
	return func(selector labels.Selector) []string {
		var out []string
		for _, n := range s.Namespaces.Values() {
			if selector.Matches(labels.Set(n.Labels)) {
				out = append(out, n.Name)
			}
		}
		return out
	}
}

// Lacks reports whether a node lacks a label of OtherKeys, so that the group counts no pods on it. domain returns the
// node's domain of a key.
func (g *Group) Lacks(domain func(key int) int) bool {
	return slices.ContainsFunc(g.OtherKeys, func(key int) bool { return key != HostKey && domain(key) == Outside })
}
