package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/units"
)

// A labelMatch is the instance types of a pool that match the labels that a pod requires.
type labelMatch struct {
	// term is the pod's node selector with one of its node affinity terms, the one with the fewest obstacles.
	term require.Set
	// types are the types that match pool and term. obstacles explain why there are none.
	types     []*model.InstanceType
	obstacles []Obstacle
}

// taints returns an obstacle for each taint of the pool that the pod does not tolerate.
func (e *Explainer) taints(pod *model.Pod, pool *model.Pool) []Obstacle {
	var out []Obstacle
	for _, t := range pool.Taints {
		if _, refused := model.Untolerated(pod.Object.Spec.Tolerations, []corev1.Taint{t}); !refused {
			continue
		}
		fix := fmt.Sprintf("add the toleration {key: %s, operator: Exists, effect: %s} to the pod", t.Key, t.Effect)
		if t.Value != "" {
			fix = fmt.Sprintf("add the toleration {key: %s, value: %q, effect: %s} to the pod", t.Key, t.Value, t.Effect)
		}
		out = append(out, Obstacle{rule: model.RuleTaint, Why: "does not tolerate taint " + t.ToString(), Fix: fix})
	}
	return out
}

// terms returns the label requirements of the pod: its node selector with each of its required node affinity terms. Terms
// with matchFields and terms without expressions are omitted.
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
		c.obstacles = []Obstacle{e.noType(term, pool, all)}
	}
	return c
}

func meeting(types []*model.InstanceType, reqs require.Set) []*model.InstanceType {
	return slices.DeleteFunc(slices.Clone(types), func(t *model.InstanceType) bool {
		_, ok := t.Requirements.Intersects(reqs)
		return !ok
	})
}

// conflict returns the obstacle between one requirement of a pod and the requirements of the pool, if any.
func (e *Explainer) conflict(want require.Requirement, pool *model.Pool) (Obstacle, bool) {
	key := want.Key()
	have, ok := pool.Requirements.Normalize(e.labels.Aliases).Get(key)
	own, labelled := pool.Labels[key]
	o := Obstacle{rule: model.RuleLabels}
	switch {
	case want.Empty() && !want.MayBeAbsent():
		o.Why = "the constraints of the pod on " + key + " contradict each other"
		o.Fix = "remove one of them"
	case ok && have.Overlaps(want):
		return Obstacle{}, false
	case ok && labelled:
		o.Why = fmt.Sprintf("requires %s, but nodes of the NodePool have [%s]", want, quotedIfEmpty(own))
		o.Fix = fixOwnLabel(key, want, pool)
	case ok:
		o.Why = fmt.Sprintf("requires %s, but the NodePool allows %s", want, values(have))
		o.Fix = allow(have, wanted(want), pool)
	case want.MayBeAbsent() || e.labels.WellKnown.Has(key):
		return Obstacle{}, false
	default:
		o.Why = fmt.Sprintf("requires label %s, which no node of the NodePool has", want)
		o.Fix = fmt.Sprintf("add %s to spec.template.metadata.labels of NodePool %s", label(want), pool.Name)
		known := append(e.labels.WellKnown.UnsortedList(), pool.Requirements.Keys()...)
		if c := (require.Conflict{Key: key, Want: want, Undefined: true}).WithHint(known...); c.Hint != "" {
			o.Fix = fmt.Sprintf("use key %s in the nodeSelector or affinity of the pod", c.Hint)
		}
	}
	return o, true
}

// values returns a requirement without its key: [a, b], or >= 4.
func values(r require.Requirement) string {
	return strings.TrimPrefix(strings.TrimPrefix(r.String(), r.Key()+" "), "in ")
}

// fixOwnLabel returns the fix if the pool's template sets the label to another value.
func fixOwnLabel(key string, want require.Requirement, pool *model.Pool) string {
	if key == apiv1.NodePoolLabelKey {
		return fmt.Sprintf("use %s: %s in the pod", key, pool.Name)
	}
	return fmt.Sprintf("add a NodePool with label %s in spec.template.metadata.labels", label(want))
}

// allow returns the fix that makes the requirement of the pool allow the values.
func allow(have require.Requirement, values string, pool *model.Pool) string {
	_, labelled := pool.Labels[have.Key()]
	switch {
	case labelled:
		return fmt.Sprintf("add a NodePool with label %s: %s in spec.template.metadata.labels", have.Key(), values)
	case have.Operator() == corev1.NodeSelectorOpIn:
		return fmt.Sprintf("add %s to requirement %s of NodePool %s", values, have.Key(), pool.Name)
	}
	return fmt.Sprintf("relax requirement %s of NodePool %s to allow %s", have, pool.Name, values)
}

