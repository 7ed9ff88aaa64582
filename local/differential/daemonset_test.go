package differential

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"

	"github.com/karpenter-go/karpenter/engine/model"
)

// A daemonSet is a DaemonSet of the snapshot, with the properties on which the engine's rule for DaemonSets depends.
type daemonSet struct {
	key  string
	pod  *corev1.Pod // the pod of the DaemonSet, which may be on any node
	info fwk.PodInfo
	// uncertain means that something other than its node selector, tolerations and requests may keep its pod off a node.
	uncertain bool
}

// daemonSets returns the DaemonSets of the snapshot.
func (w *world) daemonSets() ([]*daemonSet, error) {
	var out []*daemonSet
	for _, d := range w.snapshot.Daemons() {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: d.Object.Namespace, Name: d.Object.Name, Labels: d.Object.Spec.Template.Labels},
			Spec:       d.Object.Spec.Template.Spec,
		}
		info, err := framework.NewPodInfo(pod)
		if err != nil {
			return nil, err
		}
		out = append(out, &daemonSet{key: d.Key, pod: pod, info: info, uncertain: hasOwnRules(pod)})
	}
	for _, d := range out {
		for _, other := range out {
			d.uncertain = d.uncertain || other != d && (w.excludes(other.info, d.pod) || shareHostPort(other.pod, d.pod))
		}
		for _, p := range w.snapshot.Pods.Values() {
			if p.Object.Spec.NodeName == "" {
				continue
			}
			info, err := framework.NewPodInfo(p.Object)
			if err != nil {
				return nil, err
			}
			d.uncertain = d.uncertain || w.excludes(info, d.pod)
		}
	}
	return out, nil
}

// hasOwnRules reports whether the pod's affinity, anti-affinity, spread or volumes may keep it off a node.
func hasOwnRules(pod *corev1.Pod) bool {
	return len(affinityTerms(pod)) > 0 || len(antiAffinityKeys(pod)) > 0 ||
		slices.ContainsFunc(pod.Spec.TopologySpreadConstraints, func(c corev1.TopologySpreadConstraint) bool {
			return c.WhenUnsatisfiable == corev1.DoNotSchedule
		}) ||
		slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
			return v.PersistentVolumeClaim != nil || v.Ephemeral != nil
		})
}

// shareHostPort reports whether both pods have a host port with the same number. It does not compare addresses and protocols,
// so it may report a conflict where there is none.
func shareHostPort(a, b *corev1.Pod) bool {
	ports := func(p *corev1.Pod) (out []int32) {
		for _, c := range slices.Concat(p.Spec.Containers, p.Spec.InitContainers) {
			for _, port := range c.Ports {
				out = append(out, port.HostPort)
			}
		}
		return out
	}
	return slices.ContainsFunc(ports(a), func(port int32) bool { return port != 0 && slices.Contains(ports(b), port) })
}

// excludes reports whether the pod's required anti-affinity selects the other pod.
func (w *world) excludes(info fwk.PodInfo, other *corev1.Pod) bool {
	return slices.ContainsFunc(info.GetRequiredAntiAffinityTerms(), func(t fwk.AffinityTerm) bool {
		return t.Matches(other, w.namespaceLabels(other.Namespace))
	})
}

func (w *world) namespaceLabels(name string) labels.Set {
	for _, n := range w.snapshot.Namespaces.Values() {
		if n.Name == name {
			return n.Labels
		}
	}
	return nil
}

// refusedForDaemonSet reports whether the engine's rule for DaemonSets allows it to refuse the pod although a node is feasible.
// The rule allows that if some DaemonSet
//
//   - is uncertain, and a rule of the pod selects its pods or its anti-affinity selects the pod; or
//   - is named by the refusal, and has pods that a spread constraint of the pod selects, or another rule of the pod over a label
//     that nodes share.
func (w *world) refusedForDaemonSet(r model.Refusal) (bool, error) {
	sets, err := w.daemonSets()
	if err != nil {
		return false, err
	}
	pod := r.Pods[0].Object
	for _, d := range sets {
		named := slices.ContainsFunc(r.Reasons, func(v model.PoolVerdict) bool { return strings.Contains(v.Verdict.Subject, d.key) })
		if !named && !d.uncertain {
			continue
		}
		alone, counted, err := w.selects(pod, d.pod)
		if err != nil {
			return false, err
		}
		if counted || d.uncertain && (alone || w.excludes(d.info, pod)) {
			return true, nil
		}
	}
	return false, nil
}

// selects reports whether a required rule of the pod selects the other pod. alone is true for affinity or anti-affinity over host
// names. counted is true for all other rules: spread, and rules over a label that several nodes have.
func (w *world) selects(pod, other *corev1.Pod) (alone, counted bool, err error) {
	info, err := framework.NewPodInfo(pod)
	if err != nil {
		return false, false, err
	}
	for _, t := range slices.Concat(info.GetRequiredAffinityTerms(), info.GetRequiredAntiAffinityTerms()) {
		if t.Matches(other, w.namespaceLabels(other.Namespace)) {
			alone, counted = alone || t.TopologyKey == corev1.LabelHostname, counted || t.TopologyKey != corev1.LabelHostname
		}
	}
	for _, c := range w.constraints(pod) {
		selector, err := metav1.LabelSelectorAsSelector(c.LabelSelector)
		if err != nil {
			return false, false, err
		}
		if c.WhenUnsatisfiable == corev1.DoNotSchedule && pod.Namespace == other.Namespace && selector.Matches(labels.Set(other.Labels)) {
			counted = true
		}
	}
	return alone, counted, nil
}

// hasUncertainDaemonSet reports whether a DaemonSet of the snapshot is uncertain.
func (w *world) hasUncertainDaemonSet() (bool, error) {
	sets, err := w.daemonSets()
	return slices.ContainsFunc(sets, func(d *daemonSet) bool { return d.uncertain }), err
}
