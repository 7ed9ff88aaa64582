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

// A new node gets DaemonSet pods that constraints of pending pods may count. Planning is conservative:
//
//   - A DaemonSet is certain if no other pod, host port or volume can keep its pods off a node that it selects. Its pods
//     are counted on each such node.
//   - For an uncertain DaemonSet, anti-affinity and spread assume a pod on each node that it selects. Affinity assumes
//     none.
//   - Over domains that nodes share, such as zones, a new node may run a DaemonSet pod in some domains. A pod with
//     anti-affinity to DaemonSet pods avoids these domains. A pod with spread among DaemonSet pods is refused, because
//     their number is not known.
//
// A pod that is refused because of a DaemonSet is placed once a node with the DaemonSet pod exists.

// A Daemon is a DaemonSet that affects pending pods: a constraint of a pending pod counts its pods, or its required
// anti-affinity selects a pending pod.
type Daemon struct {
	*model.Daemon
	// Certain says that no other pod, host port or volume can keep its pods off a node that it selects.
	Certain bool
	// OnNewNodes says that a new node of at least one type may run its pods.
	OnNewNodes bool
	// Selects are the terms of its node selector and node affinity, with current label names. Its pods run on nodes that
	// meet at least one.
	Selects []require.Set
	// Members are the groups that count its pods. Repels are the groups of the pods that its required anti-affinity
	// selects.
	Members, Repels []int

	terms []int // numbers of the terms of its required anti-affinity
}

// readDaemons sets Problem.Daemons. It adds the terms of their required anti-affinity to c.terms.book.
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

// joinDaemons sets Daemon.Members: the groups that count the pods of the DaemonSet. It removes the DaemonSets that
// affect no class.
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

func overlap(a, b []int) bool {
	return slices.ContainsFunc(a, func(x int) bool { return slices.Contains(b, x) })
}

// isCertain returns Daemon.Certain. terms are the terms that select the pods of d.
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

// expectedDaemons returns the DaemonSets that have no pod on node n yet, but may get one. reqs are the label
// requirements that the node meets.
func expectedDaemons(c *compiler, daemons []catalog.DaemonPod, reqs require.Set, n *model.Node) []catalog.Presence {
	known := c.Settings.Known
	if n.Registered {
		known = nil // a registered node has all its labels
	}
	return slices.DeleteFunc(catalog.PresencesOn(daemons, reqs, known), func(x catalog.Presence) bool {
		d := c.Daemons[x.Index]
		return d == nil || slices.ContainsFunc(n.Pods, func(pod *model.Pod) bool { return catalog.Owns(d.Daemon, pod) })
	})
}

// watchDaemons finds out on which new nodes DaemonSets may run. It sets Daemon.OnNewNodes and Group.Preloaded, and
// calls Pool.SetPreload.
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

// preload returns how many pods each spread group over the hostname counts on a node with a pod of each DaemonSet in
// on. The result is ordered by group.
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

