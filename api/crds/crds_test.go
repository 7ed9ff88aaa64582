package crds_test

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/karpenter-go/karpenter/api"
	"github.com/karpenter-go/karpenter/api/crds"
)

// all returns the CRDs in the API server's own form, with its defaults.
func all(t *testing.T) []*apiextensions.CustomResourceDefinition {
	t.Helper()
	list, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 6 {
		t.Errorf("read %d CRDs, want 6", len(list))
	}
	var internal []*apiextensions.CustomResourceDefinition
	for _, crd := range list {
		apiextensionsv1.SetDefaults_CustomResourceDefinition(crd)
		apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
		in := &apiextensions.CustomResourceDefinition{}
		if err := apiextensionsv1.Convert_v1_CustomResourceDefinition_To_apiextensions_CustomResourceDefinition(crd, in, nil); err != nil {
			t.Fatal(err)
		}
		in.Status.StoredVersions = []string{in.Spec.Versions[0].Name}
		internal = append(internal, in)
	}
	return internal
}

// schemaOf is where the internal form keeps the schema of a CRD with one version.
func schemaOf(crd *apiextensions.CustomResourceDefinition) *apiextensions.JSONSchemaProps {
	if crd.Spec.Validation != nil {
		return crd.Spec.Validation.OpenAPIV3Schema
	}
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema
}

func TestAPIServerAcceptsThem(t *testing.T) {
	for _, crd := range all(t) {
		if errs := validation.ValidateCustomResourceDefinition(context.Background(), crd); len(errs) > 0 {
			t.Errorf("%s: %v", crd.Name, errs.ToAggregate())
		}
	}
}

// The API server sums up what the CEL rules of a CRD may cost at worst, and
// refuses a CRD that costs too much. Half of it is our margin: an API server of
// another version may count differently.
func TestRulesCostLessThanHalfTheBudget(t *testing.T) {
	for _, crd := range all(t) {
		meter := costMeter{env: environment.MustBaseEnvSet(version.MustParse("1.31"))}
		root := schemaOf(crd)
		meter.walk(t, crd.Name, root, validation.RootCELContext(root))
		t.Logf("%s: %d rules, %.2f%% of the total budget, dearest %.2f%% of a rule's: %s", crd.Name, meter.rules,
			100*float64(meter.total)/validation.StaticEstimatedCRDCostLimit,
			100*float64(meter.dearest)/validation.StaticEstimatedCostLimit, meter.dearestAt)
		if meter.total > validation.StaticEstimatedCRDCostLimit/2 {
			t.Errorf("%s: rules cost %d, want at most half of %d", crd.Name, meter.total, validation.StaticEstimatedCRDCostLimit)
		}
		if meter.dearest > validation.StaticEstimatedCostLimit/2 {
			t.Errorf("%s: rule at %s costs %d, want at most half of %d", crd.Name,
				meter.dearestAt, meter.dearest, validation.StaticEstimatedCostLimit)
		}
	}
}

// costMeter adds up what rules cost at worst, as the API server does.
type costMeter struct {
	env            *environment.EnvSet
	rules          int
	total, dearest uint64
	dearestAt      string
}

func (m *costMeter) walk(t *testing.T, at string, s *apiextensions.JSONSchemaProps, ctx *validation.CELSchemaContext) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		child := s.Properties[name]
		m.walk(t, at+"."+name, &child, ctx.ChildPropertyContext(&child, name))
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		child := s.AdditionalProperties.Schema
		m.walk(t, at+".*", child, ctx.ChildAdditionalPropertiesContext(child))
	}
	if s.Items != nil && s.Items.Schema != nil {
		m.walk(t, at+"[]", s.Items.Schema, ctx.ChildItemsContext(s.Items.Schema))
	}
	if len(s.XValidations) == 0 {
		return
	}
	info, err := ctx.TypeInfo()
	if err != nil {
		t.Fatal(err)
	}
	results, err := cel.Compile(info.Schema, info.DeclType, celconfig.PerCallLimit, m.env, cel.NewExpressionsEnvLoader())
	if err != nil {
		t.Fatal(err)
	}
	for i, result := range results {
		if result.Error != nil {
			t.Errorf("%s: rule %q: %v", at, s.XValidations[i].Rule, result.Error)
		}
		times := result.MaxCardinality
		if ctx.MaxCardinality != nil {
			times = *ctx.MaxCardinality
		}
		m.add(fmt.Sprintf("%s, rule %d", at, i), result.MaxCost*times+result.MessageExpressionMaxCost)
	}
}

func (m *costMeter) add(at string, cost uint64) {
	m.rules++
	m.total += cost
	if cost > m.dearest {
		m.dearest, m.dearestAt = cost, at
	}
}

func TestEveryFieldAndRuleSaysWhatItMeans(t *testing.T) {
	list, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range list {
		for _, v := range crd.Spec.Versions {
			explained(t, crd.Name, v.Schema.OpenAPIV3Schema)
			for _, column := range v.AdditionalPrinterColumns {
				if column.Description == "" {
					t.Errorf("%s: column %s has no description", crd.Name, column.Name)
				}
			}
		}
	}
}

func explained(t *testing.T, at string, s *apiextensionsv1.JSONSchemaProps) {
	t.Helper()
	for name, child := range s.Properties {
		// metadata is described by the API server.
		if child.Description == "" && name != "metadata" {
			t.Errorf("%s.%s has no description", at, name)
		}
		explained(t, at+"."+name, &child)
	}
	for _, rule := range s.XValidations {
		if len(strings.Fields(rule.Message)) < 4 {
			t.Errorf("%s: message %q of rule %q says too little", at, rule.Message, rule.Rule)
		}
	}
	if s.Items != nil && s.Items.Schema != nil {
		explained(t, at+"[]", s.Items.Schema)
	}
}

func TestEveryKindOfTheSchemeHasACRD(t *testing.T) {
	have := map[schema.GroupVersionKind]bool{}
	for _, crd := range all(t) {
		for _, v := range crd.Spec.Versions {
			have[schema.GroupVersionKind{Group: crd.Spec.Group, Version: v.Name, Kind: crd.Spec.Names.Kind}] = true
		}
	}
	for gvk := range api.Scheme().AllKnownTypes() {
		ours := strings.HasPrefix(gvk.Group, "karpenter.") || strings.HasPrefix(gvk.Group, "autoscaling.")
		meta := strings.HasSuffix(gvk.Kind, "List") || strings.HasSuffix(gvk.Kind, "Options") ||
			gvk.Kind == "WatchEvent" || gvk.Version == "__internal"
		if ours && !meta && !have[gvk] {
			t.Errorf("%s has no CRD", gvk)
		}
	}
}

func TestChartHasTheSameFiles(t *testing.T) {
	const chart = "../../charts/karpenter/crds"
	names, err := fs.Glob(crds.FS, "*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	inChart, err := filepath.Glob(filepath.Join(chart, "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(inChart) != len(names) {
		t.Errorf("the chart has %d CRDs, want %d", len(inChart), len(names))
	}
	for _, name := range names {
		want, err := crds.FS.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(chart, name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("%s differs in the chart: run go run ./hack/gen", name)
		}
	}
}
