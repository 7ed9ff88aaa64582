package random

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/scenario"
)

// drawSelection adds node selectors and node affinity.
func drawSelection(d dice, spec *corev1.PodSpec) {
	if d.oneIn(5) {
		r := pick(d,
			[2]string{corev1.LabelTopologyZone, pick(d, zones...)},
			[2]string{corev1.LabelArchStable, pick(d, "amd64", "arm64")},
			[2]string{apiv1.CapacityTypeLabelKey, pick(d, apiv1.CapacityTypeOnDemand, apiv1.CapacityTypeSpot)},
			[2]string{Rack, pick(d, racks...)},
			[2]string{Team, pick(d, teams...)},
			[2]string{corev1.LabelFailureDomainBetaZone, pick(d, zones...)},
		)
		spec.NodeSelector = map[string]string{r[0]: r[1]}
	}
	if d.oneIn(4) {
		terms := make([]corev1.NodeSelectorTerm, d.between(1, 3))
		for i := range terms {
			terms[i] = nodeTerm(d)
		}
		nodeAffinity(spec).RequiredDuringSchedulingIgnoredDuringExecution = &corev1.NodeSelector{NodeSelectorTerms: terms}
	}
	if d.oneIn(6) {
		a := nodeAffinity(spec)
		for range d.between(1, 2) {
			a.PreferredDuringSchedulingIgnoredDuringExecution = append(a.PreferredDuringSchedulingIgnoredDuringExecution,
				corev1.PreferredSchedulingTerm{Weight: int32(d.between(1, 100)), Preference: nodeTerm(d)})
		}
	}
}

func nodeAffinity(spec *corev1.PodSpec) *corev1.NodeAffinity {
	a := affinity(spec)
	if a.NodeAffinity == nil {
		a.NodeAffinity = &corev1.NodeAffinity{}
	}
	return a.NodeAffinity
}

func affinity(spec *corev1.PodSpec) *corev1.Affinity {
	if spec.Affinity == nil {
		spec.Affinity = &corev1.Affinity{}
	}
	return spec.Affinity
}

func nodeTerm(d dice) corev1.NodeSelectorTerm {
	var t corev1.NodeSelectorTerm
	for range d.between(1, 2) {
		t.MatchExpressions = append(t.MatchExpressions, nodeExpression(d))
	}
	return t
}

func nodeExpression(d dice) corev1.NodeSelectorRequirement {
	either := func() corev1.NodeSelectorOperator {
		return pick(d, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn)
	}
	switch d.IntN(7) {
	case 0, 1:
		return corev1.NodeSelectorRequirement{Key: corev1.LabelTopologyZone, Operator: either(), Values: some(d, zones...)}
	case 2:
		return corev1.NodeSelectorRequirement{Key: apiv1.CapacityTypeLabelKey, Operator: either(),
			Values: some(d, apiv1.CapacityTypeOnDemand, apiv1.CapacityTypeSpot, apiv1.CapacityTypeReserved)}
	case 3:
		return corev1.NodeSelectorRequirement{Key: Generation, Values: []string{pick(d, "3", "4", "6")},
			Operator: pick(d, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt)}
	case 4:
		return corev1.NodeSelectorRequirement{Key: Family, Operator: either(), Values: some(d, families...)}
	case 5:
		return corev1.NodeSelectorRequirement{Key: pick(d, Rack, Team),
			Operator: pick(d, corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist)}
	}
	return corev1.NodeSelectorRequirement{Key: Rack, Operator: either(), Values: some(d, racks...)}
}

