package compile

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// A new node gets DaemonSet pods that constraints of pods to plan may count. Planning is conservative:
//
//   - Over the hostname, a pod whose anti-affinity or spread constraint counts DaemonSet pods gets no new node that may run
//     such a pod. A pod with affinity to DaemonSet pods gets a new node that is certain to run one.
//   - Over labels that nodes share, such as the zone, a pod whose required anti-affinity or spread counts DaemonSet pods of
//     new nodes is refused. The domains of such DaemonSet pods are not known. Preferences of this kind are dropped.
//     Affinity counts only DaemonSet pods on nodes that exist.
//   - A DaemonSet's required anti-affinity is treated likewise: the pods that it selects get no new node that may run its
//     pods. Over labels that nodes share, they are refused.
//
// A DaemonSet is certain if no other pod, host port or volume can keep its pods off a node that it selects. If a pod is
// refused because its affinity needs a DaemonSet pod, a later plan places it once a node with that DaemonSet pod exists.

// A Daemon is a DaemonSet, with what decides on its pods on new nodes and on pods that must avoid or join them.
type Daemon struct {
	*model.Daemon
	// Certain says that no other pod, host port or volume can keep its pods off a node that it selects.
	Certain bool
	// OnNewNodes says that a new node of at least one type may run its pods.
	OnNewNodes bool
	// Selects are the terms of its node selector and node affinity, with current label names. Its pods run only on nodes
	// that meet at least one of them.
	Selects []require.Set
	// Members are the groups that count its pods. Excludes are the groups of the pods that its required anti-affinity
	// selects.
	Members, Excludes []int
}

// compileDaemons sets Problem.Daemons with Selects and Excludes of each, and Group.ExcludedBy.
func compileDaemons(c *compiler) {
	for i, m := range c.Snapshot.Daemons() {
		d := &Daemon{Daemon: m, Excludes: c.addExcludedGroups(m.Pod)}
		d.Selects, _ = catalog.DaemonTerms(&m.Pod.Object.Spec)
		for i, t := range d.Selects {
			d.Selects[i] = t.Normalize(c.Settings.Labels.Aliases)
		}
		for _, g := range d.Excludes {
			c.Groups[g].ExcludedBy = append(c.Groups[g].ExcludedBy, i)
		}
		c.Daemons = append(c.Daemons, d)
	}
}

// linkDaemons sets Daemon.Members, Daemon.Certain and Group.Daemons. It sets c.Daemons to nil if the DaemonSets affect no
// pods to plan.
func linkDaemons(c *compiler) {
	relevant := false
	for i, d := range c.Daemons {
		d.Members = c.groupsOf(nil, d.Pod)
		d.Certain = isCertain(c, d)
		for _, m := range d.Members {
			c.Groups[m].Daemons = append(c.Groups[m].Daemons, i)
		}
		relevant = relevant || len(d.Members)+len(d.Excludes) > 0
	}
	if !relevant {
		c.Daemons = nil
	}
}

// isCertain returns Daemon.Certain. It uses Members.
func isCertain(c *compiler, d *Daemon) bool {
	spec := &d.Pod.Object.Spec
	ports := catalog.PortsOf(spec)
	return !slices.ContainsFunc(topology.Of(d.Pod.Object, c.namespaces, nil), func(r topology.Rule) bool { return !r.Soft }) &&
		!slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool { return v.PersistentVolumeClaim != nil || v.Ephemeral != nil }) &&
		!slices.ContainsFunc(d.Members, func(m int) bool { return c.Groups[m].excluded }) &&
		!slices.ContainsFunc(c.Daemons, func(o *Daemon) bool {
			return o != d && catalog.PortsConflict(ports, catalog.PortsOf(&o.Pod.Object.Spec))
		})
}

// expectedDaemons returns those of daemons that have no pod on node n yet, and may get one. The pods of daemons tolerate
// the taints of the node. The node's labels meet one of the sets in nodes.
func expectedDaemons(c *compiler, daemons []catalog.DaemonPod, nodes []require.Set, n *model.Node) []catalog.Presence {
	return slices.DeleteFunc(catalog.PresencesOn(daemons, nodes, knownLabels(c, n)), func(x catalog.Presence) bool {
		return runs(n, c.Daemons[x.Index].Daemon)
	})
}

// runs reports whether a pod of the DaemonSet, by namespace and name of the pod's owner, runs on node n.
func runs(n *model.Node, d *model.Daemon) bool {
	isOwner := func(o metav1.OwnerReference) bool { return o.Kind == "DaemonSet" && o.Name == d.Object.Name }
	return slices.ContainsFunc(n.Pods, func(pod *model.Pod) bool {
		return pod.Object.Namespace == d.Object.Namespace && slices.ContainsFunc(pod.Object.OwnerReferences, isOwner)
	})
}

// knownLabels returns a function that reports whether the node may get a label that it does not have yet, nil if it gets none.
func knownLabels(c *compiler, n *model.Node) func(string) bool {
	if n.Registered {
		return nil // a registered node has all its labels
	}
	return c.Settings.Known
}

// markOnNewNodes sets Daemon.OnNewNodes of the DaemonSets in Problem.Daemons. It considers the types of which the limits allow
// one more node.
func markOnNewNodes(c *compiler) {
	if len(c.Daemons) == 0 {
		return
	}
	for _, p := range c.Catalog.Pools {
		for i, t := range p.Types {
			if n, _ := c.Catalog.Limits.Allow(t); n > 0 {
				for _, x := range p.PresencesWithin(p.Requirements, i) {
					c.Daemons[x.Index].OnNewNodes = true
				}
			}
		}
	}
}

