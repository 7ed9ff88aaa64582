package catalog

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A DaemonPod is the pod of a DaemonSet on nodes whose taints it tolerates.
type DaemonPod struct {
	Set   *model.Daemon
	Index int // of Set among the DaemonSets of the snapshot
	Ports []Port

	terms    []require.Set // a node must meet one of them
	anywhere bool          // some term requires nothing
	byName   bool          // some term selects nodes by name, which is not looked at: the pod may run, but not surely
}

// A Presence says that a node may run a DaemonSet's pod, by what is known of its labels.
type Presence struct {
	Index int  // of the DaemonSet in the snapshot
	Sure  bool // the labels certainly meet the DaemonSet's node affinity
}

// An Overhead is what the DaemonSet pods on a node take.
type Overhead struct {
	Requests    model.Resources
	Ports       []Port
	WithVolumes []*model.Daemon // those that may have volumes
}

// DaemonsTolerating returns the DaemonSets whose pods tolerate the taints. A node that has not registered yet will have
// the old names of labels as well; on a live node labels count as they are.
func DaemonsTolerating(daemons []*model.Daemon, taints []corev1.Taint, labels apiv1.LabelRules, registered bool) []DaemonPod {
	var out []DaemonPod
	for i, d := range daemons {
		t := Tolerations{List: DaemonTolerations(d), BearsSoft: true}
		if _, refused := t.Refuse(taints); refused {
			continue
		}
		terms, byName := DaemonTerms(&d.Pod.Object.Spec)
		if !registered {
			for i := range terms {
				terms[i] = terms[i].Normalize(labels.Aliases)
			}
		}
		anywhere := slices.ContainsFunc(terms, func(t require.Set) bool { return t.Len() == 0 })
		out = append(out, DaemonPod{Set: d, Index: i, Ports: PortsOf(&d.Pod.Object.Spec), terms: terms, anywhere: anywhere, byName: byName})
	}
	return out
}

// DaemonTerms returns the alternatives of node selector and required node affinity of a DaemonSet's pods. Names of nodes,
// which node affinity may select as well, are left out; byName says that there are some.
func DaemonTerms(spec *corev1.PodSpec) (terms []require.Set, byName bool) {
	selector := require.FromLabels(spec.NodeSelector)
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil ||
		spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return []require.Set{selector}, false
	}
	for _, t := range spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		if len(t.MatchFields)+len(t.MatchExpressions) == 0 {
			continue // the API defines that an empty term matches nothing
		}
		byName = byName || len(t.MatchFields) > 0
		terms = append(terms, selector.And(require.FromSelector(t.MatchExpressions)))
	}
	return terms, byName
}

// DaemonTolerations returns the tolerations of the DaemonSet's pods, with those that the DaemonSet controller adds.
func DaemonTolerations(d *model.Daemon) []corev1.Toleration {
	list := slices.Concat(d.Pod.Object.Spec.Tolerations, addedTolerations)
	if d.Pod.Object.Spec.HostNetwork {
		list = append(list, toleration(corev1.TaintNodeNetworkUnavailable, corev1.TaintEffectNoSchedule))
	}
	return list
}

// addedTolerations are those that the DaemonSet controller adds to every pod it makes.
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

// registeredLabels are labels that every node of a NodePool gets, so that DaemonSets may select on them.
var registeredLabels = require.NewSet(
	require.New(apiv1.NodeRegisteredLabelKey, require.In, "true"),
	require.New(apiv1.NodeInitializedLabelKey, require.In, "true"),
)

// NeedsLabels reports whether some DaemonSet runs only on nodes with certain labels.
func NeedsLabels(daemons []DaemonPod) bool {
	return slices.ContainsFunc(daemons, func(d DaemonPod) bool { return !d.anywhere })
}

// OverheadOf sums what the DaemonSets that may run on a node with these labels request. known tells the labels that the node
// may get although reqs does not define them; nil for none.
func OverheadOf(daemons []DaemonPod, reqs require.Set, known func(string) bool) Overhead {
	var o Overhead
	if len(daemons) == 0 {
		return o
	}
	o.Requests = model.Resources{}
	if NeedsLabels(daemons) {
		reqs = reqs.And(registeredLabels)
	}
	for i := range daemons {
		d := &daemons[i]
		if !d.anywhere && !slices.ContainsFunc(d.terms, func(t require.Set) bool { _, ok := reqs.Compatible(t, known); return ok }) {
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

// PresencesOn returns the DaemonSets that may run on a node with these labels; known is as for OverheadOf.
func PresencesOn(daemons []DaemonPod, reqs require.Set, known func(string) bool) []Presence {
	var out []Presence
	for i := range daemons {
		if may, sure := daemons[i].meets(reqs, known); may {
			out = append(out, Presence{Index: daemons[i].Index, Sure: sure})
		}
	}
	return out
}

// meets reports whether the DaemonSet may run on a node with these labels, and whether it surely does.
func (d *DaemonPod) meets(reqs require.Set, known func(string) bool) (may, sure bool) {
	if d.anywhere {
		return true, !d.byName
	}
	reqs = reqs.And(registeredLabels)
	for _, t := range d.terms {
		if _, ok := reqs.Compatible(t, known); ok {
			may = true
			sure = sure || !d.byName && Implies(withAbsent(reqs, t, known), t)
		}
	}
	return may, sure
}

// withAbsent returns reqs with the labels of term that no node with these labels can have, stated as absent.
func withAbsent(reqs, term require.Set, known func(string) bool) require.Set {
	for want := range term.All() {
		if _, ok := reqs.Get(want.Key()); !ok && (known == nil || !known(want.Key())) {
			reqs = reqs.With(require.New(want.Key(), require.DoesNotExist))
		}
	}
	return reqs
}

// MergePresences returns the DaemonSets of either list; sure are those that are sure in both.
func MergePresences(a, b []Presence) []Presence {
	at := func(list []Presence, daemon int) int {
		return slices.IndexFunc(list, func(x Presence) bool { return x.Index == daemon })
	}
	out := slices.Clone(a)
	for i, x := range out {
		j := at(b, x.Index)
		out[i].Sure = x.Sure && j >= 0 && b[j].Sure
	}
	for _, x := range b {
		if at(out, x.Index) < 0 {
			out = append(out, Presence{Index: x.Index})
		}
	}
	return out
}

// Owns reports whether the pod is one of the DaemonSet's.
func Owns(d *model.Daemon, pod *model.Pod) bool {
	return pod.Object.Namespace == d.Object.Namespace &&
		slices.ContainsFunc(pod.Object.OwnerReferences, func(o metav1.OwnerReference) bool {
			return o.Kind == "DaemonSet" && o.Name == d.Object.Name
		})
}
