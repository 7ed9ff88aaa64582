package catalog

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack/encode"
	"github.com/karpenter-go/karpenter/engine/require"
)

// MaxAlternatives bounds the combinations of node affinity terms with the topology terms of volumes.
const MaxAlternatives = 64

// A Demand is the requests of one pod, or of pods that must share a node. Equal demands are represented by one value.
type Demand struct {
	ID     int
	Amount []int64       // by dimension, without shared volumes
	Shared SharedVolumes // the shared volumes, which Amount does not include
	Scaled []float64     // Amount and the parts of Shared, in Dimensions.Units
}

// Whole returns the demand including its shared volumes: what one pod uses of a node that has no volumes attached.
func (d *Demand) Whole() []int64 {
	out := slices.Clone(d.Amount)
	d.Shared.TakeFrom(out, -1)
	return out
}

// NodeTerms are alternative label requirements: a node must meet one of them. One value represents equal lists.
type NodeTerms struct {
	ID        int
	Terms     []require.Set
	rotations []*NodeTerms
}

// Tolerations are the tolerations of a pod. Equal lists are represented by one value. If BearsSoft is set, taints with
// effect PreferNoSchedule are tolerated as well.
type Tolerations struct {
	ID        int
	List      []corev1.Toleration
	BearsSoft bool
	also      *Tolerations // tolerations of another pod on the same node, which must tolerate the taints as well
}

// An Interner represents equal demands, node terms and tolerations by one value with one number each.
type Interner struct {
	dimensions  *Dimensions
	demands     map[string]*Demand
	terms       map[string]*NodeTerms
	tolerations map[string]*Tolerations
	buf         []byte
}

// NewInterner returns an empty Interner for demands with the dimensions d.
func NewInterner(d *Dimensions) *Interner {
	return &Interner{
		dimensions: d, demands: map[string]*Demand{}, terms: map[string]*NodeTerms{}, tolerations: map[string]*Tolerations{},
	}
}

// Demand returns the shared value for these amounts and shared volumes.
func (in *Interner) Demand(amount []int64, shared SharedVolumes) *Demand {
	b := encode.Vector(in.buf[:0], amount)
	for _, x := range shared {
		b = encode.Int(b, int64(x.Number))
	}
	in.buf = b
	d := in.demands[string(b)]
	if d == nil {
		d = &Demand{ID: len(in.demands), Amount: amount, Shared: shared, Scaled: in.dimensions.Scale(amount)}
		for _, x := range shared {
			d.Scaled[x.Dimension] += x.Part / in.dimensions.Units[x.Dimension]
		}
		in.demands[string(b)] = d
	}
	return d
}

// Terms returns the shared value for these terms in this order.
func (in *Interner) Terms(terms []require.Set) *NodeTerms {
	b := in.buf[:0]
	for _, t := range terms {
		if t.Len() > 0 {
			b = append(b, t.String()...)
		}
		b = append(b, '\n')
	}
	in.buf = b
	a := in.terms[string(b)]
	if a == nil {
		a = &NodeTerms{ID: len(in.terms), Terms: terms}
		in.terms[string(b)] = a
	}
	return a
}

// Tolerations returns the shared value for the list. If bearsSoft is set, PreferNoSchedule taints are tolerated as well.
func (in *Interner) Tolerations(list []corev1.Toleration, bearsSoft bool) *Tolerations {
	b := encode.Tolerations(in.buf[:0], list)
	if bearsSoft {
		b = append(b, 1)
	}
	in.buf = b
	t := in.tolerations[string(b)]
	if t == nil {
		t = &Tolerations{ID: len(in.tolerations), List: list, BearsSoft: bearsSoft}
		in.tolerations[string(b)] = t
	}
	return t
}

// BothTolerate returns tolerations that tolerate a taint only if a and b both do: for two pods on one node.
func (in *Interner) BothTolerate(a, b *Tolerations) *Tolerations {
	if a == b {
		return a
	}
	key := fmt.Sprint("both ", a.ID, " ", b.ID)
	t := in.tolerations[key]
	if t == nil {
		t = &Tolerations{ID: len(in.tolerations), List: a.List, BearsSoft: a.BearsSoft, also: b}
		in.tolerations[key] = t
	}
	return t
}

