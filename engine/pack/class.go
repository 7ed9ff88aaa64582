package pack

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/require"
)

// A class is a set of pods that are the same to the scheduler: what holds for one holds for all.
type class struct {
	// pods are in key order; those before next are placed.
	pods []*model.Pod
	next int
	// need is what one pod asks for, by column.
	need []int64
	// terms are alternatives: a node must satisfy one of them. An empty Set asks for nothing.
	terms       []require.Set
	tolerations []corev1.Toleration
	// refusal is set when no node could ever do.
	refusal model.Verdict
}

func (c *class) left() int { return len(c.pods) - c.next }

// take returns the next n pods and counts them as placed.
func (c *class) take(n int) []*model.Pod {
	pods := c.pods[c.next : c.next+n]
	c.next += n
	return pods
}

// signature is what the scheduler looks at; two pods with equal signatures are one class.
type signature struct {
	Requests    model.Resources
	Selector    map[string]string
	Affinity    *corev1.NodeSelector
	Tolerations []corev1.Toleration
	Unsupported string
	Left        string
}

// classify groups pods, largest class member first: by cpu, then memory, then key of the first pod. Larger pods are placed
// first because small ones fill the gaps they leave.
func classify(pods []*model.Pod, o Options) []*class {
	byKey := map[string]*class{}
	var classes []*class
	for _, p := range pods {
		s := sign(p)
		s.Left = o.Leave[p.Key]
		key, err := json.Marshal(s) // maps are written in key order
		if err != nil {
			key = []byte("uid " + string(p.UID))
		}
		c := byKey[string(key)]
		if c == nil {
			c = newClass(p, s, o)
			byKey[string(key)] = c
			classes = append(classes, c)
		}
		c.pods = append(c.pods, p)
	}
	slices.SortStableFunc(classes, func(a, b *class) int {
		ra, rb := a.pods[0].Requests, b.pods[0].Requests
		return cmp.Or(
			cmp.Compare(rb[corev1.ResourceCPU], ra[corev1.ResourceCPU]),
			cmp.Compare(rb[corev1.ResourceMemory], ra[corev1.ResourceMemory]),
			strings.Compare(a.pods[0].Key, b.pods[0].Key),
		)
	})
	return classes
}

func sign(p *model.Pod) signature {
	s := signature{
		Requests:    p.Requests,
		Selector:    p.Object.Spec.NodeSelector,
		Tolerations: p.Object.Spec.Tolerations,
		Unsupported: unsupported(&p.Object.Spec),
	}
	if a := p.Object.Spec.Affinity; a != nil && a.NodeAffinity != nil {
		s.Affinity = a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	return s
}

func newClass(p *model.Pod, s signature, o Options) *class {
	c := &class{tolerations: p.Object.Spec.Tolerations}
	if s.Left != "" {
		c.refusal = model.Verdict{Rule: model.RuleInvalid, Subject: s.Left}
		return c
	}
	if s.Unsupported != "" {
		c.refusal = model.Verdict{Rule: model.RuleUnsupported, Subject: s.Unsupported}
		return c
	}
	selector := require.FromLabels(s.Selector).Normalize(o.Labels.Aliases)
	if s.Affinity == nil {
		c.terms = []require.Set{selector}
		return c
	}
	for _, term := range s.Affinity.NodeSelectorTerms {
		if len(term.MatchFields) > 0 || len(term.MatchExpressions) == 0 {
			continue // a term that no new node can satisfy; the API calls an empty one a term that matches nothing
		}
		c.terms = append(c.terms, selector.And(require.FromSelector(term.MatchExpressions).Normalize(o.Labels.Aliases)))
	}
	if len(c.terms) == 0 {
		c.refusal = model.Verdict{Rule: model.RuleInvalid, Subject: "required node affinity has no term with matchExpressions"}
	}
	return c
}

// unsupported names the first thing that the pod asks for and that this package does not decide about, or "".
func unsupported(spec *corev1.PodSpec) string {
	if len(spec.ResourceClaims) > 0 {
		return "resource claims"
	}
	if a := spec.Affinity; a != nil {
		if a.PodAffinity != nil && len(a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
			return "required pod affinity"
		}
		if a.PodAntiAffinity != nil && len(a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution) > 0 {
			return "required pod anti-affinity"
		}
	}
	for _, t := range spec.TopologySpreadConstraints {
		if t.WhenUnsatisfiable == corev1.DoNotSchedule {
			return "topology spread with DoNotSchedule"
		}
	}
	for _, v := range spec.Volumes {
		if v.PersistentVolumeClaim != nil || v.Ephemeral != nil {
			return "persistent volumes"
		}
	}
	for _, c := range spec.Containers {
		for _, port := range c.Ports {
			if port.HostPort != 0 {
				return "host ports"
			}
		}
	}
	return ""
}

// tolerates returns the first of taints that keeps pods with these tolerations away, and true if there is none.
// PreferNoSchedule keeps nobody away.
func tolerates(tolerations []corev1.Toleration, taints []corev1.Taint) (corev1.Taint, bool) {
	for _, taint := range taints {
		if taint.Effect == corev1.TaintEffectPreferNoSchedule {
			continue
		}
		if !slices.ContainsFunc(tolerations, func(t corev1.Toleration) bool { return covers(t, taint) }) {
			return taint, false
		}
	}
	return corev1.Taint{}, true
}

func covers(t corev1.Toleration, taint corev1.Taint) bool {
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
