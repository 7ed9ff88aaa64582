package v1_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

var rules = apiv1.CoreLabels().With(awsv1.Labels())

type requirement = apiv1.NodeSelectorRequirementWithMinValues

func TestValidateRequirement(t *testing.T) {
	for _, test := range []struct {
		name string
		r    requirement
		want string // part of the error; "" for no error
	}{
		{"in", requirement{Key: "team", Operator: "In", Values: []string{"a", "b"}, MinValues: ptr.To(2)}, ""},
		{"not in nothing", requirement{Key: "team", Operator: "NotIn"}, ""},
		{"exists", requirement{Key: "example.com/team", Operator: "Exists"}, ""},
		{"zero", requirement{Key: "n", Operator: "Gt", Values: []string{"0"}}, ""},
		{"kubernetes.io is open", requirement{Key: "node.kubernetes.io/mine", Operator: "Exists"}, ""},
		{"well-known of our domain", requirement{Key: apiv1.CapacityTypeLabelKey, Operator: "In", Values: []string{"spot"}}, ""},
		{"well-known of the provider", requirement{Key: awsv1.LabelInstanceFamily, Operator: "In", Values: []string{"m5"}}, ""},
		{"alias of a well-known key", requirement{Key: "beta.kubernetes.io/arch", Operator: "In", Values: []string{"arm64"}}, ""},
		{"one of two values known", requirement{Key: apiv1.CapacityTypeLabelKey, Operator: "In", Values: []string{"spot", "cheap"}}, ""},

		{"operator", requirement{Key: "team", Operator: "Has"}, `bad operator "Has"`},
		{"hostname", requirement{Key: "kubernetes.io/hostname", Operator: "Exists"}, "kubernetes.io/hostname is restricted"},
		{"our domain", requirement{Key: "karpenter.sh/initialized", Operator: "Exists"}, "karpenter.sh/initialized is restricted"},
		{"subdomain", requirement{Key: "ext.karpenter.sh/x", Operator: "Exists"}, "restricted: in the domain karpenter.sh"},
		{"provider's domain", requirement{Key: "karpenter.k8s.aws/x", Operator: "Exists"}, "restricted: in the domain karpenter.k8s.aws"},
		{"no value known", requirement{Key: apiv1.CapacityTypeLabelKey, Operator: "In", Values: []string{"cheap"}}, "use on-demand, reserved, spot"},
		{"too few values known", requirement{Key: apiv1.CapacityTypeLabelKey, Operator: "In", Values: []string{"spot", "x"}, MinValues: ptr.To(2)}, "only 1 of its values"},
		{"no tenancy known", requirement{Key: awsv1.LabelInstanceTenancy, Operator: "In", Values: []string{"host"}}, "use default, dedicated"},
		{"key", requirement{Key: "a b", Operator: "Exists"}, `bad key "a b"`},
		{"value", requirement{Key: "team", Operator: "In", Values: []string{"a b"}}, `bad value "a b"`},
		{"in nothing", requirement{Key: "team", Operator: "In"}, "needs at least one value"},
		{"min values", requirement{Key: "team", Operator: "In", Values: []string{"a"}, MinValues: ptr.To(2)}, "minValues 2 and only 1"},
		{"word", requirement{Key: "n", Operator: "Lt", Values: []string{"ten"}}, "whole number"},
		{"below zero", requirement{Key: "n", Operator: apiv1.NodeSelectorOpGte, Values: []string{"-1"}}, "whole number"},
		{"too large", requirement{Key: "n", Operator: "Gt", Values: []string{"9223372036854775808"}}, "whole number"},
		{"two numbers", requirement{Key: "n", Operator: apiv1.NodeSelectorOpLte, Values: []string{"1", "2"}}, "exactly one value, not 2"},
		{"all mistakes at once", requirement{Key: "karpenter.sh/x y", Operator: "Has", Values: []string{"?"}}, `bad value "?"`},
	} {
		t.Run(test.name, func(t *testing.T) {
			wantError(t, apiv1.ValidateRequirement(test.r, rules), test.want)
		})
	}
}

// The values of an alias are those of the key that it stands for.
func TestKnownValuesOfAnAlias(t *testing.T) {
	const alias = "failure-domain.beta.kubernetes.io/zone"
	rules := apiv1.LabelRules{
		WellKnown: sets.New(corev1.LabelTopologyZone), Aliases: map[string]string{alias: corev1.LabelTopologyZone},
		KnownValues: map[string][]string{corev1.LabelTopologyZone: {"a", "b"}},
	}
	of := func(values ...string) requirement { return requirement{Key: alias, Operator: "In", Values: values} }
	wantError(t, apiv1.ValidateRequirement(of("a", "x"), rules), "")
	wantError(t, apiv1.ValidateRequirement(of("x"), rules), "key topology.kubernetes.io/zone has none of its values")
	two := of("a", "x")
	two.MinValues = ptr.To(2)
	wantError(t, apiv1.ValidateRequirement(two, rules), "only 1 of its values")
	if got := apiv1.UnknownValues(of("a", "x"), rules); !slices.Equal(got, []string{"x"}) {
		t.Errorf("unknown values %q, want x", got)
	}
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	switch {
	case want == "" && err != nil:
		t.Errorf("refused: %v", err)
	case want != "" && err == nil:
		t.Errorf("accepted, want an error with %q", want)
	case want != "" && !strings.Contains(err.Error(), want):
		t.Errorf("got error %q, want %q in it", err, want)
	}
}

