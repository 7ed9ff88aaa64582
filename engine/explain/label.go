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
	"github.com/karpenter-go/karpenter/engine/pack/catalog"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/units"
)

// A labelMatch is the instance types of a pool that match the labels that a pod requires.
type labelMatch struct {
	pool *model.Pool
	// term is the pod's node selector with one of its node affinity terms. own are the requirements of the pool, and reqs are
	// both together. Deprecated label names are replaced by current ones.
	term, own, reqs require.Set
	// all are the types of the pool, types those that match reqs. obstacles explain why there are none.
	all, types []*model.InstanceType
	obstacles  []Obstacle
}

// taints returns an obstacle for each taint of the pool that the pod does not tolerate.
func taints(pod *model.Pod, pool *model.Pool) []Obstacle {
	var out []Obstacle
	for _, t := range pool.Taints {
		if _, refused := model.Untolerated(pod.Object.Spec.Tolerations, []corev1.Taint{t}); !refused {
			continue
		}
		match := "operator: Exists"
		if t.Value != "" {
			match = fmt.Sprintf("value: %q", t.Value)
		}
		out = append(out, Obstacle{
			rule: model.RuleTaint, Why: "does not tolerate taint " + t.ToString(),
			Fix: fmt.Sprintf("add the toleration {key: %s, %s, effect: %s} to the pod", t.Key, match, t.Effect),
		})
	}
	return out
}

// terms returns the label requirements of the pod: its node selector with each of its required node affinity terms.
func (e *Explainer) terms(pod *model.Pod) []require.Set {
	terms, _ := catalog.RequiredTerms(&pod.Object.Spec)
	for i := range terms {
		terms[i] = terms[i].Normalize(e.labels.Aliases)
	}
	return terms
}

// bestMatch returns the match of the pod and the pool by the node affinity term with the fewest obstacles.
func (e *Explainer) bestMatch(pod *model.Pod, pool *model.Pool) labelMatch {
	var all []labelMatch
	for _, term := range e.terms(pod) {
		all = append(all, e.match(term, pool))
	}
	return slices.MinFunc(all, func(a, b labelMatch) int { return cmp.Compare(len(a.obstacles), len(b.obstacles)) })
}

func (e *Explainer) match(term require.Set, pool *model.Pool) labelMatch {
	m := labelMatch{pool: pool, term: term, own: pool.Requirements, reqs: pool.Requirements.And(term), all: e.snapshot.Types(pool.Name)}
	for want := range term.All() {
		if o, ok := e.conflict(want, m); ok {
			m.obstacles = append(m.obstacles, o)
		}
	}
	if len(m.obstacles) > 0 {
		return m
	}
	if m.types = meeting(m.all, m.reqs); len(m.types) == 0 {
		m.obstacles = []Obstacle{m.noType()}
	}
	return m
}

func meeting(types []*model.InstanceType, reqs require.Set) []*model.InstanceType {
	return slices.DeleteFunc(slices.Clone(types), func(t *model.InstanceType) bool {
		_, ok := t.Requirements.Intersects(reqs)
		return !ok
	})
}

// conflict returns the obstacle between one requirement of a pod and the requirements of the pool, if any.
func (e *Explainer) conflict(want require.Requirement, m labelMatch) (Obstacle, bool) {
	key, pool := want.Key(), m.pool
	have, ok := m.own.Get(key)
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
		o.Fix = fmt.Sprintf("add a NodePool with label %s in spec.template.metadata.labels", label(want))
		if key == apiv1.NodePoolLabelKey {
			o.Fix = fmt.Sprintf("use %s: %s in the pod", key, pool.Name)
		}
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

// wanted returns the values that a requirement of a pod allows.
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
func (m labelMatch) noType() Obstacle {
	inPool := meeting(m.all, m.own)
	switch {
	case len(m.all) == 0:
		fix := "see the conditions of its node class"
		if ref := m.pool.Object.Spec.Template.Spec.NodeClassRef; ref != nil && ref.Kind != "" {
			fix = fmt.Sprintf("see the conditions of %s %s", ref.Kind, ref.Name)
		}
		return Obstacle{rule: model.RuleLabels, Why: "the provider offers no instance types for the NodePool", Fix: fix}
	case len(inPool) == 0:
		return Obstacle{
			rule: model.RuleLabels, Why: "no instance type matches the requirements of the NodePool",
			Fix: widen(m.all, m.own, m.pool), NoFix: "several requirements conflict; relax more than one of them",
		}
	}
	out := Obstacle{rule: model.RuleLabels, Why: "no instance type of the NodePool has " + m.term.String()}
	for r := range m.term.All() {
		if len(meeting(inPool, require.NewSet(r))) == 0 {
			out.Why = fmt.Sprintf("requires %s, which no instance type of the NodePool has", r)
			break
		}
	}
	if fitting := meeting(m.all, m.term); len(fitting) > 0 {
		out.Fix = widen(fitting, m.reqs, m.pool)
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

// some joins alternatives with "or", and each joins values with "and". Of a long list, only the first values are shown.
func some(list []string) string { return listed(list, "or", "or one of") }
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
