package budget

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/karpenter-go/karpenter/engine/drain"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/units"
)

// A pdb is one PodDisruptionBudget.
type pdb struct {
	name     string // namespace/name
	selector labels.Selector
	// allowed is how many pods may be evicted now. inProgress is how many are being evicted from nodes that are already
	// being removed.
	allowed, inProgress int
	// hint is the change that lets it allow evictions if it allows none, empty for the general one (see model.Verdict.Hint).
	hint string
	// alwaysAllow is the unhealthyPodEvictionPolicy AlwaysAllow: pods that are not ready may always be evicted.
	alwaysAllow bool
}

// An Eviction is the number of pods of one node that a drain evicts and one PodDisruptionBudget counts (see Evictions).
type Eviction struct {
	pdb, pods int
	first     string // key of the first pod
}

// A Taken is the number of pods that a decision evicts, by index of the PodDisruptionBudget.
type Taken map[int]int

// PDBs are the PodDisruptionBudgets of a Snapshot.
type PDBs struct {
	now         time.Time
	list        []pdb
	byNamespace map[string][]int
	byKey       map[string][]int // by pdbKeys, in the order of list
	byLabels    map[string][]int // cache of the method selecting, by namespace and labels
}

// pdbKeys returns the keys of PDBs.byKey for a selector: it selects only pods with one of them in podKeys. One namespace may have
// thousands of PodDisruptionBudgets, and each pod may have labels of its own.
func pdbKeys(namespace string, selector labels.Selector) []string {
	requirements, _ := selector.Requirements()
	for _, r := range requirements {
		if op := r.Operator(); op == selection.In || op == selection.Equals || op == selection.DoubleEquals {
			keys := r.Values().List()
			for i, v := range keys {
				keys[i] = namespace + "/" + r.Key() + "=" + v
			}
			return keys
		}
	}
	for _, r := range requirements {
		if r.Operator() == selection.Exists {
			return []string{namespace + "/" + r.Key()}
		}
	}
	return []string{namespace}
}

// podKeys returns all keys of PDBs.byKey under which a PodDisruptionBudget may select pods with the labels.
func podKeys(namespace string, set labels.Set) []string {
	keys := []string{namespace}
	for k, v := range set {
		keys = append(keys, namespace+"/"+k, namespace+"/"+k+"="+v)
	}
	return keys
}

// PDBsOf reads the PodDisruptionBudgets of s. For one without a status, such as a manifest that was never applied, the
// allowed evictions are computed from the spec and the existing pods. One whose status is older than its spec allows none.
func PDBsOf(s *model.Snapshot) *PDBs {
	b := &PDBs{now: s.Now, byNamespace: map[string][]int{}, byKey: map[string][]int{}, byLabels: map[string][]int{}}
	withoutStatus := map[int]*policyv1.PodDisruptionBudget{}
	for _, o := range s.PDBs.Values() {
		selector, err := metav1.LabelSelectorAsSelector(o.Spec.Selector)
		if err != nil {
			continue // the API server accepts no budget with such a selector
		}
		x := pdb{name: o.Namespace + "/" + o.Name, selector: selector, allowed: int(o.Status.DisruptionsAllowed), hint: hintOf(o)}
		x.alwaysAllow = o.Spec.UnhealthyPodEvictionPolicy != nil && *o.Spec.UnhealthyPodEvictionPolicy == policyv1.AlwaysAllow
		switch {
		case o.Status.ObservedGeneration == 0 && o.Status.ExpectedPods == 0 && o.Status.DisruptionsAllowed == 0:
			withoutStatus[len(b.list)] = o
		case o.Status.ObservedGeneration < o.Generation:
			x.allowed = 0 // the API server refuses evictions until the status is up to date
		}
		b.byNamespace[o.Namespace] = append(b.byNamespace[o.Namespace], len(b.list))
		for _, key := range pdbKeys(o.Namespace, selector) {
			b.byKey[key] = append(b.byKey[key], len(b.list))
		}
		b.list = append(b.list, x)
	}
	if len(withoutStatus) == 0 {
		return b
	}
	matching := make([]int, len(b.list))
	for _, p := range s.Pods.Values() {
		if p.Terminal() || p.Terminating() {
			continue
		}
		for _, i := range b.selecting(p) {
			matching[i]++
		}
	}
	for i, o := range withoutStatus {
		b.list[i].allowed = allowedBySpec(o, matching[i])
	}
	return b
}

// allowedBySpec returns how many of n healthy pods may be evicted by the spec. Percentages round up, as in Kubernetes.
// The default is minAvailable: 1.
func allowedBySpec(o *policyv1.PodDisruptionBudget, n int) int {
	bound := o.Spec.MaxUnavailable
	if bound == nil {
		bound = o.Spec.MinAvailable
	}
	v, err := intstr.GetScaledValueFromIntOrPercent(intstr.ValueOrDefault(bound, intstr.FromInt32(1)), n, true)
	switch {
	case err != nil:
		return 0
	case o.Spec.MaxUnavailable != nil:
		return min(v, n)
	}
	return max(0, n-v)
}

