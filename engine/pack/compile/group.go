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
	// Daemons are the indices in Problem.Daemons of the DaemonSets whose pods the group counts. ExcludedBy are those whose
	// required anti-affinity selects the pods that it counts.
	Daemons, ExcludedBy []int

	excluded          bool // required anti-affinity of a running pod or of a DaemonSet selects the pods that it counts
	requiredByPlanned bool // some pod to plan has a required constraint with this group
}

// A groupKey identifies a group: by the number of its term (portTerm for host ports), its fields, and encoded OtherKeys.
type groupKey struct {
	term      int
	kind      topology.Kind
	filter    catalog.NodeFilter
	otherKeys string
	port      catalog.Port
}

// portTerm stands for the number of a term in groups that count the pods with conflicting host ports.
const portTerm = -1

// groupsOf returns the indices of the groups that count the pod, rising, without those of host ports. Spread groups count
// only some of these pods, see linkSpec. It overwrites out.
func (c *compiler) groupsOf(out []int, pod *model.Pod) []int {
	out = out[:0]
	c.selecting = c.book.Selecting(c.selecting[:0], pod.Object.Namespace, pod.Object.Labels)
	for _, term := range c.selecting {
		out = append(out, c.groupsByTerm[term]...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// groupOf returns the index of the group of a rule of s. It adds the group if it is new. t are the tolerations of the
// stage.
func (c *compiler) groupOf(r *topology.Rule, s *Spec, t *catalog.Tolerations) int {
	g := &Group{Kind: r.Kind, Key: c.keyOf(r.Term.Key), Hard: !r.Soft}
	if r.HonorAffinity {
		g.Filter.Terms = s.Required
	}
	if r.HonorTaints {
		g.Filter.Tolerations = t
	}
	if r.Kind == topology.Spread && !r.Soft {
		g.OtherKeys = c.otherSpreadKeys(s, g.Key)
	}
	i := c.addGroup(c.book.Number(r.Term), g)
	c.Groups[i].requiredByPlanned = c.Groups[i].requiredByPlanned || g.Hard
	return i
}

// otherSpreadKeys returns the indices of the topology keys of the required spread constraints of s except own, rising.
func (c *compiler) otherSpreadKeys(s *Spec, own int) []int {
	var keys []int
	for i := range s.Rules {
		if r := &s.Rules[i]; r.Kind == topology.Spread && !r.Soft {
			keys = append(keys, c.keyOf(r.Term.Key))
		}
	}
	keys = slices.DeleteFunc(keys, func(key int) bool { return key == own })
	slices.Sort(keys)
	return slices.Compact(keys)
}

// addGroup returns the index of the group of the term that equals g, except for Hard. If there is none, it adds g. If g
// is Hard, the group becomes Hard.
func (c *compiler) addGroup(term int, g *Group) int {
	key := groupKey{term: term, kind: g.Kind, filter: g.Filter, otherKeys: string(encode.Ints(nil, g.OtherKeys)), port: g.Port}
	i, ok := c.groupAt[key]
	if !ok {
		i = len(c.Groups)
		c.groupAt[key] = i
		c.Groups = append(c.Groups, g)
		if term == portTerm {
			c.ports.add(g.Port, i)
		} else {
			c.groupsByTerm[term] = append(c.groupsByTerm[term], i)
		}
	}
	c.Groups[i].Hard = c.Groups[i].Hard || g.Hard
	return i
}

// addExcludedGroups adds a group for each term of the pod's required anti-affinity, unless there is one, and marks it as
// excluded. It returns the indices of these groups. Pods that they count must not be placed in the domain of the pod's node.
func (c *compiler) addExcludedGroups(pod *model.Pod) []int {
	var out []int
	for _, t := range topology.AntiAffinityTerms(pod.Object, c.namespaces) {
		i := c.addGroup(c.book.Number(t), &Group{Kind: topology.AntiAffinity, Key: c.keyOf(t.Key), Hard: true})
		c.Groups[i].excluded = true
		out = append(out, i)
	}
	return out
}

// findExclusions sets c.excluded from the required anti-affinity of the running pods, and adds the groups of the pods that it
// selects. c.excluded leaves out displaced pods, because their nodes get no pods. But they run until they are evicted and may
// keep DaemonSet pods off other nodes. So their groups are marked as excluded too.
func (c *compiler) findExclusions() {
	seen := map[string][]int{}
	var buf []byte
	for _, n := range model.NodesWithAntiAffinity(c.Snapshot) {
		for _, pod := range n.WithAntiAffinity {
			terms := topology.RequiredAntiAffinity(pod.Object)
			buf = encode.Messages(encode.String(buf[:0], pod.Object.Namespace), terms)
			for i := range terms {
				buf = appendValues(buf, pod.Object, terms[i].MatchLabelKeys, terms[i].MismatchLabelKeys)
			}
			groups, ok := seen[string(buf)]
			if !ok {
				groups = c.addExcludedGroups(pod)
				seen[string(buf)] = groups
			}
			if !c.displaced[pod.Key] {
				c.excluded[n.Name] = append(c.excluded[n.Name], groups...)
			}
		}
	}
}

// linkSpecs sets Members, NodeMembers and Free of the specs of classes that are not refused. It must run after classify.
//
// Of the pods to plan, a spread group counts only those that have rules or host ports, or that required affinity or
// anti-affinity selects. All others (Spec.Free) come last in the order of the plan, so that they cannot violate the spread
// of pods placed before.
func (c *compiler) linkSpecs() {
	var groups []int
	for _, s := range c.specs {
		if len(s.Stages) > 0 { // pods of a spec without stages are refused
			groups = c.groupsOf(groups, s.Pod)
			c.linkSpec(s, groups)
		}
	}
}

// linkClasses sets Group.Classes of affinity groups. No class may be refused by rules about other pods to plan after that.
func (c *compiler) linkClasses() {
	for _, class := range c.Classes {
		for _, m := range class.Members {
			if g := c.Groups[m]; g.Kind == topology.Affinity && class.Refused.OK() {
				g.Classes = append(g.Classes, class)
			}
		}
	}
}

// linkSpec sets Members, NodeMembers and Free of s. groups is the result of groupsOf.
func (c *compiler) linkSpec(s *Spec, groups []int) {
	s.Free = len(s.Rules) == 0 && len(s.Ports) == 0 &&
		!slices.ContainsFunc(groups, func(i int) bool { return c.Groups[i].Kind != topology.Spread && c.Groups[i].Hard })
	for _, i := range groups {
		if c.Groups[i].Kind != topology.Spread || !s.Free && c.canMeetBoth(s.Required, c.Groups[i].Filter.Terms) {
			s.Members = append(s.Members, i)
		}
	}
	for _, q := range s.Ports {
		s.Members = c.ports.appendConflicts(s.Members, q)
	}
	slices.Sort(s.Members)
	s.Members = slices.Compact(s.Members) // two ports may conflict with the same port
	for _, m := range s.Members {
		if c.Groups[m].Key == HostKey {
			s.NodeMembers = append(s.NodeMembers, m)
		}
	}
}

// canMeetBoth reports whether some node can meet both a and b. Every node meets a nil b.
func (c *compiler) canMeetBoth(a, b *catalog.NodeTerms) bool {
	return b == nil || a == b || c.Intern.IntersectTerms(a, b) != nil
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

// LacksLabel reports whether a node lacks a label of OtherKeys, so that the group counts no pods on it. domain returns the
// node's domain of a key.
func (g *Group) LacksLabel(domain func(key int) int) bool {
	return slices.ContainsFunc(g.OtherKeys, func(key int) bool { return key != HostKey && domain(key) == Outside })
}