// drawSpread adds one or two spread constraints, which mostly select the pod itself.
func drawSpread(d dice, p *scenario.Pod) {
	type identity struct {
		key  string
		when corev1.UnsatisfiableConstraintAction
	}
	seen := map[identity]bool{} // the API server refuses duplicates
	for range d.between(1, 2) {
		s := corev1.TopologySpreadConstraint{
			MaxSkew: int32(pick(d, 1, 1, 1, 2, 3)), TopologyKey: domain(d), LabelSelector: spreadSelector(d, p.Labels),
			WhenUnsatisfiable: pick(d, corev1.DoNotSchedule, corev1.DoNotSchedule, corev1.DoNotSchedule, corev1.ScheduleAnyway),
		}
		id := identity{s.TopologyKey, s.WhenUnsatisfiable}
		if seen[id] {
			continue
		}
		seen[id] = true
		if d.oneIn(4) && s.WhenUnsatisfiable == corev1.DoNotSchedule {
			n := int32(d.between(1, 4))
			s.MinDomains = &n
		}
		if d.oneIn(5) {
			s.MatchLabelKeys = []string{"version"}
		}
		if d.oneIn(4) {
			policy := pick(d, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)
			s.NodeAffinityPolicy = &policy
		}
		if d.oneIn(4) {
			policy := pick(d, corev1.NodeInclusionPolicyHonor, corev1.NodeInclusionPolicyIgnore)
			s.NodeTaintsPolicy = &policy
		}
		p.Spec.TopologySpreadConstraints = append(p.Spec.TopologySpreadConstraints, s)
	}
}

// domain draws a topology key.
func domain(d dice) string {
	return pick(d, corev1.LabelTopologyZone, corev1.LabelTopologyZone, corev1.LabelTopologyZone,
		corev1.LabelHostname, corev1.LabelHostname, corev1.LabelHostname,
		apiv1.CapacityTypeLabelKey, Rack, corev1.LabelArchStable, Team)
}

// selector draws a label selector, mostly one that selects pods with the same label app.
func selector(d dice, own map[string]string) *metav1.LabelSelector {
	app := own["app"]
	if d.oneIn(3) {
		app = pick(d, apps...)
	}
	switch d.IntN(10) {
	case 0:
		return &metav1.LabelSelector{} // everything
	case 1:
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "app", Operator: pick(d, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn), Values: some(d, apps...)},
		}}
	case 2:
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: Team, Operator: pick(d, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist)},
		}}
	}
	return &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
}

// spreadSelector draws a selector that is not empty: an empty one selects no pod in a spread constraint.
func spreadSelector(d dice, own map[string]string) *metav1.LabelSelector {
	s := selector(d, own)
	if len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
		s.MatchLabels = map[string]string{"app": own["app"]}
	}
	return s
}

// drawPodAffinity adds affinity or anti-affinity to other pods.
func drawPodAffinity(d dice, p *scenario.Pod) {
	for range d.between(1, 2) {
		a, t := affinity(&p.Spec), podAffinityTerm(d, p.Labels)
		weighted := corev1.WeightedPodAffinityTerm{Weight: int32(d.between(1, 100)), PodAffinityTerm: t}
		switch d.IntN(8) {
		case 0, 1, 2:
			if a.PodAffinity == nil {
				a.PodAffinity = &corev1.PodAffinity{}
			}
			a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(
				a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution, t)
		case 3:
			if a.PodAffinity == nil {
				a.PodAffinity = &corev1.PodAffinity{}
			}
			a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(
				a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution, weighted)
		case 4:
			if a.PodAntiAffinity == nil {
				a.PodAntiAffinity = &corev1.PodAntiAffinity{}
			}
			a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = append(
				a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution, weighted)
		default:
			if a.PodAntiAffinity == nil {
				a.PodAntiAffinity = &corev1.PodAntiAffinity{}
			}
			a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution = append(
				a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution, t)
		}
	}
}

func podAffinityTerm(d dice, own map[string]string) corev1.PodAffinityTerm {
	t := corev1.PodAffinityTerm{TopologyKey: domain(d), LabelSelector: selector(d, own)}
	switch d.IntN(8) {
	case 0:
		t.Namespaces = some(d, spaces...)
	case 1:
		t.NamespaceSelector, t.LabelSelector = &metav1.LabelSelector{}, &metav1.LabelSelector{MatchLabels: map[string]string{"app": own["app"]}}
	case 2:
		t.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{Team: pick(d, teams...)}}
	case 3:
		// NotIn is not drawn. kube-scheduler 1.36 does not load the labels of namespaces here, so NotIn would match all
		// namespaces.
		t.NamespaceSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: "tier", Operator: metav1.LabelSelectorOpIn, Values: some(d, "front", "back")},
		}}
		t.Namespaces = some(d, spaces...)
	}
	switch d.IntN(10) {
	case 0:
		t.MatchLabelKeys = []string{"version"}
	case 1:
		t.MismatchLabelKeys = []string{"version"}
	}
	return t
}