// hintOf returns the change that lets a PodDisruptionBudget without allowed disruptions allow some. It is empty if more
// replicas do.
func hintOf(o *policyv1.PodDisruptionBudget) string {
	const many = 1000 // a spec that allows no disruption of so many pods allows none of fewer, unless minAvailable is a number
	least := o.Spec.MinAvailable
	switch {
	case (least == nil || least.Type == intstr.String) && allowedBySpec(o, many) == 0:
		return "allow more in PodDisruptionBudget " + o.Namespace + "/" + o.Name
	case o.Status.CurrentHealthy < o.Status.DesiredHealthy:
		return "make the pods ready that PodDisruptionBudget " + o.Namespace + "/" + o.Name + " selects"
	}
	return ""
}

// selecting returns the indexes of the PodDisruptionBudgets that select the pod, rising.
func (b *PDBs) selecting(p *model.Pod) []int {
	if len(b.byNamespace[p.Object.Namespace]) == 0 {
		return nil
	}
	set := labels.Set(p.Object.Labels)
	key := p.Object.Namespace + "/" + set.String()
	found, ok := b.byLabels[key]
	if !ok {
		for _, key := range podKeys(p.Object.Namespace, set) {
			for _, i := range b.byKey[key] {
				if b.list[i].selector.Matches(set) {
					found = append(found, i)
				}
			}
		}
		slices.Sort(found)
		b.byLabels[key] = found
	}
	return found
}

// Evictions counts the pods by PodDisruptionBudget, in name order. It omits pods that a drain leaves on the node,
// terminating pods, and pods that are not ready if their PodDisruptionBudget always allows their eviction. The verdict is a
// refusal if several budgets select one pod, because the Eviction API then refuses it.
func (b *PDBs) Evictions(pods []*model.Pod) ([]Eviction, model.Verdict) {
	var out []Eviction
	for _, p := range pods {
		if len(b.byNamespace[p.Object.Namespace]) == 0 || drain.SpareOf(p.Object, b.now) != drain.SpareNone || p.Terminating() {
			continue
		}
		found := b.selecting(p)
		if len(found) > 1 {
			return nil, model.Verdict{Rule: model.RulePDB, Cause: model.CauseManyPDBs, Subject: fmt.Sprintf(
				"pod %s is selected by more than one PodDisruptionBudget (%s, %s), which the eviction API refuses",
				p.Key, b.list[found[0]].name, b.list[found[1]].name)}
		}
		if len(found) == 0 || b.list[found[0]].alwaysAllow && !podReady(p.Object) {
			continue
		}
		i := slices.IndexFunc(out, func(e Eviction) bool { return e.pdb == found[0] })
		if i < 0 {
			i, out = len(out), append(out, Eviction{pdb: found[0], first: p.Key})
		}
		out[i].pods++
	}
	slices.SortFunc(out, func(x, y Eviction) int { return strings.Compare(b.list[x.pdb].name, b.list[y.pdb].name) })
	return out, model.Verdict{}
}

// CountBegun counts the evictions of a node that is already being removed.
func (b *PDBs) CountBegun(evictions []Eviction) {
	for _, e := range evictions {
		b.list[e.pdb].inProgress += e.pods
	}
}

// Take returns taken with the evictions of one more node added.
func (b *PDBs) Take(taken Taken, evictions []Eviction) Taken {
	out := Taken{}
	maps.Copy(out, taken)
	for _, e := range evictions {
		out[e.pdb] += e.pods
	}
	return out
}

// Allow returns a refusal if the nodes must not all be drained in addition to taken. Each node is given by its evictions. A
// PodDisruptionBudget that allows no eviction now excludes each node with pods of it. Otherwise, one node may be drained
// even if it has more pods than the PodDisruptionBudget allows to be evicted at the same time. A drain evicts them one after
// another. No other node with pods of the same PodDisruptionBudget may then be drained.
func (b *PDBs) Allow(taken Taken, nodes ...[]Eviction) model.Verdict {
	sum := map[int]int{}
	for _, evictions := range nodes {
		for _, e := range evictions {
			before := b.list[e.pdb].inProgress + taken[e.pdb] + sum[e.pdb]
			sum[e.pdb] += e.pods
			if allowed := b.list[e.pdb].allowed; allowed == 0 || before > 0 && before+e.pods > allowed {
				v := model.Verdict{Rule: model.RulePDB, Subject: fmt.Sprintf(
					"PodDisruptionBudget %s allows no further disruption (pod %s)", b.list[e.pdb].name, e.first)}
				if allowed == 0 {
					v.Hint = b.list[e.pdb].hint
				}
				return v
			}
		}
	}
	return model.Verdict{}
}

// AllowAtOnce returns a refusal if not all pods of one node may be evicted at the same time in addition to taken. The node
// is given by its evictions.
func (b *PDBs) AllowAtOnce(taken Taken, evictions []Eviction) model.Verdict {
	for _, e := range evictions {
		x := b.list[e.pdb]
		if x.inProgress+taken[e.pdb]+e.pods > x.allowed {
			return model.Verdict{Rule: model.RulePDB, Subject: fmt.Sprintf(
				"PodDisruptionBudget %s does not allow the eviction of %s at once, and they fit on no other node while this one exists",
				x.name, units.Counted(e.pods, "pod")),
				Hint: "set spec.template.spec.terminationGracePeriod in the NodePool, or let the PodDisruptionBudget allow more"}
		}
	}
	return model.Verdict{}
}

func podReady(p *corev1.Pod) bool {
	return model.PodCondition(p, corev1.PodReady).Status == corev1.ConditionTrue
}
