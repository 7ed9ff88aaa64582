package podtopology

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/karpenter-go/karpenter/engine/verify/nodematch"
)

// podRules are the required affinity, anti-affinity and spread constraints of a pod. Pods with equal rules share one
// value.
type podRules struct {
	// affinity are the terms of required pod affinity. As in kube-scheduler, only pods that all terms select count.
	affinity []*term
	// antiAffinity are the terms of required pod anti-affinity. Each term must be met separately.
	antiAffinity []*term
	spread       []spreadConstraint
	// selector and tolerations are the node selector and the tolerations of a planned pod. They are set only if there are
	// spread constraints.
	selector    *nodematch.Selector
	tolerations []corev1.Toleration
}

// none reports whether the pod has no rules.
func (r *podRules) none() bool { return len(r.affinity)+len(r.antiAffinity)+len(r.spread) == 0 }

// id returns a text that is equal for equal rules only.
func (r *podRules) id() string {
	text := fmt.Sprintf("%q %q %p\n", idsOf(r.affinity), idsOf(r.antiAffinity), r.selector) + tolerationsText(r.tolerations)
	for _, s := range r.spread {
		text += fmt.Sprintf("%q %d %d %t %t\n", s.id, s.maxSkew, s.minDomains, s.honorAffinity, s.honorTaints)
	}
	return text
}

func idsOf(terms []*term) []string {
	var ids []string
	for _, t := range terms {
		ids = append(ids, t.id)
	}
	return ids
}

// tolerationsText returns a text that is equal for equal lists of tolerations.
func tolerationsText(tolerations []corev1.Toleration) string {
	var b strings.Builder
	for _, t := range tolerations {
		fmt.Fprintf(&b, "%s %s %q %s\n", t.Key, t.Operator, t.Value, t.Effect)
	}
	return b.String()
}

// Rules are the required affinity, anti-affinity and spread constraints of the pods that the check of a plan looks at.
type Rules struct {
	// namespaces are the labels of each namespace, by name.
	namespaces map[string]labels.Set
	byPod      map[*corev1.Pod]*podRules // without pods that have no rules
	byID       map[string]*podRules
	terms      map[string]*term // all terms, by id
	// excluding are the anti-affinity terms of pods that are not planned, by id.
	excluding map[string]*term
}

// NewRules returns empty Rules for a cluster with these namespaces.
func NewRules(namespaces []*corev1.Namespace) *Rules {
	rs := &Rules{
		namespaces: make(map[string]labels.Set, len(namespaces)),
		byPod:      make(map[*corev1.Pod]*podRules),
		byID:       make(map[string]*podRules),
		terms:      make(map[string]*term),
		excluding:  make(map[string]*term),
	}
	for _, n := range namespaces {
		rs.namespaces[n.Name] = n.Labels
	}
	return rs
}

// AddPlanned reads the rules of a pod that the plan places. Its spread constraints are given, because a pod without
// constraints may have those of the scheduler's defaults. All pods must be added before the first LabelSet is created and
// before Check.
func (rs *Rules) AddPlanned(pod *corev1.Pod, selector *nodematch.Selector, spread []corev1.TopologySpreadConstraint) {
	r := rs.read(pod, spread)
	if len(r.spread) > 0 {
		r.selector, r.tolerations = selector, pod.Spec.Tolerations
	}
	rs.share(pod, r)
}

// AddBound reads the required anti-affinity of a bound pod that stays on its node. Its other rules have no effect on planned pods.
func (rs *Rules) AddBound(pod *corev1.Pod) {
	r := &podRules{}
	_, terms := requiredTerms(pod)
	for _, t := range terms {
		r.antiAffinity = append(r.antiAffinity, rs.newTerm(pod, t))
	}
	rs.addPresent(pod, r)
}

// AddDaemon reads the rules of the pod of a DaemonSet.
func (rs *Rules) AddDaemon(pod *corev1.Pod) {
	rs.addPresent(pod, rs.read(pod, pod.Spec.TopologySpreadConstraints))
}

func (rs *Rules) addPresent(pod *corev1.Pod, r *podRules) {
	for _, t := range r.antiAffinity {
		rs.excluding[t.id] = t
	}
	rs.share(pod, r)
}

// share sets the rules of the pod to r, or to the equal rules of an earlier pod.
func (rs *Rules) share(pod *corev1.Pod, r *podRules) {
	if r.none() {
		return
	}
	id := r.id()
	r = cmp.Or(rs.byID[id], r)
	rs.byID[id], rs.byPod[pod] = r, r
}

// Empty reports whether no pod has a rule.
func (rs *Rules) Empty() bool { return len(rs.byID) == 0 }

// AddKeys adds the topology keys of the rules to the index.
func (rs *Rules) AddKeys(index *nodematch.Index) {
	for _, t := range rs.terms {
		index.AddKey(t.topologyKey)
	}
}

// of returns the rules of the pod.
func (rs *Rules) of(pod *corev1.Pod) *podRules {
	return cmp.Or(rs.byPod[pod], &noRules)
}

var noRules podRules

// mayExclude reports whether rules about other pods may keep the pod of a DaemonSet from a node that the DaemonSet selects:
// its own rules, or the required anti-affinity of a bound pod or of a DaemonSet.
func (rs *Rules) mayExclude(pod *corev1.Pod) bool {
	for _, t := range rs.excluding {
		if t.matches(pod.Namespace, pod.Labels) {
			return true
		}
	}
	return !rs.of(pod).none()
}