// BothMeet returns the combinations of a term of a with a term of b that a node can meet; nil if there are none.
func (in *Interner) BothMeet(a, b *NodeTerms) *NodeTerms {
	var terms []require.Set
	for _, x := range a.Terms {
		for _, y := range b.Terms {
			if _, ok := x.Intersects(y); ok && len(terms) < MaxAlternatives {
				terms = append(terms, x.And(y))
			}
		}
	}
	if len(terms) == 0 {
		return nil
	}
	return in.Terms(terms)
}

// Narrow restricts the terms of a to nodes that also meet b. It returns a itself if no node meets both.
func (in *Interner) Narrow(a, b *NodeTerms) *NodeTerms {
	var terms []require.Set
	for _, x := range a.Terms {
		if slices.ContainsFunc(b.Terms, func(y require.Set) bool { return Implies(x, y) }) {
			terms = append(terms, x)
			continue
		}
		for _, y := range b.Terms {
			if _, ok := x.Intersects(y); ok && len(terms) < MaxAlternatives {
				terms = append(terms, x.And(y))
			}
		}
	}
	if len(terms) == 0 {
		return a
	}
	return in.Terms(terms)
}

// maxRotations bounds the rotations that Rotations returns.
const maxRotations = 8

// Rotations returns one rotation of a for each of its first terms, with that term in front. A pool uses the first term
// that it can meet, so the front term is the preferred one.
func (in *Interner) Rotations(a *NodeTerms) []*NodeTerms {
	if a.rotations == nil {
		a.rotations = []*NodeTerms{a}
		for i := 1; i < min(len(a.Terms), maxRotations); i++ {
			a.rotations = append(a.rotations, in.Terms(slices.Concat(a.Terms[i:], a.Terms[:i])))
		}
	}
	return a.rotations
}

// Implies reports whether each node whose labels meet x also meets y.
func Implies(x, y require.Set) bool {
	for want := range y.All() {
		have, ok := x.Get(want.Key())
		if !ok || have.MayBeAbsent() && !want.MayBeAbsent() || !have.Empty() && !have.Intersect(want).Equal(have) {
			return false
		}
	}
	return true
}

// RequiredTerms returns the alternatives of a pod's node selector and required node affinity. The verdict is not OK if
// no node can meet any of them.
func RequiredTerms(spec *corev1.PodSpec) ([]require.Set, model.Verdict) {
	selector := require.FromLabels(spec.NodeSelector)
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil ||
		spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return []require.Set{selector}, model.Verdict{}
	}
	var terms []require.Set
	for _, term := range spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		if len(term.MatchFields) > 0 || len(term.MatchExpressions) == 0 {
			continue // no new node can meet fields; an empty term matches nothing by the API
		}
		terms = append(terms, selector.And(require.FromSelector(term.MatchExpressions)))
	}
	if len(terms) == 0 {
		return nil, model.Verdict{Rule: model.RuleInvalid, Subject: "required node affinity has no term with matchExpressions",
			Hint: "add a term with matchExpressions to spec.affinity.nodeAffinity of the pod"}
	}
	return terms, model.Verdict{}
}

// Refuse returns the first taint that the tolerations do not tolerate, and true if there is one.
func (t *Tolerations) Refuse(taints []corev1.Taint) (corev1.Taint, bool) {
	for _, taint := range taints {
		if taint.Effect == corev1.TaintEffectPreferNoSchedule && t.BearsSoft {
			continue
		}
		if !slices.ContainsFunc(t.List, func(o corev1.Toleration) bool { return tolerates(o, taint) }) {
			return taint, true
		}
	}
	if t.also != nil {
		return t.also.Refuse(taints)
	}
	return corev1.Taint{}, false
}

// RefuseHard reports whether the tolerations refuse a taint other than PreferNoSchedule.
func (t *Tolerations) RefuseHard(taints []corev1.Taint) bool {
	soft := func(x corev1.Taint) bool { return x.Effect == corev1.TaintEffectPreferNoSchedule }
	if slices.ContainsFunc(taints, soft) {
		taints = slices.DeleteFunc(slices.Clone(taints), soft)
	}
	_, refused := t.Refuse(taints)
	return refused
}

func tolerates(t corev1.Toleration, taint corev1.Taint) bool {
	if t.Effect != "" && t.Effect != taint.Effect {
		return false
	}
	if t.Key != "" && t.Key != taint.Key {
		return false
	}
	if t.Operator == corev1.TolerationOpExists {
		return true
	}
	return t.Key != "" && t.Value == taint.Value && (t.Operator == "" || t.Operator == corev1.TolerationOpEqual)
}
