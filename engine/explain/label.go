package explain

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A labelMatch is the instance types of a pool that match the labels that a pod requires.
type labelMatch struct {
	// term is the pod's node selector with one of its node affinity terms, the one with the fewest obstacles.
	term require.Set
	// types are the types that match pool and term. obstacles explain why there are none.
	types     []*model.InstanceType
	obstacles []obstacle
}

// taints returns an obstacle for each taint of the pool that the pod does not tolerate.
func (e *Explainer) taints(pod *model.Pod, pool *model.Pool) []obstacle {
	var out []obstacle
	for _, t := range pool.Taints {
		if t.Effect == corev1.TaintEffectPreferNoSchedule || tolerated(pod.Object.Spec.Tolerations, t) {
			continue
		}
		fix := fmt.Sprintf("add the toleration {key: %s, operator: Exists, effect: %s}", t.Key, t.Effect)
		if t.Value != "" {
			fix = fmt.Sprintf("add the toleration {key: %s, value: %q, effect: %s}", t.Key, t.Value, t.Effect)
		}
		out = append(out, obstacle{rule: model.RuleTaint, why: "does not tolerate taint " + t.ToString(), fix: fix})
	}
	return out
}

// tolerated reports whether one of the tolerations matches t.
func tolerated(tolerations []corev1.Toleration, t corev1.Taint) bool {
	return slices.ContainsFunc(tolerations, func(have corev1.Toleration) bool {
		return (have.Effect == "" || have.Effect == t.Effect) && (have.Key == "" || have.Key == t.Key) &&
			(have.Operator == corev1.TolerationOpExists || have.Key != "" && have.Value == t.Value)
	})
}

// terms returns the label requirements of the pod: its node selector with each of its required node affinity terms.
func (e *Explainer) terms(pod *corev1.Pod) []require.Set {
	selector := require.FromLabels(pod.Spec.NodeSelector).Normalize(e.labels.Aliases)
	a := pod.Spec.Affinity
	if a == nil || a.NodeAffinity == nil || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return []require.Set{selector}
	}
	var out []require.Set
	for _, t := range a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		if len(t.MatchFields) == 0 && len(t.MatchExpressions) > 0 {
			out = append(out, selector.And(require.FromSelector(t.MatchExpressions).Normalize(e.labels.Aliases)))
		}
	}
	return out
}

// candidates returns the types of the pool that match the pod's labels, or the obstacles. Of several node affinity
// terms it uses the one with the fewest obstacles.
func (e *Explainer) candidates(pod *model.Pod, pool *model.Pool) labelMatch {
	best, found := labelMatch{}, false
	for _, term := range e.terms(pod.Object) {
		c := e.candidatesOf(term, pool)
		if len(c.obstacles) == 0 {
			return c
		}
		if !found || len(c.obstacles) < len(best.obstacles) {
			best, found = c, true
		}
	}
	return best
}

func (e *Explainer) candidatesOf(term require.Set, pool *model.Pool) labelMatch {
	c := labelMatch{term: term}
	for want := range term.All() {
		if o, ok := e.conflict(want, pool); ok {
			c.obstacles = append(c.obstacles, o)
		}
	}
	if len(c.obstacles) > 0 {
		return c
	}
	reqs := pool.Requirements.Normalize(e.labels.Aliases).And(term)
	all := e.snapshot.Types(pool.Name)
	c.types = meeting(all, reqs)
	if len(c.types) == 0 {
		c.obstacles = []obstacle{e.noType(term, pool, all)}
	}
	return c
}

func meeting(types []*model.InstanceType, reqs require.Set) []*model.InstanceType {
	var out []*model.InstanceType
	for _, t := range types {
		if _, ok := t.Requirements.Intersects(reqs); ok {
			out = append(out, t)
		}
	}
	return out
}

