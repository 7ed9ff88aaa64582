package compile

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/binpack"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// DaemonSet pods come to new nodes, and constraints of pending pods may count them. Planning is conservative:
//
//   - A DaemonSet is certain if no other pod, host port or volume can keep its pods off nodes. They are counted on each
//     node it selects.
//   - For any other DaemonSet, it is not known on which nodes it runs. Pods that must avoid its pods are planned as if
//     they were on every node it selects. Pods with required affinity to its pods are planned as if they were on none.
//   - Over domains that nodes share, such as zones, pods that must avoid a DaemonSet's pods avoid each domain in which
//     a new node may run it. Pods that must be spread among its pods are refused: their number is not known yet.
//
// A pod refused for this reason is placed once a node with the DaemonSet pod exists.

// A Daemon is a DaemonSet whose pods constraints of pending pods count, or whose anti-affinity repels pending pods.
type Daemon struct {
	*model.Daemon
	// Certain says that no other pod, host port or volume can keep its pods off a new node that it selects.
	Certain bool
	// OnNewNodes says that its pods may run on nodes of at least one instance type of a pool.
	OnNewNodes bool
	// Selects are the node selector terms of its pods, with current label names. A node must meet one of them.
	Selects []require.Set
	// Members are the groups that count its pods. Repels are the groups that its required anti-affinity repels.
	Members, Repels []int

	terms []int // its required anti-affinity, as numbers of terms
}

// readDaemons reads the DaemonSets and adds the terms of their required anti-affinity to the book of terms.
func readDaemons(c *compiler) {
	for _, m := range c.Snapshot.Daemons() {
		if m.Object.DeletionTimestamp != nil {
			c.Daemons = append(c.Daemons, nil)
			continue
		}
		d := &Daemon{Daemon: m}
		d.Selects, _ = catalog.DaemonTerms(&m.Pod.Object.Spec)
		for i, t := range d.Selects {
			d.Selects[i] = t.Normalize(c.Settings.Labels.Aliases)
		}
		for _, t := range topology.Bans(m.Pod.Object, c.namespaces) {
			d.terms = append(d.terms, c.terms.book.Number(t))
		}
		c.Daemons = append(c.Daemons, d)
	}
}

// daemonsRepel reports whether some DaemonSet has required anti-affinity.
func daemonsRepel(c *compiler) bool {
	return slices.ContainsFunc(c.Daemons, func(d *Daemon) bool { return d != nil && len(d.terms) > 0 })
}

// joinDaemons finds the groups that count the pods of each DaemonSet. It drops DaemonSets that affect no class.
func joinDaemons(c *compiler) {
	var terms []int
	relevant := false
	for i, d := range c.Daemons {
		if d == nil {
			continue
		}
		terms = c.terms.selecting(terms, d.Pod)
		for _, t := range terms {
			d.Members = append(d.Members, c.terms.groups[t]...)
		}
		slices.Sort(d.Members)
		d.Certain = isCertain(c, d, terms)
		if len(d.Members) == 0 && !slices.ContainsFunc(c.Classes, func(class *Class) bool { return overlap(d.Repels, class.Members) }) {
			c.Daemons[i] = nil
			continue
		}
		relevant = true
		for _, m := range d.Members {
			c.Groups[m].Daemons = append(c.Groups[m].Daemons, i)
		}
	}
	if !relevant {
		c.Daemons = nil
	}
}

// overlap reports whether the lists have an element in common.
func overlap(a, b []int) bool {
	return slices.ContainsFunc(a, func(x int) bool { return slices.Contains(b, x) })
}

// isCertain reports whether no other pod, host port or volume can keep the DaemonSet's pods off a node that it
// selects. terms select its pods.
func isCertain(c *compiler, d *Daemon, terms []int) bool {
	spec := &d.Pod.Object.Spec
	if len(d.terms) > 0 || spec.Affinity != nil && spec.Affinity.PodAffinity != nil &&
		len(spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
		return false
	}
	if slices.ContainsFunc(spec.TopologySpreadConstraints, func(t corev1.TopologySpreadConstraint) bool {
		return t.WhenUnsatisfiable != corev1.ScheduleAnyway
	}) {
		return false
	}
	if slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil }) {
		return false
	}
	if slices.ContainsFunc(c.repulsions, func(r repulsion) bool { return overlap(r.terms, terms) }) {
		return false
	}
	ports := catalog.PortsOf(spec)
	return !slices.ContainsFunc(c.Daemons, func(o *Daemon) bool {
		return o != nil && o != d && (overlap(o.terms, terms) || catalog.PortsConflict(ports, catalog.PortsOf(&o.Pod.Object.Spec)))
	})
}