// domainsOnNewNodes returns the domains of the key in which a new node may run a pod of the DaemonSet.
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
			countExpected(c, n)
		}
	}
	for i, d := range c.Daemons {
		if d == nil || !d.OnNewNodes {
			continue
		}
		for _, m := range d.Members {
			switch g, n := c.Groups[m], &c.Counts.groups[m]; {
			case g.Kind == topology.Near:
				n.Total++ // a matching pod may exist, so pods cannot satisfy the affinity by themselves
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

// countExpected counts the DaemonSet pods that node n is expected to get, and applies their anti-affinity.
func countExpected(c *compiler, n *Node) {
	for _, x := range n.Expected {
		d := c.Daemons[x.Index]
		certain := d.Certain && x.Certain && !portTaken(c, d, n)
		for _, m := range d.Members {
			countExpectedIn(c, n, m, certain)
		}
		for _, m := range d.Repels {
			for _, domain := range c.DomainsOf(n, c.Groups[m].Key) {
				c.Counts.groups[m].Limit[domain] = 0
			}
		}
	}
}

// portTaken reports whether a pod on the node uses a host port that conflicts with one of the DaemonSet's pods.
func portTaken(c *compiler, d *Daemon, n *Node) bool {
	ports := catalog.PortsOf(&d.Pod.Object.Spec)
	return len(ports) > 0 && slices.ContainsFunc(n.Pods, func(pod *model.Pod) bool {
		return catalog.PortsConflict(ports, catalog.PortsOf(&pod.Object.Spec))
	})
}

// countExpectedIn counts an expected DaemonSet pod on node n in group m. An affinity group counts it in Present only if
// it is certain to run there. All groups count it in Total.
func countExpectedIn(c *compiler, n *Node, m int, certain bool) {
	g, counts := c.Groups[m], &c.Counts.groups[m]
	counts.Total++
	if g.Kind == topology.Spread && (!n.InFlight && !c.IsEligible(g, n) || !tolerates(g, n)) {
		return
	}
	settled := n.Domain(g.Key) >= 0
	certain = certain && settled && n.Index >= 0
	for _, domain := range c.DomainsOf(n, g.Key) {
		if g.Kind != topology.Near || certain {
			counts.Present[domain]++
		}
		if certain && c.IsEligible(g, n) {
			counts.Certain[domain]++
		}
	}
}

// countsNewDaemons returns a DaemonSet whose pods on new nodes a spread group counts, nil if there is none. It also
// returns nil for groups over the hostname and of other kinds.
func (p *Problem) countsNewDaemons(group int) *Daemon {
	g := p.Groups[group]
	if g.Kind != topology.Spread || g.Key == HostKey {
		return nil
	}
	for _, key := range append([]int{g.Key}, g.OtherKeys...) {
		if k := p.Keys[key]; key != HostKey && len(k.Reach) == 0 && !k.Open {
			return nil // new nodes lack the label, so the group does not count pods on them
		}
	}
	for _, i := range g.Daemons {
		if p.Daemons[i].OnNewNodes {
			return p.Daemons[i]
		}
	}
	return nil
}

// dropDaemonSpreads removes the stage's preferred spread constraints that count DaemonSet pods on new nodes, except
// those over the hostname.
func dropDaemonSpreads(c *compiler, stage *Stage) {
	if slices.ContainsFunc(stage.OverDomains, func(r Rule) bool { return r.Soft && c.countsNewDaemons(r.Group) != nil }) {
		stage.OverDomains = slices.DeleteFunc(slices.Clone(stage.OverDomains), func(r Rule) bool {
			return r.Soft && c.countsNewDaemons(r.Group) != nil
		})
	}
}

// refuseDaemonSpread returns a reason to refuse the class if its required spread constraints count DaemonSet pods on
// new nodes. Spread over the hostname is allowed. Otherwise the verdict is OK.
func refuseDaemonSpread(c *compiler, class *Class) model.Verdict {
	for _, r := range class.Last().OverDomains {
		if d := c.countsNewDaemons(r.Group); d != nil {
			return model.Verdict{Rule: model.RuleTopology, Cause: model.CauseDaemonSpread,
				Key: c.Keys[c.Groups[r.Group].Key].Label, Subject: "DaemonSet " + d.Key}
		}
	}
	return model.Verdict{}
}

// DaemonsOf returns the names of the DaemonSets whose pods the group counts and which may run on new nodes.
func (p *Problem) DaemonsOf(g *Group) []string {
	var out []string
	for _, i := range g.Daemons {
		if p.Daemons[i].OnNewNodes {
			out = append(out, p.Daemons[i].Key)
		}
	}
	return out
}

// DaemonsRepelling returns the names of the DaemonSets whose required anti-affinity selects the group's pods and which
// may run on new nodes.
func (p *Problem) DaemonsRepelling(group int) []string {
	var out []string
	for _, d := range p.Daemons {
		if d != nil && d.OnNewNodes && slices.Contains(d.Repels, group) {
			out = append(out, d.Key)
		}
	}
	return out
}

// BlockingDaemons returns the names of the DaemonSets that may keep the class off new nodes. Rules of the stage over
// the hostname count their pods, or their anti-affinity over the hostname selects the class.
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
