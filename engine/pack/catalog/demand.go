package catalog

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/encode"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A Demand is the sum of the requests of one pod, or of a bundle: pods that must share a node. Equal demands share a
// pointer.
type Demand struct {
	Amount []int64 // by dimension
}

// NodeTerms are alternative label requirements: a node must meet one of them. Equal lists share a pointer.
type NodeTerms struct {
	Terms []require.Set
}

// Tolerations are the tolerations of a pod, or of several pods that share a node. If ToleratesSoft is set, all taints
// with effect PreferNoSchedule are tolerated too. Tolerations with equal fields share a pointer.
type Tolerations struct {
	List          []corev1.Toleration
	ToleratesSoft bool
	also          *Tolerations // the tolerations of another pod on the node, which must tolerate each taint too; nil for none
}

// An Interner gives equal demands, node terms, tolerations and DaemonFilters one pointer each.
type Interner struct {
	demands       map[string]*Demand
	terms         map[string]*NodeTerms
	tolerations   map[string]*Tolerations
	intersections map[[2]*Tolerations]*Tolerations // results of IntersectTolerations
	daemons       map[string]*DaemonFilter
}

// NewInterner returns an empty Interner.
func NewInterner() *Interner {
	return &Interner{
		demands: map[string]*Demand{}, terms: map[string]*NodeTerms{}, tolerations: map[string]*Tolerations{},
		intersections: map[[2]*Tolerations]*Tolerations{}, daemons: map[string]*DaemonFilter{},
	}
}

// intern returns known[key]. If there is none, it adds a copy of v.
func intern[T any](known map[string]*T, key []byte, v T) *T {
	p := known[string(key)]
	if p == nil {
		p = new(T)
		*p = v
		known[string(key)] = p
	}
	return p
}

// Demand returns the Demand with this amount by dimension.
func (in *Interner) Demand(amount []int64) *Demand {
	return intern(in.demands, encode.Ints(nil, amount), Demand{Amount: amount})
}

// Terms returns the NodeTerms with these terms in this order.
func (in *Interner) Terms(terms []require.Set) *NodeTerms {
	var key []byte
	for _, t := range terms {
		key = append(key, t.String()...)
		key = append(key, '\n')
	}
	return intern(in.terms, key, NodeTerms{Terms: terms})
}

// Tolerations returns the Tolerations with this list.
func (in *Interner) Tolerations(list []corev1.Toleration) *Tolerations {
	return in.internTolerations(list, false)
}

// SoftTolerations returns the Tolerations with this list that also tolerate all PreferNoSchedule taints.
func (in *Interner) SoftTolerations(list []corev1.Toleration) *Tolerations {
	return in.internTolerations(list, true)
}

func (in *Interner) internTolerations(list []corev1.Toleration, soft bool) *Tolerations {
	key := encode.Messages([]byte{encode.Bool(soft)}, list)
	return intern(in.tolerations, key, Tolerations{List: list, ToleratesSoft: soft})
}

// IntersectTolerations returns Tolerations for two pods on one node: they tolerate a taint only if both arguments tolerate it.
func (in *Interner) IntersectTolerations(a, b *Tolerations) *Tolerations {
	if a == b {
		return a
	}
	key := [2]*Tolerations{a, b}
	if in.intersections[key] == nil {
		if a.also != nil {
			b = in.IntersectTolerations(a.also, b)
		}
		in.intersections[key] = &Tolerations{List: a.List, ToleratesSoft: a.ToleratesSoft, also: b}
	}
	return in.intersections[key]
}

// maxAlternatives limits the number of terms that result from combining two lists of alternative label requirements, such
// as node affinity terms and volume topologies. Further combinations are omitted.
const maxAlternatives = 64

// IntersectTerms returns the NodeTerms of the nodes that meet both arguments. It returns nil if no node can. It adds a
// combination of two terms only while it has less than maxAlternatives terms, so it may omit some of these nodes.
func (in *Interner) IntersectTerms(a, b *NodeTerms) *NodeTerms {
	anyLabel := func(string) bool { return true }
	var terms []require.Set
	for _, x := range a.Terms {
		if slices.ContainsFunc(b.Terms, func(y require.Set) bool { return x.Implies(y, anyLabel) }) {
			terms = append(terms, x)
			continue
		}
		for _, y := range b.Terms {
			if _, ok := x.Intersects(y); ok && len(terms) < maxAlternatives {
				terms = append(terms, x.And(y))
			}
		}
	}
	if len(terms) == 0 {
		return nil
	}
	return in.Terms(terms)
}

// Narrow is like IntersectTerms, but returns the first argument if no node can meet both.
func (in *Interner) Narrow(a, b *NodeTerms) *NodeTerms { return cmp.Or(in.IntersectTerms(a, b), a) }

// maxRotations is the largest number of orders that Rotations returns.
const maxRotations = 8

// Rotations returns the node terms in several orders: one for each of the first maxRotations terms, with that term
// first. A pool uses the first term that it can meet, so that term is preferred.
func (in *Interner) Rotations(a *NodeTerms) []*NodeTerms {
	out := []*NodeTerms{a}
	for i := 1; i < min(len(a.Terms), maxRotations); i++ {
		out = append(out, in.Terms(slices.Concat(a.Terms[i:], a.Terms[:i])))
	}
	return out
}

// RequiredTerms returns the alternative label requirements of a pod's node selector and required node affinity. If there
// is a node affinity none of whose terms a new node can meet, the verdict is not OK.
func RequiredTerms(spec *corev1.PodSpec) ([]require.Set, model.Verdict) {
	terms := selectorTerms(spec, func(t *corev1.NodeSelectorTerm) bool {
		return len(t.MatchFields) == 0 && len(t.MatchExpressions) > 0 // matchFields name a node, so no new node meets them
	})
	if len(terms) == 0 {
		return nil, model.Verdict{Rule: model.RuleInvalid, Subject: "required node affinity has no term with matchExpressions",
			Hint: "add a term with matchExpressions to spec.affinity.nodeAffinity of the pod"}
	}
	return terms, model.Verdict{}
}

// selectorTerms returns the alternative label requirements of a pod's node selector and required node affinity, of which it
// uses only the terms for which the function uses returns true. It ignores matchFields.
func selectorTerms(spec *corev1.PodSpec, uses func(*corev1.NodeSelectorTerm) bool) (terms []require.Set) {
	selector := require.FromLabels(spec.NodeSelector)
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil ||
		spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return []require.Set{selector}
	}
	for _, t := range spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		if uses(&t) {
			terms = append(terms, selector.And(require.FromSelector(t.MatchExpressions)))
		}
	}
	return terms
}

// Refuse returns the first taint that is not tolerated, and whether there is one.
func (t *Tolerations) Refuse(taints []corev1.Taint) (corev1.Taint, bool) {
	for _, taint := range taints {
		soft := taint.Effect == corev1.TaintEffectPreferNoSchedule && t.ToleratesSoft
		if !soft && !model.Tolerates(t.List, taint) {
			return taint, true
		}
	}
	if t.also != nil {
		return t.also.Refuse(taints)
	}
	return corev1.Taint{}, false
}

// RefuseHard reports whether a taint with effect NoSchedule or NoExecute is not tolerated.
func (t *Tolerations) RefuseHard(taints []corev1.Taint) bool {
	_, refused := model.Untolerated(t.List, taints)
	return refused || t.also != nil && t.also.RefuseHard(taints)
}