// coming returns the DaemonSets that have no pod on the node yet and may still run one, for a node with labels reqs.
func coming(c *compiler, daemons []catalog.DaemonPod, reqs require.Set, n *model.Node) []catalog.Presence {
	known := c.Settings.Known
	if n.Registered {
		known = nil // the node has all labels that it gets
	}
	return slices.DeleteFunc(catalog.PresencesOn(daemons, reqs, known), func(x catalog.Presence) bool {
		d := c.Daemons[x.Index]
		return d == nil || slices.ContainsFunc(n.Pods, func(pod *model.Pod) bool { return catalog.Owns(d.Daemon, pod) })
	})
}

// watchDaemons finds on which new nodes DaemonSets run. It sets OnNewNodes, Preloaded and the preload of the pools.
func watchDaemons(c *compiler) {
	if len(c.Daemons) == 0 {
		return
	}
	c.Catalog.Watch(c.Snapshot.Daemons(), func(i int) bool { return c.Daemons[i] != nil })
	for _, p := range c.Catalog.Pools {
		byType := make([][]binpack.Count, len(p.Types))
		for i, t := range p.Types {
			on := p.PresencesWithin(p.Requirements, i)
			if n, _ := c.Catalog.Limits.Allow(t); n > 0 {
				for _, x := range on {
					c.Daemons[x.Index].OnNewNodes = true
				}
			}
			byType[i] = preload(c, on)
			for _, n := range byType[i] {
				g := c.Groups[n.Group]
				g.Preloaded = max(g.Preloaded, n.N)
			}
		}
		p.SetPreload(byType)
	}
}

// preload returns the DaemonSet pods on a new node that spread constraints over the hostname count. The result has
// one Count per group, ordered by group.
func preload(c *compiler, on []catalog.Presence) []binpack.Count {
	var out []binpack.Count
	for _, x := range on {
		for _, m := range c.Daemons[x.Index].Members {
			if g := c.Groups[m]; g.Key != HostKey || g.Kind != topology.Spread {
				continue
			}
			at := slices.IndexFunc(out, func(n binpack.Count) bool { return n.Group == m })
			if at < 0 {
				at = len(out)
				out = append(out, binpack.Count{Group: m})
			}
			out[at].N++
		}
	}
	slices.SortFunc(out, func(a, b binpack.Count) int { return a.Group - b.Group })
	return out
}

// domainsOnNewNodes returns the domains of the key in which a new node may run the DaemonSet.
func domainsOnNewNodes(c *compiler, daemon, key int) []int {
	k := c.Keys[key]
	found := make([]bool, len(k.Names))
	for _, p := range c.Catalog.Pools {
		for i, t := range p.Types {
			if n, _ := c.Catalog.Limits.Allow(t); n == 0 {
				continue
			}
			for _, o := range t.Buyable {
				reqs := t.Allowed.And(o.Requirements)
				on := p.PresencesWithin(reqs, i)
				if !slices.ContainsFunc(on, func(x catalog.Presence) bool { return x.Index == daemon }) {
					continue
				}
				r, ok := reqs.Get(k.Label)
				for d, name := range k.Names {
					found[d] = found[d] || ok && r.Has(name) || !ok && k.Open
				}
			}
		}
	}
	var out []int
	for d, yes := range found {
		if yes {
			out = append(out, d)
		}
	}
	return out
}

// countDaemons counts the DaemonSet pods that do not exist yet, on existing nodes and on new ones.
func countDaemons(c *compiler) {
	for _, n := range c.All {
		if !n.Deleting {
			countComing(c, n)
		}
	}
	for i, d := range c.Daemons {
		if d == nil || !d.OnNewNodes {
			continue
		}
		for _, m := range d.Members {
			switch g, n := c.Groups[m], &c.Counts.groups[m]; {
			case g.Kind == topology.Near:
				n.Total++ // so kube-scheduler's first-pod exception does not apply; see Rule.Affinity
			case g.Kind == topology.Apart && g.Key != HostKey:
				for _, domain := range domainsOnNewNodes(c, i, g.Key) {
					n.Present[domain]++
				}
			}
		}
		for _, m := range d.Repels {
			if g := c.Groups[m]; g.Key != HostKey {
				for _, domain := range domainsOnNewNodes(c, i, g.Key) {
					c.Counts.groups[m].Limit[domain] = 0
				}
				c.Counts.groups[m].UnsettledClosed = c.Keys[g.Key].Open
			}
		}
	}
}

