package catalog

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A DaemonPod is a DaemonSet whose pods tolerate certain taints. It has the other conditions that decide whether a pod
// of the DaemonSet runs on a node with these taints.
type DaemonPod struct {
	Set   *model.Daemon
	Index int // index of Set in Snapshot.Daemons
	Ports []Port

	terms    []require.Set // node selector and node affinity: a node must meet one of the terms
	anywhere bool          // some term has no requirements
	byName   bool          // some term selects nodes by name, which is not checked. The pod is then never certain to run
}

// A Presence says that a DaemonSet's pod may run on a node, by what is known of the node's labels.
type Presence struct {
	Index   int  // index of the DaemonSet in Snapshot.Daemons
	Certain bool // its node selector and node affinity match for all possible values of the labels, and have no matchFields
}

// An Overhead is what the DaemonSet pods on a node use.
type Overhead struct {
	Requests    model.Resources
	Ports       []Port
	WithVolumes []*model.Daemon // the DaemonSets whose pods have volumes
}

// DaemonsTolerating returns the DaemonSets whose pods tolerate the taints. Taints with effect PreferNoSchedule are ignored.
// Label names in node selector and node affinity are replaced by their aliases: for nodes that are not registered, deprecated
// names by current ones, because such a node will get both.
func DaemonsTolerating(daemons []*model.Daemon, taints []corev1.Taint, aliases map[string]string) []DaemonPod {
	var out []DaemonPod
	for i, d := range daemons {
		if _, refused := model.Untolerated(daemonTolerations(d), taints); refused {
			continue
		}
		terms, byName := DaemonTerms(&d.Pod.Object.Spec)
		for i := range terms {
			terms[i] = terms[i].Normalize(aliases)
		}
		anywhere := slices.ContainsFunc(terms, func(t require.Set) bool { return t.Len() == 0 })
		out = append(out, DaemonPod{Set: d, Index: i, Ports: PortsOf(&d.Pod.Object.Spec), terms: terms, anywhere: anywhere, byName: byName})
	}
	return out
}

// DaemonTerms returns the alternative label requirements of a DaemonSet's node selector and required node affinity.
// They do not include matchFields, which select nodes by name. byName says that there are matchFields. Without terms, no
// node matches.
func DaemonTerms(spec *corev1.PodSpec) (terms []require.Set, byName bool) {
	terms = selectorTerms(spec, func(t *corev1.NodeSelectorTerm) bool {
		byName = byName || len(t.MatchFields) > 0
		return len(t.MatchFields)+len(t.MatchExpressions) > 0 // by the API, an empty term matches no node
	})
	return terms, byName
}

// daemonTolerations returns the tolerations of the DaemonSet's pods, with those that the DaemonSet controller adds.
func daemonTolerations(d *model.Daemon) []corev1.Toleration {
	list := slices.Concat(d.Pod.Object.Spec.Tolerations, addedTolerations)
	if d.Pod.Object.Spec.HostNetwork {
		list = append(list, toleration(corev1.TaintNodeNetworkUnavailable, corev1.TaintEffectNoSchedule))
	}
	return list
}

// addedTolerations are the tolerations that the DaemonSet controller adds to each pod that it creates.
var addedTolerations = []corev1.Toleration{
	toleration(corev1.TaintNodeNotReady, corev1.TaintEffectNoExecute),
	toleration(corev1.TaintNodeUnreachable, corev1.TaintEffectNoExecute),
	toleration(corev1.TaintNodeDiskPressure, corev1.TaintEffectNoSchedule),
	toleration(corev1.TaintNodeMemoryPressure, corev1.TaintEffectNoSchedule),
	toleration(corev1.TaintNodePIDPressure, corev1.TaintEffectNoSchedule),
	toleration(corev1.TaintNodeUnschedulable, corev1.TaintEffectNoSchedule),
}

func toleration(key string, effect corev1.TaintEffect) corev1.Toleration {
	return corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists, Effect: effect}
}

// registeredLabels are labels that Karpenter sets on each node of a NodePool. A DaemonSet may select nodes by them.
var registeredLabels = require.NewSet(
	require.New(apiv1.NodeRegisteredLabelKey, require.In, "true"),
	require.New(apiv1.NodeInitializedLabelKey, require.In, "true"),
)

