package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apimachinery/pkg/util/version"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/karpenter-go/karpenter/api/crds"
)

// all returns the CRDs in the internal form of the API server, with its defaults.
func all(t *testing.T) []*apiextensions.CustomResourceDefinition {
	t.Helper()
	list, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 7 {
		t.Errorf("read %d CRDs, want 7", len(list))
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

// rootSchema returns the schema of a CRD. The internal form stores it in another field if the CRD has only one version.
func rootSchema(crd *apiextensions.CustomResourceDefinition) *apiextensions.JSONSchemaProps {
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

// The API server estimates the maximum cost of the CEL rules of a CRD, and rejects a CRD that exceeds its budget. The test
// allows half of that budget, because another version of the API server may estimate higher costs.
func TestRulesCostLessThanHalfTheBudget(t *testing.T) {
	for _, crd := range all(t) {
		meter := costMeter{env: environment.MustBaseEnvSet(version.MustParse("1.31"))}
		root := rootSchema(crd)
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

// costMeter adds up the maximum cost of rules, as the API server does.
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
