package compile

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/pack/encode"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A Node is an existing node or a node in flight. A node in flight is a NodeClaim that is not launched yet, so its
// instance type is not known.
type Node struct {
	*model.Node
	// Index is the index in Problem.Nodes, and so the node's domain of HostKey. It is -1 for a node that takes no new
	// pods. Topology constraints still count the pods on such a node.
	Index int
	// InFlight says that the node is a NodeClaim without an instance. It may become one of several instance types.
	InFlight bool
	// MayHave are the values that each label of the node has or may get. A node in flight takes a pod only if all of these
	// values meet the pod's requirements. For a node with an instance they are its Labels. They are set when they are needed
	// first, before that MayHave is empty.
	MayHave require.Set
	// Room is the free capacity less the requests of expected DaemonSet pods, by dimension. It is ManyVolumes in dimensions
	// of volumes, which Volumes limits instead. It may be nil if Index is -1.
	Room []int64
	// Domains[k] is the node's domain of topology key k, Outside or Unsettled. The entry of HostKey is not used, because
	// method Domain returns Index for it. Domains is nil if there are no topology groups.
	Domains []int
	Volumes Attachments
	// Ports are the host ports of all DaemonSets whose pods may run on the node. Pods of some of them may run there already.
	Ports []catalog.Port
	// Expected are the DaemonSets of Problem.Daemons that have no pod on the node yet, but may get one.
	Expected []catalog.Presence
}

// Domain returns the node's domain of the key.
func (n *Node) Domain(key int) int {
	if key == HostKey {
		return n.Index
	}
	return n.Domains[key]
}

// IsNominated reports whether the pod is nominated to, or was planned for, the node or its NodeClaim.
func (n *Node) IsNominated(s *model.Snapshot, pod *model.Pod) bool {
	name := s.TargetOf(pod)
	return name != "" && (name == n.Name || n.Claim != nil && name == n.Claim.Name)
}

// compileNodes sets Problem.Nodes and Problem.All. It omits NodeClaims without an instance that are being deleted, and those
// that no instance type fits.
func compileNodes(c *compiler) {
	least := leastDemand(c)
	var closed []*Node
	for m := range c.Snapshot.NodesInOrder() {
		if len(c.Groups) == 0 && m.Launched() && (m.Deleting || isFull(c, m, least)) {
			continue
		}
		n := &Node{Node: m, Index: -1}
		if m.Launched() {
			compileLaunched(c, n, least)
		} else if m.Deleting || !compileInFlight(c, n) {
			continue
		}
		if n.Index < 0 {
			closed = append(closed, n)
		} else {
			c.Nodes = append(c.Nodes, n)
		}
	}
	slices.SortStableFunc(c.Nodes, func(a, b *Node) int {
		return cmp.Or(int(encode.Bool(b.Initialized))-int(encode.Bool(a.Initialized)), strings.Compare(a.Name, b.Name))
	})
	for i, n := range c.Nodes {
		n.Index = i
	}
	c.All = append(slices.Clone(c.Nodes), closed...)
}

// leastDemand returns the smallest request of any class, by dimension. No pod fits on a node with less free capacity.
func leastDemand(c *compiler) []int64 {
	least := make([]int64, c.Dimensions.Len())
	for i := range least {
		least[i] = catalog.Unlimited
		for _, class := range c.Classes {
			least[i] = min(least[i], class.Demand.Amount[i])
		}
	}
	return least
}

// isFull reports whether the node has less free capacity than least of some resource.
func isFull(c *compiler, n *model.Node, least []int64) bool {
	for i, name := range c.Dimensions.Names[:c.Dimensions.Plain] {
		if least[i] > n.FreeOf(name) {
			return true
		}
	}
	return false
}

// compileInFlight sets the fields of a node in flight from the instance types that it may become: Room is the least, Ports
// and Expected are the union over these types. An expected DaemonSet is certain only if it is certain for each type. It
// returns false if there are none.
func compileInFlight(c *compiler, n *Node) bool {
	n.InFlight, n.MayHave = true, model.Wishes(c.Snapshot, n.Node)
	types := catalog.ClaimTypes(c.Snapshot, n.Node)
	if len(types) == 0 {
		return false
	}
	daemons := daemonsOn(c, n.Node)
	var labels []require.Set
	for i, t := range types {
		reqs := t.Requirements.And(n.MayHave)
		labels = append(labels, reqs)
		overhead := catalog.OverheadOf(daemons, reqs, c.Settings.Known)
		room := c.Volumes.Room(t, &overhead)
		if i == 0 {
			n.Room, n.Ports = room, overhead.Ports
			continue
		}
		for _, port := range overhead.Ports {
			if !slices.Contains(n.Ports, port) {
				n.Ports = append(n.Ports, port)
			}
		}
		for d := range room {
			n.Room[d] = min(n.Room[d], room[d])
		}
	}
	if len(c.Daemons) > 0 {
		n.Expected = expectedDaemons(c, daemons, labels, n.Node)
	}
	used := c.Dimensions.Vector(n.Used)
	for d := range used {
		n.Room[d] -= used[d]
	}
	setVolumesInFlight(c, n)
	n.MayHave = unionOfLabels(types, n.MayHave)
	if !c.Snapshot.Closed(n.Node) {
		n.Index = 0 // until compileNodes numbers the nodes
	}
	setDomains(c, n)
	return true
}