func TestUnknownValues(t *testing.T) {
	got := apiv1.UnknownValues(requirement{
		Key: apiv1.CapacityTypeLabelKey, Operator: "In", Values: []string{"x", "spot", "y"},
	}, rules)
	if diff := cmp.Diff([]string{"x", "y"}, got); diff != "" {
		t.Error(diff)
	}
	if got := apiv1.UnknownValues(requirement{Key: "team", Operator: "In", Values: []string{"x"}}, rules); got != nil {
		t.Errorf("got %v for a key with any values", got)
	}
}

func TestValidatePool(t *testing.T) {
	good := apiv1.NodePool{}
	good.Spec.Template.Labels = map[string]string{"team": "a", apiv1.CapacityTypeLabelKey: "spot", "empty": ""}
	good.Spec.Template.Spec.Taints = []corev1.Taint{{Key: "a", Value: "x", Effect: "NoSchedule"}, {Key: "a", Effect: "NoExecute"}}
	good.Spec.Template.Spec.StartupTaints = []corev1.Taint{{Key: "a"}, {Key: "b", Effect: "PreferNoSchedule"}}
	good.Spec.Template.Spec.Requirements = []requirement{{Key: "team", Operator: "Exists"}}
	if err := good.Validate(rules); err != nil {
		t.Errorf("good pool refused: %v", err)
	}

	for _, test := range []struct {
		name   string
		change func(*apiv1.NodeClaimTemplate)
		want   string
	}{
		{"label nodepool", func(t *apiv1.NodeClaimTemplate) { t.Labels["karpenter.sh/nodepool"] = "x" },
			"spec.template.metadata.labels[karpenter.sh/nodepool]: the label is set by Karpenter"},
		{"label key", func(t *apiv1.NodeClaimTemplate) { t.Labels["a b"] = "x" }, "labels[a b]: bad label key"},
		{"label value", func(t *apiv1.NodeClaimTemplate) { t.Labels["team"] = "a b" }, `labels[team]: bad label value "a b"`},
		{"restricted label", func(t *apiv1.NodeClaimTemplate) { t.Labels["karpenter.sh/x"] = "a" }, "karpenter.sh/x is restricted"},
		{"hostname", func(t *apiv1.NodeClaimTemplate) { t.Labels["kubernetes.io/hostname"] = "a" }, "kubernetes.io/hostname is restricted"},
		{"taint without key", func(t *apiv1.NodeClaimTemplate) { t.Spec.Taints[0].Key = "" }, "spec.template.spec.taints[0]: taint has no key"},
		{"taint key", func(t *apiv1.NodeClaimTemplate) { t.Spec.Taints[0].Key = "?" }, `bad taint key "?"`},
		{"taint value", func(t *apiv1.NodeClaimTemplate) { t.Spec.Taints[0].Value = "?" }, `bad taint value "?"`},
		{"taint effect", func(t *apiv1.NodeClaimTemplate) { t.Spec.StartupTaints[0].Effect = "Never" }, `startupTaints[0]: bad taint effect "Never"`},
		{"taint twice over both lists", func(t *apiv1.NodeClaimTemplate) {
			t.Spec.StartupTaints[1] = corev1.Taint{Key: "a", Value: "other", Effect: "NoSchedule"}
		}, "startupTaints[1]: taint a:NoSchedule is there already, at spec.template.spec.taints[0]"},
		{"requirement on nodepool", func(t *apiv1.NodeClaimTemplate) { t.Spec.Requirements[0].Key = "karpenter.sh/nodepool" },
			"requirements[0]: label karpenter.sh/nodepool is the pool's own name"},
		{"bad requirement", func(t *apiv1.NodeClaimTemplate) { t.Spec.Requirements[0].Operator = "In" },
			"spec.template.spec.requirements[0]: operator In of key team"},
	} {
		t.Run(test.name, func(t *testing.T) {
			pool := good.DeepCopy()
			test.change(&pool.Spec.Template)
			wantError(t, pool.Validate(rules), test.want)
		})
	}
}

func TestValidatePoolSaysAllAtOnce(t *testing.T) {
	pool := apiv1.NodePool{}
	pool.Spec.Template.Labels = map[string]string{"a b": "x"}
	pool.Spec.Template.Spec.Taints = []corev1.Taint{{Key: "?"}}
	pool.Spec.Template.Spec.Requirements = []requirement{{Key: "team", Operator: "In"}}
	err := pool.Validate(rules)
	for _, want := range []string{"bad label key", "bad taint key", "needs at least one value"} {
		wantError(t, err, want)
	}
}

func TestLabelRulesWith(t *testing.T) {
	core := apiv1.CoreLabels()
	both := core.With(awsv1.Labels())
	if both.Canonical(awsv1.LabelEBSCSIZone) != corev1.LabelTopologyZone {
		t.Error("the provider's alias is not there")
	}
	if both.Canonical("failure-domain.beta.kubernetes.io/zone") != corev1.LabelTopologyZone {
		t.Error("the core alias is not there")
	}
	if core.WellKnown.Has(awsv1.LabelInstanceCPU) || core.CheckKey(awsv1.LabelInstanceCPU) != nil {
		t.Error("the core rules changed")
	}
	if got := len(both.WellKnown); got != 8+29 {
		t.Errorf("%d well-known labels, want 37", got)
	}
	if diff := cmp.Diff([]string{"karpenter.k8s.aws", "karpenter.sh"}, both.RestrictedDomains); diff != "" {
		t.Error(diff)
	}
}
