package disrupt

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/karpenter-go/karpenter/engine/drain"
	"github.com/karpenter-go/karpenter/engine/model"
)

// A guard is one PodDisruptionBudget with what is left of it.
type guard struct {
	name     string // namespace/name
	selector labels.Selector
	// allowed is how many more pods may be evicted now; used of those are spoken for by what is under way, taken by this
	// decision.
	allowed, used, taken int
	// lenient lets pods go that are not ready, whatever is left.
	lenient bool
}

// A claim on guards is how many pods of a node each guard counts.
type hold struct {
	guard *guard
	pods  int
	first string // key of the first pod
}

// guards judge all nodes of one decision together: what one takes of a budget, the next no longer has.
type guards struct {
	now      time.Time
	byNS     map[string][]*guard
	ofLabels map[string][]*guard // memory of of, by namespace and labels
}

func newGuards(s *model.Snapshot) *guards {
	g := &guards{now: s.Now, byNS: map[string][]*guard{}, ofLabels: map[string][]*guard{}}
	var silent []*policyv1.PodDisruptionBudget
	for _, o := range s.PDBs() {
		selector, err := metav1.LabelSelectorAsSelector(o.Spec.Selector)
		if err != nil {
			continue // the API server lets none such in
		}
		x := &guard{name: o.Namespace + "/" + o.Name, selector: selector, allowed: int(o.Status.DisruptionsAllowed)}
		x.lenient = o.Spec.UnhealthyPodEvictionPolicy != nil && *o.Spec.UnhealthyPodEvictionPolicy == policyv1.AlwaysAllow
		g.byNS[o.Namespace] = append(g.byNS[o.Namespace], x)
		switch {
		case o.Status.ObservedGeneration == 0 && o.Status.ExpectedPods == 0 && o.Status.DisruptionsAllowed == 0:
			silent = append(silent, o)
		case o.Status.ObservedGeneration < o.Generation:
			x.allowed = 0 // the API server refuses evictions until the budget has been looked at again
		}
	}
	if len(silent) > 0 {
		g.count(s, silent)
	}
	return g
}

// count works out what budgets without a status allow: nobody has looked at them, as in manifests that were only written
// down.
func (g *guards) count(s *model.Snapshot, silent []*policyv1.PodDisruptionBudget) {
	matched := map[*guard]int{}
	for _, p := range s.Pods() {
		if p.Terminal() || p.Terminating() {
			continue
		}
		for _, x := range g.of(p) {
			matched[x]++
		}
	}
	for _, o := range silent {
		for _, x := range g.byNS[o.Namespace] {
			if x.name == o.Namespace+"/"+o.Name {
				x.allowed = allowance(o, matched[x])
			}
		}
	}
}

// allowance returns how many of n healthy pods the spec of the budget lets go. Percentages round up, as in Kubernetes.
func allowance(o *policyv1.PodDisruptionBudget, n int) int {
	if o.Spec.MaxUnavailable != nil {
		v, err := intstr.GetScaledValueFromIntOrPercent(o.Spec.MaxUnavailable, n, true)
		if err != nil {
			return 0
		}
		return min(v, n)
	}
	if o.Spec.MinAvailable == nil {
		return max(0, n-1) // Kubernetes' default: one must stay
	}
	v, err := intstr.GetScaledValueFromIntOrPercent(o.Spec.MinAvailable, n, true)
	if err != nil {
		return 0
	}
	return max(0, n-v)
}

// of returns the guards that select the pod.
func (g *guards) of(p *model.Pod) []*guard {
	list := g.byNS[p.Object.Namespace]
	if len(list) == 0 {
		return nil
	}
	set := labels.Set(p.Object.Labels)
	key := p.Object.Namespace + "/" + set.String()
	found, ok := g.ofLabels[key]
	if !ok {
		for _, x := range list {
			if x.selector.Matches(set) {
				found = append(found, x)
			}
		}
		g.ofLabels[key] = found
	}
	return found
}

// holds returns what the guards count of the pods, in the order of guards' names, and a no if a pod can never be evicted
// because several budgets select it.
func (g *guards) holds(pods []*model.Pod) ([]hold, model.Verdict) {
	var out []hold
	for _, p := range pods {
		if len(g.byNS[p.Object.Namespace]) == 0 || drain.SpareOf(p.Object, g.now) != drain.SpareNone || p.Terminating() {
			continue
		}
		found := g.of(p)
		if len(found) > 1 {
			return nil, model.Verdict{Rule: model.RulePDB, Subject: fmt.Sprintf(
				"pod %s is under several disruption budgets, %s and %s, and cannot be evicted", p.Key, found[0].name, found[1].name)}
		}
		if len(found) == 0 || found[0].lenient && !podReady(p.Object) {
			continue
		}
		i := slices.IndexFunc(out, func(h hold) bool { return h.guard == found[0] })
		if i < 0 {
			out = append(out, hold{guard: found[0], first: p.Key})
			i = len(out) - 1
		}
		out[i].pods++
	}
	slices.SortFunc(out, func(a, b hold) int { return strings.Compare(a.guard.name, b.guard.name) })
	return out, model.Verdict{}
}

// allow is a yes if the nodes, given by their holds, may all be drained beside all that was taken before. A node alone may
// hold more pods of one budget than may go at a time, because a drain evicts one after the other; but then nothing else may
// touch that budget meanwhile.
func (g *guards) allow(nodes ...[]hold) model.Verdict {
	sum := map[*guard]int{}
	for _, holds := range nodes {
		for _, h := range holds {
			x := h.guard
			before := x.used + x.taken + sum[x]
			sum[x] += h.pods
			if x.allowed > 0 && (before == 0 || before+h.pods <= x.allowed) {
				continue
			}
			return spentOn(h)
		}
	}
	return model.Verdict{}
}

// allowAtFirst is allow for one node, as it was before this decision took anything.
func (g *guards) allowAtFirst(holds []hold) model.Verdict {
	for _, h := range holds {
		if x := h.guard; x.allowed == 0 || x.used > 0 && x.used+h.pods > x.allowed {
			return spentOn(h)
		}
	}
	return model.Verdict{}
}

func spentOn(h hold) model.Verdict {
	return model.Verdict{Rule: model.RulePDB, Subject: fmt.Sprintf(
		"pod %s: disruption budget %s allows no more evictions", h.first, h.guard.name)}
}

// take counts the pods as being evicted by this decision.
func (g *guards) take(holds []hold) {
	for _, h := range holds {
		h.guard.taken += h.pods
	}
}

// underWay counts the pods as being evicted by what was decided before.
func (g *guards) underWay(holds []hold) {
	for _, h := range holds {
		h.guard.used += h.pods
	}
}

func podReady(p *corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}