// compileLaunched sets the fields of a node that has an instance. Index stays -1 if no pod can be placed on the node.
// least is the result of leastDemand.
func compileLaunched(c *compiler, n *Node, least []int64) {
	setDomains(c, n)
	if n.Deleting {
		return
	}
	daemons := daemonsOn(c, n.Node)
	if len(c.Daemons) > 0 {
		n.Expected = expectedDaemons(c, daemons, []require.Set{require.FromLabels(n.Labels)}, n.Node)
	}
	if isFull(c, n.Node, least) || c.Snapshot.Closed(n.Node) {
		return
	}
	if catalog.NeedsLabels(daemons) {
		n.MayHave = require.FromLabels(n.Labels)
	}
	overhead := catalog.OverheadOf(daemons, n.MayHave, knownLabels(c, n.Node))
	n.Ports = overhead.Ports
	n.Room = make([]int64, c.Dimensions.Len())
	ignoreAttachments(c, n)
	for i, name := range c.Dimensions.Names[:c.Dimensions.Plain] {
		n.Room[i] = n.FreeOf(name) - max(overhead.Requests[name]-n.DaemonUsed[name], 0)
		if least[i] > n.Room[i] {
			return // expected DaemonSet pods need the free capacity
		}
	}
	setVolumesLaunched(c, n, overhead.WithVolumes)
	n.Index = 0 // until compileNodes numbers the nodes
}

// setDomains sets Domains of the node. New label values get the next domain numbers.
func setDomains(c *compiler, n *Node) {
	if len(c.Groups) == 0 {
		return
	}
	n.Domains = make([]int, len(c.Keys))
	for i, k := range c.Keys {
		n.Domains[i] = Outside
		if !n.InFlight {
			if v, ok := n.Labels[k.Label]; ok && i != HostKey {
				n.Domains[i] = k.domain(v)
			}
			continue
		}
		r, ok := n.MayHave.Get(k.Label)
		if !ok {
			continue
		}
		n.Domains[i] = Unsettled
		switch {
		case r.Operator() != corev1.NodeSelectorOpIn:
			k.InFlightOpen = true
		case r.Len() == 1:
			n.Domains[i] = k.domain(r.Values()[0])
		default:
			for v := range r.Each() {
				k.domain(v)
			}
		}
	}
}

// DomainsOf returns the domains of the key in which the node is or may be.
func (p *Problem) DomainsOf(n *Node, key int) []int {
	switch d := n.Domain(key); {
	case d >= 0:
		return []int{d}
	case d == Outside:
		return nil
	}
	var out []int
	k := p.Keys[key]
	r, _ := n.MayHave.Get(k.Label)
	for d, name := range k.Names {
		if r.Has(name) {
			out = append(out, d)
		}
	}
	return out
}

// unionOfLabels returns wanted with the labels of the types added. Each label gets the values of all types that define it.
// Labels whose value some type leaves open are not added.
func unionOfLabels(types []*model.InstanceType, wanted require.Set) require.Set {
	values := map[string][]string{}
	open := map[string]bool{} // labels whose value some type does not fix
	for _, t := range types {
		for r := range t.Requirements.All() {
			values[r.Key()] = append(values[r.Key()], r.Values()...)
			open[r.Key()] = open[r.Key()] || r.Operator() != corev1.NodeSelectorOpIn
		}
	}
	for key, list := range values {
		if !open[key] {
			wanted = wanted.With(require.New(key, corev1.NodeSelectorOpIn, list...))
		}
	}
	return wanted
}

// Meets reports whether the node's labels meet one of the terms of a. A node in flight must meet it with all values that
// its labels may get.
func (p *Problem) Meets(n *Node, a *catalog.NodeTerms) bool {
	if n.MayHave.Len() == 0 {
		n.MayHave = require.FromLabels(n.Labels)
	}
	return slices.ContainsFunc(a.Terms, func(term require.Set) bool {
		if n.InFlight || !n.Registered {
			term = term.Normalize(p.Settings.Labels.Aliases) // the node will get deprecated labels as well
		}
		if n.InFlight {
			return n.MayHave.Implies(term, nil)
		}
		_, ok := n.MayHave.Compatible(term, nil)
		return ok
	})
}

// daemonsOn returns the DaemonSets whose pods tolerate the node's taints, see catalog.DaemonsTolerating. It stores the result
// in c.daemons, because most nodes have the same taints.
func daemonsOn(c *compiler, n *model.Node) []catalog.DaemonPod {
	key := string(encode.Messages([]byte{encode.Bool(n.Registered)}, n.Taints))
	list, known := c.daemons[key]
	if !known {
		aliases := c.Settings.Labels.Aliases
		if n.Registered {
			aliases = nil // a registered node has all its labels, also under deprecated names
		}
		list = catalog.DaemonsTolerating(c.Snapshot.Daemons(), n.Taints, aliases)
		c.daemons[key] = list
	}
	return list
}