// NeedsLabels reports whether some of the DaemonSets selects nodes by labels.
func NeedsLabels(daemons []DaemonPod) bool {
	return slices.ContainsFunc(daemons, func(d DaemonPod) bool { return !d.anywhere })
}

// OverheadOf returns what DaemonSet pods use on a node with labels that meet reqs. It includes all pods that may run
// there. known reports whether the node may have a label that reqs does not mention. If known is nil, reqs mentions all
// labels of the node.
func OverheadOf(daemons []DaemonPod, reqs require.Set, known func(string) bool) Overhead {
	var o Overhead
	if len(daemons) == 0 {
		return o
	}
	o.Requests = model.Resources{}
	for i := range daemons {
		d := &daemons[i]
		if may, _ := d.meets(reqs, known); !may {
			continue
		}
		for name, v := range d.Set.Pod.Requests {
			o.Requests[name] += v
		}
		o.Ports = append(o.Ports, d.Ports...)
		if len(d.Set.Pod.Object.Spec.Volumes) > 0 {
			o.WithVolumes = append(o.WithVolumes, d.Set)
		}
	}
	return o
}

// PresencesOn returns the DaemonSets whose pods may run on a node with labels that meet one of the sets in nodes. A Presence
// is certain if it is certain for each of the sets. known is as in OverheadOf. The result is never nil.
func PresencesOn(daemons []DaemonPod, nodes []require.Set, known func(string) bool) []Presence {
	out := []Presence{}
	for i := range daemons {
		x, runs := Presence{Index: daemons[i].Index, Certain: true}, false
		for _, reqs := range nodes {
			may, certain := daemons[i].meets(reqs, known)
			runs, x.Certain = runs || may, x.Certain && certain
		}
		if runs {
			out = append(out, x)
		}
	}
	return out
}

// meets reports whether node selector and node affinity of the DaemonSet may match a node with labels that meet reqs.
// certain is Presence.Certain. known is as in OverheadOf.
func (d *DaemonPod) meets(reqs require.Set, known func(string) bool) (may, certain bool) {
	if d.anywhere {
		return true, !d.byName
	}
	reqs = reqs.And(registeredLabels)
	for _, t := range d.terms {
		if _, ok := reqs.Compatible(t, known); ok {
			may = true
			certain = certain || !d.byName && reqs.Implies(t, known)
		}
	}
	return may, certain
}

// A DaemonFilter selects new nodes by the DaemonSets whose pods may run there, for pods with constraints on DaemonSet pods.
// Equal filters share a pointer. A nil filter allows all nodes.
type DaemonFilter struct {
	// Avoid lists the DaemonSets that must not run on the node. DaemonSets are given by their index in Snapshot.Daemons.
	Avoid []int
	// OneOf lists sets of DaemonSets. At least one of each set must be certain to run on the node.
	OneOf [][]int
}

// admits reports whether a new node on which the DaemonSets in on may run meets the filter.
func (f *DaemonFilter) admits(on []Presence) bool {
	if slices.ContainsFunc(on, func(x Presence) bool { return slices.Contains(f.Avoid, x.Index) }) {
		return false
	}
	return !slices.ContainsFunc(f.OneOf, func(set []int) bool {
		return !slices.ContainsFunc(on, func(x Presence) bool { return x.Certain && slices.Contains(set, x.Index) })
	})
}

// Daemons returns the DaemonFilter with these fields, nil if it allows all nodes.
func (in *Interner) Daemons(avoid []int, oneOf [][]int) *DaemonFilter {
	if len(avoid)+len(oneOf) == 0 {
		return nil
	}
	return intern(in.daemons, fmt.Append(nil, avoid, oneOf), DaemonFilter{Avoid: avoid, OneOf: oneOf})
}

// IntersectFilters returns the filter for nodes that meet both a and b.
func (in *Interner) IntersectFilters(a, b *DaemonFilter) *DaemonFilter {
	switch {
	case a == nil:
		return b
	case b == nil || a == b:
		return a
	}
	return in.Daemons(slices.Concat(a.Avoid, b.Avoid), slices.Concat(a.OneOf, b.OneOf))
}
