package explain

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A choice is what a pool's labels leave of its instance types for a pod.
type choice struct {
	// term is the alternative of the pod's node affinity that comes nearest, with its node selector.
	term require.Set
	// types go with pool and term.
	types     []*model.InstanceType
	obstacles []obstacle
}

// taints returns the taints of pool that pod does not tolerate.
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

// tolerated reports whether one of tolerations covers t.
func tolerated(tolerations []corev1.Toleration, t corev1.Taint) bool {
	return slices.ContainsFunc(tolerations, func(have corev1.Toleration) bool {
		return (have.Effect == "" || have.Effect == t.Effect) && (have.Key == "" || have.Key == t.Key) &&
			(have.Operator == corev1.TolerationOpExists || have.Key != "" && have.Value == t.Value)
	})
}

// terms returns the alternatives of labels that pod asks for.
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

// candidates finds the types of pool that go with the labels that pod asks for, or what keeps all of them out. Of several
// alternatives the one with the fewest obstacles is told.
func (e *Explainer) candidates(pod *model.Pod, pool *model.Pool) choice {
	best, found := choice{}, false
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

func (e *Explainer) candidatesOf(term require.Set, pool *model.Pool) choice {
	c := choice{term: term}
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

// conflict returns what is wrong between one requirement of a pod and the pool itself.
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

// fixOwnLabel returns how a pod comes to a pool whose label it does not ask for.
func fixOwnLabel(key string, want require.Requirement, pool *model.Pool) string {
	if key == "karpenter.sh/nodepool" {
		return "name NodePool " + pool.Name + " in the pod"
	}
	return fmt.Sprintf("add a NodePool whose template has the label %s", label(want))
}

// known returns the keys that a pod could have meant.
func (e *Explainer) known(pool *model.Pool) []string {
	keys := e.labels.WellKnown.UnsortedList()
	keys = append(keys, pool.Requirements.Keys()...)
	slices.Sort(keys)
	return slices.Compact(keys)
}

// wanted names the values that a requirement asks for, to be allowed.
func wanted(r require.Requirement) string {
	if values := r.Values(); r.Operator() == corev1.NodeSelectorOpIn && len(values) > 0 {
		return fmt.Sprintf("%s for %s", some(values, " or "), r.Key())
	}
	return r.String()
}

// label writes a requirement as the label that meets it.
func label(r require.Requirement) string {
	if v, ok := r.Any(); ok {
		return r.Key() + ": " + v
	}
	return r.Key()
}

// noType says why no type of the pool goes with a term that does not contradict the pool itself.
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

// widen returns the single requirement of a pool that keeps the most of types out, and what to allow instead; "" if it
// takes more than one.
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

// shown is how many values of a label are listed.
const shown = 4

// some lists values, the first few of many.
func some(values []string, last string) string {
	switch n := len(values); {
	case n > shown:
		return fmt.Sprintf("%s or %d others", strings.Join(values[:shown], ", "), n-shown)
	case n > 1:
		return strings.Join(values[:n-1], ", ") + last + values[n-1]
	}
	return strings.Join(values, "")
}
