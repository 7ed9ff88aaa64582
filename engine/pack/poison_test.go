package pack_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/engine/pack"
	"github.com/karpenter-go/karpenter/engine/scenario"
	"github.com/karpenter-go/karpenter/engine/verify"
)

// poisoned is a cluster with three ordinary pods.
const poisoned = `
pools: [{name: default}]
types: [{name: m.large, cpu: 2, memory: 8Gi, price: 0.10, zones: [a, b]}, {name: m.xlarge, cpu: 4, memory: 16Gi, price: 0.20, zones: [a, b]}]
nodes: [{name: old, pool: default, type: m.large, zone: a}]
pods: [{name: web, namespace: shop, count: 3, cpu: 1, memory: 1Gi}]
`

// evil returns a pending pod of the namespace evil.
func evil(i int) *corev1.Pod {
	name := fmt.Sprintf("evil-%04d", i)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "evil", Name: name, UID: types.UID(name), Labels: map[string]string{"app": name}},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m")}},
		}}},
		Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
			Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable,
		}}},
	}
}

// bomb returns n labels, each as long as the API server accepts.
func bomb(n int) map[string]string {
	out := make(map[string]string, n)
	for i := range n {
		key := fmt.Sprintf("k%062d", i)
		out[key] = "v" + key[1:]
	}
	return out
}

// nodeTerms returns node affinity terms that no node meets, and a last one that every node meets.
func nodeTerms(n int) (terms []corev1.NodeSelectorTerm) {
	term := func(op corev1.NodeSelectorOperator, values ...string) corev1.NodeSelectorTerm {
		return corev1.NodeSelectorTerm{MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelTopologyZone, Operator: op, Values: values}}}
	}
	for i := range n - 1 {
		terms = append(terms, term(corev1.NodeSelectorOpIn, fmt.Sprintf("zone-%d", i)))
	}
	return append(terms, term(corev1.NodeSelectorOpExists))
}

func affinityTerms(n int, key string) (terms []corev1.PodAffinityTerm) {
	for i := range n {
		terms = append(terms, corev1.PodAffinityTerm{
			TopologyKey:   key,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": fmt.Sprintf("none-%d", i)}},
		})
	}
	return terms
}

// One namespace has pods that are as large or as many as the API server accepts. Nevertheless the pods of another namespace
// get nodes. Each pod without a node is refused with a reason.
func TestPoisonDegradesOnlyItself(t *testing.T) {
	one := func(change func(*corev1.Pod)) func(*model.Delta) {
		return func(d *model.Delta) {
			p := evil(0)
			change(p)
			d.Pods = append(d.Pods, p)
		}
	}
	for _, tt := range []struct {
		name   string
		spoil  func(*model.Delta)
		rule   model.Rule // of a refusal; RuleNone if all pods are placed
		fewest int        // the smallest number of refused pods
	}{
		{"a pod with 10,000 labels", one(func(p *corev1.Pod) { p.Labels = bomb(10_000) }), model.RuleNone, 0},
		{"a pod with an annotation of 10 MB", one(func(p *corev1.Pod) {
			p.Annotations = map[string]string{"big": strings.Repeat("x", 10<<20)}
		}), model.RuleNone, 0},
		{"a node with 10,000 labels", func(d *model.Delta) { maps.Copy(d.Nodes[0].Labels, bomb(10_000)) }, model.RuleNone, 0},
		{"a pod with 1,000 node affinity terms", one(func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: nodeTerms(1000)},
			}}
		}), model.RuleNone, 0},
		{"a pod with 1,000 preferred node affinity terms", one(func(p *corev1.Pod) {
			affinity := &corev1.NodeAffinity{}
			for i, term := range nodeTerms(1000) {
				affinity.PreferredDuringSchedulingIgnoredDuringExecution = append(affinity.PreferredDuringSchedulingIgnoredDuringExecution,
					corev1.PreferredSchedulingTerm{Weight: int32(i%100 + 1), Preference: term})
			}
			p.Spec.Affinity = &corev1.Affinity{NodeAffinity: affinity}
		}), model.RuleNone, 0},
		{"a pod with 1,000 anti-affinity terms", one(func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: affinityTerms(1000, corev1.LabelHostname),
			}}
		}), model.RuleNone, 0},
		{"a pod with 1,000 affinity terms that no pod meets", one(func(p *corev1.Pod) {
			p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: affinityTerms(1000, corev1.LabelTopologyZone),
			}}
		}), model.RuleTopology, 1},
		{"a pod with 1,000 tolerations", one(func(p *corev1.Pod) {
			for key := range bomb(1000) {
				p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: key, Operator: corev1.TolerationOpExists})
			}
		}), model.RuleNone, 0},
		{"a pod with 1,000 containers", one(func(p *corev1.Pod) {
			for i := range 1000 {
				c := p.Spec.Containers[0].DeepCopy()
				c.Name = fmt.Sprintf("c-%d", i)
				p.Spec.Containers = append(p.Spec.Containers, *c)
			}
		}), model.RuleResources, 1},
		{"2,000 pods that are each to be without all others", func(d *model.Delta) {
			for i := range 2000 {
				p := evil(i)
				p.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
					RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
						TopologyKey: corev1.LabelHostname,
						LabelSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
							{Key: "app", Operator: metav1.LabelSelectorOpNotIn, Values: []string{p.Name}},
						}},
					}},
				}}
				d.Pods = append(d.Pods, p)
			}
		}, model.RuleEffort, 1000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var c scenario.Cluster
			if err := yaml.UnmarshalStrict([]byte(poisoned), &c); err != nil {
				t.Fatal(err)
			}
			d, err := c.Delta()
			if err != nil {
				t.Fatal(err)
			}
			tt.spoil(&d)
			s := model.Compile(d)
			result := pack.SolveChecked(s, pack.Options{Labels: labels})
			if len(result.Panics) > 0 {
				t.Errorf("panics: %+v", result.Panics)
			}
			if v := verify.Plan(s, result.Plan, labels); len(v) > 0 {
				t.Errorf("the plan does not hold: %v", v)
			}
			if placed := result.Plan.String(); tt.rule == model.RuleNone && len(d.Pods) > 3 && !strings.Contains(placed, "evil/") {
				t.Errorf("the plan does not mention the pod:\n%s", placed)
			}
			refused := 0
			for _, r := range result.Plan.Refusals {
				for _, p := range r.Pods {
					if !strings.HasPrefix(p.Key, "evil/") {
						t.Errorf("%s is refused: %s", p.Key, r)
					}
				}
				refused += len(r.Pods)
				if r.Brief() == "" {
					t.Errorf("%d pods are refused without a reason", len(r.Pods))
				}
			}
			if refused < tt.fewest || (refused > 0) != (tt.rule != model.RuleNone) || refused > 0 && !hasRule(result.Plan, tt.rule) {
				t.Errorf("%d pods are refused, want %d or more by rule %d:\n%.500s", refused, tt.fewest, tt.rule, result.Plan)
			}
		})
	}
}

// hasRule reports whether some pods are refused by the rule.
func hasRule(p *model.Plan, rule model.Rule) bool {
	return slices.ContainsFunc(p.Refusals, func(r model.Refusal) bool {
		return slices.ContainsFunc(r.Reasons, func(v model.PoolVerdict) bool { return v.Verdict.Rule == rule })
	})
}