// countExpected counts the DaemonSet pods that node n is expected to get, and applies their anti-affinity.
func countExpected(c *compiler, n *Node) {
	for _, x := range n.Expected {
		d := c.Daemons[x.Index]
		certain := d.Certain && x.Certain && n.Index >= 0 && !portTaken(c, d, n)
		for _, m := range d.Members {
			c.Counts.addOn(m, n, 1, certain)
		}
		c.Counts.exclude(n, d.Excludes)
	}
}

// portTaken reports whether a pod on the node uses a host port that conflicts with a host port of the DaemonSet's pods.
func portTaken(c *compiler, d *Daemon, n *Node) bool {
	ports := catalog.PortsOf(&d.Pod.Object.Spec)
	return len(ports) > 0 && slices.ContainsFunc(n.Pods, func(pod *model.Pod) bool {
		return catalog.PortsConflict(ports, catalog.PortsOf(&pod.Object.Spec))
	})
}

// countedOnNewNodes returns the names of the DaemonSets whose pods on new nodes a spread or anti-affinity rule over a label
// that nodes share counts.
func (p *Problem) countedOnNewNodes(r *Rule) []string {
	g := p.Groups[r.Group]
	if g.Kind == topology.Affinity || !p.onNewNodes(g) {
		return nil
	}
	return p.OnNewNodes(g.Daemons)
}

// onNewNodes reports whether new nodes may have the labels by which the group counts pods.
func (p *Problem) onNewNodes(g *Group) bool {
	return !slices.ContainsFunc(append([]int{g.Key}, g.OtherKeys...), func(key int) bool {
		k := p.Keys[key]
		return key != HostKey && len(k.Reach) == 0 && !k.Open
	})
}

// refuseDaemonRules returns a reason to refuse the class if its required spread or anti-affinity over labels that nodes
// share counts DaemonSet pods on new nodes, or if required anti-affinity of such pods over these labels selects the class.
// Otherwise the verdict is OK.
func refuseDaemonRules(c *compiler, class *Class) model.Verdict {
	refusal := func(cause model.Cause, g *Group, daemon string) model.Verdict {
		return model.Verdict{Rule: model.RuleTopology, Cause: cause, Key: c.Keys[g.Key].Label, Subject: "DaemonSet " + daemon}
	}
	for _, r := range class.Last().OverDomains {
		if names := c.countedOnNewNodes(&r); len(names) > 0 && r.Kind == topology.Spread {
			return refusal(model.CauseDaemonSpread, c.Groups[r.Group], names[0])
		} else if len(names) > 0 {
			return refusal(model.CauseAntiAffinity, c.Groups[r.Group], names[0])
		}
	}
	for _, m := range class.Members {
		g := c.Groups[m]
		if names := c.OnNewNodes(g.ExcludedBy); len(names) > 0 && g.Key != HostKey && c.onNewNodes(g) {
			return refusal(model.CauseOthersAffinity, g, names[0])
		}
	}
	return model.Verdict{}
}

// OnNewNodes returns the names of those of the DaemonSets, given by their indices in Daemons, that may run on new nodes.
func (p *Problem) OnNewNodes(daemons []int) []string {
	var out []string
	for _, i := range daemons {
		if p.Daemons[i].OnNewNodes {
			out = append(out, p.Daemons[i].Key)
		}
	}
	return out
}

// filterDaemons sets Daemons and DaemonAffinity of the stage. It also removes preferred rules over labels that nodes share:
// those for which refuseDaemonRules would refuse the class if they were required.
func filterDaemons(c *compiler, s *Spec, stage *Stage) {
	stage.OverDomains = slices.DeleteFunc(slices.Clone(stage.OverDomains), func(r Rule) bool {
		return r.Soft && len(c.countedOnNewNodes(&r)) > 0
	})
	var avoid []int
	var oneOf [][]int
	counted := true // whether each affinity rule over the hostname counts DaemonSet pods
	for _, r := range stage.PerNode {
		g := c.Groups[r.Group]
		if r.Kind != topology.Affinity {
			avoid = append(avoid, g.Daemons...)
			continue
		}
		counted = counted && len(g.Daemons) > 0
		oneOf = append(oneOf, slices.DeleteFunc(slices.Clone(g.Daemons), func(i int) bool { return !c.Daemons[i].Certain }))
	}
	for _, m := range s.NodeMembers {
		avoid = append(avoid, c.Groups[m].ExcludedBy...)
	}
	slices.Sort(avoid)
	avoid = slices.Compact(avoid)
	stage.Daemons = c.Intern.Daemons(avoid, nil)
	if len(oneOf) > 0 && counted {
		stage.DaemonAffinity = c.Intern.Daemons(avoid, oneOf)
	}
}

// NarrowToDaemons narrows node terms to nodes that f.OneOf can admit. For each set of DaemonSets in f.OneOf, at least one
// DaemonSet of the set must select the node. A set is ignored if no node that meets the terms can meet it.
func (p *Problem) NarrowToDaemons(a *catalog.NodeTerms, f *catalog.DaemonFilter) *catalog.NodeTerms {
	if f == nil {
		return a
	}
	for _, set := range f.OneOf {
		var terms []require.Set
		for _, i := range set {
			terms = append(terms, p.Daemons[i].Selects...)
		}
		a = p.Intern.Narrow(a, p.Intern.Terms(terms))
	}
	return a
}
