package pack

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
	"github.com/karpenter-go/karpenter/engine/topology"
)

// A stage is what a class asks for while it still insists on some of its preferences. What cannot be placed in one stage is
// tried in the next.
type stage struct {
	id        int // among those of its class
	labels    *alternatives
	tolerance *tolerance
	// wide are the rules over labels that nodes share, host those about single nodes.
	wide, host []rule
	// wary is what the pods ask of daemons, escort the same with daemons there of which all company is that they want, sole the same
	// if those may be missing only where there are others of theirs; nil if no daemon is.
	wary, escort, sole *wariness
	// keys are the labels whose domains must be settled, and text is the same as bytes, once somebody asked.
	keys []int
	text string
}

// A rule is a topology.Rule of which the group is known.
type rule struct {
	kind       topology.Kind
	self       bool
	soft       bool // it binds the pod itself only, not those that come after it
	group      int
	skew       int
	minDomains int
	// kin are the groups of all required affinity of the pod: the first of its kind is one of which none has a pod.
	kin []int
}

// maxAlternatives bounds the product of node affinity terms and what volumes allow.
const maxAlternatives = 64

// stagesOf sets what c asks for. It returns a no when no node could ever do.
//
// Preferences are given up in Karpenter's order: pod affinity, pod anti-affinity and node affinity, of each the heaviest
// first; spread that may be ignored; and last, taints that would rather have no pods.
func (p *problem) stagesOf(c *creed, pod *model.Pod) model.Verdict {
	spec := &pod.Object.Spec
	required, no := p.requiredOf(spec)
	if !no.OK() {
		return no
	}
	c.strict = p.alternativesOf(required)
	volumes, no := p.snapshot.VolumesOf(pod)
	if !no.OK() {
		return no
	}
	if required, no = c.withVolumes(required, volumes, p.opts); !no.OK() {
		return no
	}
	plain := p.alternativesOf(required)
	tolerance, patient := p.toleranceOf(spec.Tolerations, false), p.toleranceOf(spec.Tolerations, true)

	soft := slices.Clone(c.rules)
	var preferred []require.Set
	if p.opts.PreferencePolicy != PreferenceIgnore {
		preferred = p.preferredOf(spec)
	}
	for {
		s := stage{id: len(c.stages), labels: plain, tolerance: tolerance}
		if len(preferred) > 0 {
			var terms []require.Set
			for _, t := range required {
				terms = append(terms, t.And(preferred[0]))
			}
			s.labels = p.alternativesOf(terms)
		}
		p.addRules(&s, c, soft)
		c.stages = append(c.stages, s)
		if at := next(soft, topology.Near); at >= 0 {
			soft = slices.Delete(soft, at, at+1)
		} else if at := next(soft, topology.Apart); at >= 0 {
			soft = slices.Delete(soft, at, at+1)
		} else if len(preferred) > 0 {
			preferred = preferred[1:]
		} else if at := next(soft, topology.Spread); at >= 0 {
			soft = slices.Delete(soft, at, at+1)
		} else {
			break
		}
	}
	if p.reluctant {
		last := c.stages[len(c.stages)-1]
		last.id, last.tolerance = len(c.stages), patient
		c.stages = append(c.stages, last)
	}
	return model.Verdict{}
}

// next returns the heaviest preference of a kind, the first of equals; -1 if none is left.
func next(rules []topology.Rule, kind topology.Kind) int {
	best := -1
	for i, r := range rules {
		if r.Soft && r.Kind == kind && (best < 0 || r.Weight > rules[best].Weight) {
			best = i
		}
	}
	return best
}

// requiredOf returns what node selector and required node affinity ask for: alternatives.
func (p *problem) requiredOf(spec *corev1.PodSpec) ([]require.Set, model.Verdict) {
	selector := require.FromLabels(spec.NodeSelector)
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil ||
		spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return []require.Set{selector}, model.Verdict{}
	}
	var terms []require.Set
	for _, term := range spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms {
		if len(term.MatchFields) > 0 || len(term.MatchExpressions) == 0 {
			continue // a term that no new node can satisfy; the API calls an empty one a term that matches nothing
		}
		terms = append(terms, selector.And(require.FromSelector(term.MatchExpressions)))
	}
	if len(terms) == 0 {
		return nil, model.Verdict{Rule: model.RuleInvalid, Subject: "required node affinity has no term with matchExpressions"}
	}
	return terms, model.Verdict{}
}

// preferredOf returns the preferred node affinity, heaviest first.
func (p *problem) preferredOf(spec *corev1.PodSpec) []require.Set {
	if spec.Affinity == nil || spec.Affinity.NodeAffinity == nil {
		return nil
	}
	list := slices.Clone(spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution)
	slices.SortStableFunc(list, func(a, b corev1.PreferredSchedulingTerm) int { return cmp.Compare(b.Weight, a.Weight) })
	var out []require.Set
	for _, t := range list {
		if len(t.Preference.MatchFields) == 0 && len(t.Preference.MatchExpressions) > 0 {
			out = append(out, require.FromSelector(t.Preference.MatchExpressions))
		}
	}
	return out
}

// withVolumes narrows required to nodes that the volumes can follow to, and notes what drivers attach them.
func (c *creed) withVolumes(required []require.Set, volumes []model.Volume, o Options) ([]require.Set, model.Verdict) {
	for _, v := range volumes {
		if v.Driver != "" {
			if c.attach == nil {
				c.attach = map[string]bool{}
			}
			c.attach[v.Driver] = true
		}
		if v.Topology == nil {
			continue
		}
		var both []require.Set
		for _, a := range required {
			for _, b := range v.Topology {
				b = b.Normalize(o.Labels.Aliases)
				if _, ok := a.Intersects(b); ok && len(both) < maxAlternatives {
					both = append(both, a.And(b))
				}
			}
		}
		if len(both) == 0 {
			return nil, model.Verdict{Rule: model.RuleVolume,
				Subject: "volume " + v.Key + " cannot follow to any node that the pod's other volumes, node selector and affinity allow"}
		}
		required = both
	}
	return required, model.Verdict{}
}

// addRules gives s the rules, each with its group.
func (p *problem) addRules(s *stage, c *creed, rules []topology.Rule) {
	for i := range rules {
		r := rule{
			kind: rules[i].Kind, self: rules[i].Self, soft: rules[i].Soft, group: p.groupOf(&rules[i], c, s.tolerance),
			skew: rules[i].MaxSkew, minDomains: rules[i].MinDomains,
		}
		p.groups[r.group].hard = p.groups[r.group].hard || !r.soft
		if p.groups[r.group].key == hostKey {
			s.host = append(s.host, r)
		} else {
			s.wide = append(s.wide, r)
		}
	}
	for _, q := range c.ports {
		s.host = append(s.host, rule{kind: topology.Apart, self: true, group: p.portGroup(q)})
	}
	s.kin()
}

// kin tells each rule of required affinity of the others.
func (s *stage) kin() {
	var kin []int
	for _, rules := range [][]rule{s.wide, s.host} {
		for i := range rules {
			if r := &rules[i]; r.kind == topology.Near && !r.soft {
				kin = append(kin, r.group)
			}
		}
	}
	for _, rules := range [][]rule{s.wide, s.host} {
		for i := range rules {
			if r := &rules[i]; r.kind == topology.Near && !r.soft {
				r.kin = kin
			}
		}
	}
}