// conflict returns the obstacle between one requirement of a pod and the requirements of the pool, if any.
func (e *Explainer) conflict(want require.Requirement, pool *model.Pool) (obstacle, bool) {
	key := want.Key()
	have, ok := pool.Requirements.Normalize(e.labels.Aliases).Get(key)
	switch {
	case want.Empty() && !want.MayBeAbsent():
		return obstacle{
			rule: model.RuleLabels, why: "the pod's constraints on " + key + " contradict each other", fix: "drop one of them",
		}, true
	case ok && have.Overlaps(want):
		return obstacle{}, false
	case ok && pool.Labels[key] != "":
		return obstacle{
			rule: model.RuleLabels,
			why:  fmt.Sprintf("wants %s, and nodes of the pool have %s=%s", want, key, pool.Labels[key]),
			fix:  fixOwnLabel(key, want, pool),
		}, true
	case ok:
		return obstacle{
			rule: model.RuleLabels, why: fmt.Sprintf("wants %s, and the pool allows %s", want, have),
			fix: fmt.Sprintf("allow %s in NodePool %s", wanted(want), pool.Name),
		}, true
	case want.MayBeAbsent() || e.labels.WellKnown.Has(key):
		return obstacle{}, false
	}
	c := require.Conflict{Key: key, Want: want, Undefined: true}.WithHint(e.known(pool)...)
	fix := fmt.Sprintf("add %s to spec.template.metadata.labels of NodePool %s", label(want), pool.Name)
	if c.Hint != "" {
		fix = "write " + c.Hint + " in the pod"
	}
	return obstacle{rule: model.RuleLabels, why: c.String(), fix: fix}, true
}

// fixOwnLabel returns the fix if the pool's template sets the label to another value.
func fixOwnLabel(key string, want require.Requirement, pool *model.Pool) string {
	if key == "karpenter.sh/nodepool" {
		return "name NodePool " + pool.Name + " in the pod"
	}
	return fmt.Sprintf("add a NodePool whose template has the label %s", label(want))
}

// known returns the label keys that a pod may select by.
func (e *Explainer) known(pool *model.Pool) []string {
	keys := e.labels.WellKnown.UnsortedList()
	keys = append(keys, pool.Requirements.Keys()...)
	slices.Sort(keys)
	return slices.Compact(keys)
}

// wanted returns the values of a requirement, for a fix that allows them.
func wanted(r require.Requirement) string {
	if values := r.Values(); r.Operator() == corev1.NodeSelectorOpIn && len(values) > 0 {
		return fmt.Sprintf("%s for %s", some(values, " or "), r.Key())
	}
	return r.String()
}

// label returns a label that meets the requirement.
func label(r require.Requirement) string {
	if v, ok := r.Any(); ok {
		return r.Key() + ": " + v
	}
	return r.Key()
}

// noType returns why no instance type of the pool matches a term that does not conflict with the pool's requirements.
func (e *Explainer) noType(term require.Set, pool *model.Pool, all []*model.InstanceType) obstacle {
	out := obstacle{rule: model.RuleLabels}
	reqs := pool.Requirements.Normalize(e.labels.Aliases)
	inPool := meeting(all, reqs)
	switch {
	case len(all) == 0:
		out.why, out.fix = "there are no instance types for the pool", "look at its node class"
		return out
	case len(inPool) == 0:
		out.why = "the requirements of the pool leave no instance type"
		out.fix = widen(all, reqs, pool)
		return out
	}
	out.why = "no instance type of the pool has all of " + term.String()
	for r := range term.All() {
		if len(meeting(inPool, require.NewSet(r))) == 0 {
			out.why = fmt.Sprintf("wants %s, which no instance type of the pool has", r)
			break
		}
	}
	if fitting := meeting(all, term); len(fitting) > 0 {
		out.fix = widen(fitting, reqs, pool)
	}
	return out
}

// widen returns a fix that relaxes one requirement of the pool: the one that alone excludes the most of types. It is
// empty if no single requirement is enough.
func widen(types []*model.InstanceType, reqs require.Set, pool *model.Pool) string {
	best, fix := 0, ""
	for r := range reqs.All() {
		let := meeting(types, reqs.Without(r.Key()))
		if len(let) <= best {
			continue
		}
		values := map[string]bool{}
		var names []string
		for _, t := range let {
			have, _ := t.Requirements.Get(r.Key())
			for v := range have.Each() {
				if !values[v] {
					values[v] = true
					names = append(names, v)
				}
			}
		}
		slices.Sort(names)
		best, fix = len(let), fmt.Sprintf("allow %s for %s in NodePool %s", some(names, " or "), r.Key(), pool.Name)
		if len(names) == 0 {
			fix = fmt.Sprintf("take %s out of NodePool %s", r, pool.Name)
		}
	}
	return fix
}

// shown is how many values a list shows.
const shown = 4

// some returns a list of the values in which the last is preceded by last. Of many, only the first are shown.
func some(values []string, last string) string {
	switch n := len(values); {
	case n > shown:
		return fmt.Sprintf("%s or %d others", strings.Join(values[:shown], ", "), n-shown)
	case n > 1:
		return strings.Join(values[:n-1], ", ") + last + values[n-1]
	}
	return strings.Join(values, "")
}