// countComing counts the DaemonSet pods that an existing node may still get. Anti-affinity and spread count all of
// them. Affinity counts in Present only those that are certain to come, and in Total all of them.
func countComing(c *compiler, n *Node) {
	for _, x := range n.Coming {
		d := c.Daemons[x.Index]
		sure := d.Certain && x.Certain && !portTaken(c, d, n)
		for _, m := range d.Members {
			countComingIn(c, n, m, sure)
		}
		for _, m := range d.Repels {
			for _, domain := range c.DomainsOf(n, c.Groups[m].Key) {
				c.Counts.groups[m].Limit[domain] = 0
			}
		}
	}
}

// portTaken reports whether a pod on the node uses a host port that the DaemonSet's pods need.
func portTaken(c *compiler, d *Daemon, n *Node) bool {
	ports := catalog.PortsOf(&d.Pod.Object.Spec)
	return len(ports) > 0 && slices.ContainsFunc(n.Pods, func(pod *model.Pod) bool {
		return catalog.PortsConflict(ports, catalog.PortsOf(&pod.Object.Spec))
	})
}

func countComingIn(c *compiler, n *Node, m int, sure bool) {
	g, counts := c.Groups[m], &c.Counts.groups[m]
	counts.Total++
	if g.Kind == topology.Spread && (!n.InFlight && !c.IsEligible(g, n) || !tolerates(g, n)) {
		return
	}
	settled := n.Domain(g.Key) >= 0
	sure = sure && settled && n.Index >= 0
	for _, domain := range c.DomainsOf(n, g.Key) {
		if g.Kind != topology.Near || sure {
			counts.Present[domain]++
		}
		if sure && c.IsEligible(g, n) {
			counts.Certain[domain]++
		}
	}
}

// countsNewDaemons returns a DaemonSet that runs on new nodes and whose pods the group counts. It returns nil if there
// is none, or if the group is not a spread over domains that nodes share.
func (p *Problem) countsNewDaemons(group int) *Daemon {
	g := p.Groups[group]
	if g.Kind != topology.Spread || g.Key == HostKey {
		return nil
	}
	for _, key := range append([]int{g.Key}, g.With...) {
		if k := p.Keys[key]; key != HostKey && len(k.Reach) == 0 && !k.Open {
			return nil // new nodes lack the label and do not count
		}
	}
	for _, i := range g.Daemons {
		if p.Daemons[i].OnNewNodes {
			return p.Daemons[i]
		}
	}
	return nil
}

// dropDaemonSpreads removes the stage's preferred spreads over shared domains that count DaemonSet pods on new nodes.
func dropDaemonSpreads(c *compiler, stage *Stage) {
	if slices.ContainsFunc(stage.OverDomains, func(r Rule) bool { return r.Soft && c.countsNewDaemons(r.Group) != nil }) {
		stage.OverDomains = slices.DeleteFunc(slices.Clone(stage.OverDomains), func(r Rule) bool {
			return r.Soft && c.countsNewDaemons(r.Group) != nil
		})
	}
}

// refuseDaemonSpread refuses a class whose required spread over shared domains counts DaemonSet pods on new nodes.
func refuseDaemonSpread(c *compiler, class *Class) model.Verdict {
	for _, r := range class.Last().OverDomains {
		if d := c.countsNewDaemons(r.Group); d != nil {
			return model.Verdict{Rule: model.RuleTopology, Cause: model.CauseDaemonSpread,
				Key: c.Keys[c.Groups[r.Group].Key].Label, Subject: "DaemonSet " + d.Key}
		}
	}
	return model.Verdict{}
}

// DaemonsOf returns the names of the DaemonSets that may run on new nodes and whose pods the group counts.
func (p *Problem) DaemonsOf(g *Group) []string {
	var out []string
	for _, i := range g.Daemons {
		if p.Daemons[i].OnNewNodes {
			out = append(out, p.Daemons[i].Key)
		}
	}
	return out
}

// DaemonsRepelling names the DaemonSets on new nodes whose required anti-affinity repels the group's pods.
func (p *Problem) DaemonsRepelling(group int) []string {
	var out []string
	for _, d := range p.Daemons {
		if d != nil && d.OnNewNodes && slices.Contains(d.Repels, group) {
			out = append(out, d.Key)
		}
	}
	return out
}

// BlockingDaemons returns the names of the DaemonSets that may keep the class off new nodes. Either a per-node rule
// of the stage counts their pods, or their anti-affinity repels the class.
func (p *Problem) BlockingDaemons(c *Class, s *Stage) []string {
	var out []string
	for r := range s.Rules {
		if g := p.Groups[r.Group]; g.Key == HostKey {
			out = append(out, p.DaemonsOf(g)...)
		}
	}
	for _, m := range c.NodeMembers {
		out = append(out, p.DaemonsRepelling(m)...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