// wanted returns the values that a requirement of a pod allows, for a fix.
func wanted(r require.Requirement) string {
	if list := r.Values(); r.Operator() == corev1.NodeSelectorOpIn && len(list) > 0 {
		list[0] = quotedIfEmpty(list[0]) // the empty value sorts first
		return some(list)
	}
	return "a value " + values(r)
}

// label returns a label that meets the requirement, as "key: value". If the requirement admits no value, it returns the key.
func label(r require.Requirement) string {
	if v, ok := r.Any(); ok {
		return r.Key() + ": " + quotedIfEmpty(v)
	}
	return r.Key()
}

// quotedIfEmpty returns a label value as it is shown: the empty value as "".
func quotedIfEmpty(value string) string { return cmp.Or(value, `""`) }

// noType returns why no instance type of the pool matches a term that does not conflict with the pool's requirements.
func (e *Explainer) noType(term require.Set, pool *model.Pool, all []*model.InstanceType) Obstacle {
	out := Obstacle{rule: model.RuleLabels}
	reqs := pool.Requirements.Normalize(e.labels.Aliases)
	inPool := meeting(all, reqs)
	switch {
	case len(all) == 0:
		out.Why = "the provider offers no instance types for the NodePool"
		out.Fix = "see the conditions of its node class"
		if ref := pool.Object.Spec.Template.Spec.NodeClassRef; ref != nil && ref.Kind != "" {
			out.Fix = fmt.Sprintf("see the conditions of %s %s", ref.Kind, ref.Name)
		}
		return out
	case len(inPool) == 0:
		out.Why = "no instance type matches the requirements of the NodePool"
		out.Fix = widen(all, reqs, pool)
		out.NoFix = "several requirements conflict; relax more than one of them"
		return out
	}
	out.Why = "no instance type of the NodePool has " + term.String()
	for r := range term.All() {
		if len(meeting(inPool, require.NewSet(r))) == 0 {
			out.Why = fmt.Sprintf("requires %s, which no instance type of the NodePool has", r)
			break
		}
	}
	if fitting := meeting(all, term); len(fitting) > 0 {
		out.Fix = widen(fitting, reqs.And(term), pool)
	} else {
		out.NoFix = "no known instance type meets the nodeSelector and affinity of the pod"
	}
	return out
}

// widen returns a fix that relaxes one requirement of the pool: the one whose removal admits the most of the types. It is
// empty if no single requirement is enough. reqs are the requirements of the pool and the pod.
func widen(types []*model.InstanceType, reqs require.Set, pool *model.Pool) string {
	best, fix := len(available(types, reqs)), ""
	for r := range reqs.All() {
		if !pool.Requirements.Has(r.Key()) {
			continue
		}
		free := reqs.Without(r.Key())
		let := available(types, free)
		if len(let) <= best {
			continue
		}
		best = len(let)
		if names := byPrice(let, r.Key(), free); len(names) > 0 {
			fix = allow(r, some(names), pool)
		} else {
			fix = fmt.Sprintf("remove requirement %s from NodePool %s", r, pool.Name)
		}
	}
	return fix
}

// available returns the types that meet reqs and have an available offering that does.
func available(types []*model.InstanceType, reqs require.Set) (out []*model.InstanceType) {
	for t := range model.Launchable(types, reqs) {
		out = append(out, t)
	}
	return out
}

// byPrice returns the values of the label on the types, that of the cheapest type first.
func byPrice(types []*model.InstanceType, key string, reqs require.Set) []string {
	price := map[string]float64{}
	for _, t := range types {
		have, _ := t.Requirements.Get(key)
		o, _ := t.Cheapest(reqs)
		for v := range have.Listed() {
			if p, known := price[v]; !known || o.Price < p {
				price[v] = o.Price
			}
		}
	}
	return slices.SortedFunc(maps.Keys(price), func(a, b string) int {
		return cmp.Or(cmp.Compare(price[a], price[b]), cmp.Compare(a, b))
	})
}

// shown is how many values a list shows.
const shown = 3

// some joins alternatives with "or". Of a long list, only the first values are shown.
func some(list []string) string { return listed(list, "or", "or one of") }

// each joins values with "and". Of a long list, only the first values are shown.
func each(list []string) string { return listed(list, "and", "and") }

// listed joins the list. last precedes the last value, and more the number of values that are not shown.
func listed(list []string, last, more string) string {
	switch n := len(list); {
	case n > shown:
		return fmt.Sprintf("%s %s %s more", strings.Join(list[:shown], ", "), more, units.Grouped(n-shown))
	case n > 1:
		return strings.Join(list[:n-1], ", ") + " " + last + " " + list[n-1]
	}
	return strings.Join(list, "")
}
