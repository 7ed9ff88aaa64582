package admission_test

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/karpenter-go/karpenter/api"
	"github.com/karpenter-go/karpenter/api/admission"
	"github.com/karpenter-go/karpenter/api/apitest"
	"github.com/karpenter-go/karpenter/api/crds"
)

func TestCases(t *testing.T) {
	checker, err := admission.New()
	if err != nil {
		t.Fatal(err)
	}
	cases, err := apitest.Cases()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			stored, errs := judge(t, checker, c)
			switch {
			case c.WantErr == apitest.OK && len(errs) > 0:
				t.Fatalf("refused: %v", errs.ToAggregate())
			case c.WantErr != apitest.OK && len(errs) == 0:
				t.Fatalf("accepted, want an error with %q", c.WantErr)
			case c.WantErr != apitest.OK && !strings.Contains(errs.ToAggregate().Error(), c.WantErr):
				t.Fatalf("refused with %v, want %q in it", errs.ToAggregate(), c.WantErr)
			}
			if with := apitest.Merge(stored.Object, c.WantStored); c.WantStored != nil {
				if diff := cmp.Diff(with, stored.Object); diff != "" {
					t.Errorf("stored object (-want +got):\n%s", diff)
				}
			}
			if c.WantErr == apitest.OK {
				roundTrip(t, stored)
			}
		})
	}
}

func judge(t *testing.T, checker *admission.Checker, c apitest.Case) (*unstructured.Unstructured, field.ErrorList) {
	t.Helper()
	if c.Old == nil {
		return checker.Create(context.Background(), c.Object)
	}
	if _, errs := checker.Create(context.Background(), c.Old); len(errs) > 0 {
		t.Fatalf("the object before the update is refused: %v", errs.ToAggregate())
	}
	return checker.Update(context.Background(), c.Object, c.Old)
}

// roundTrip checks that the Go type has all fields of the schema: a stored
// object does not change when it is converted to the type and back.
func roundTrip(t *testing.T, stored *unstructured.Unstructured) {
	t.Helper()
	typed, err := api.Scheme().New(stored.GroupVersionKind())
	if err != nil {
		t.Fatal(err)
	}
	err = runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(stored.Object, typed, true)
	if err != nil {
		t.Fatalf("read into the Go type: %v", err)
	}
	back, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		t.Fatal(err)
	}
	again := reflect.New(reflect.TypeOf(typed).Elem()).Interface()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(back, again); err != nil {
		t.Fatalf("read what the Go type wrote: %v", err)
	}
	if diff := cmp.Diff(typed, again, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("object changed on its way through JSON (-before +after):\n%s", diff)
	}
}

func TestUnknownKind(t *testing.T) {
	checker, err := admission.New()
	if err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(schema.GroupVersionKind{Group: "karpenter.sh", Version: "v1", Kind: "Provisioner"})
	if checker.Knows(o.GroupVersionKind()) {
		t.Error("Knows says yes")
	}
	if _, errs := checker.Create(context.Background(), o); len(errs) != 1 {
		t.Errorf("got %v, want one error", errs)
	}
}

// Each error has the path of its field. That includes errors about metadata, and errors for which the library has the
// path only in its text.
func TestFieldsOfErrors(t *testing.T) {
	checker, err := admission.New()
	if err != nil {
		t.Fatal(err)
	}
	pool := func(metadata, spec map[string]any) *unstructured.Unstructured {
		metadata["name"] = "default"
		spec["template"] = map[string]any{"spec": map[string]any{
			"requirements": []any{}, "nodeClassRef": map[string]any{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
		}}
		return &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "karpenter.sh/v1", "kind": "NodePool", "metadata": metadata, "spec": spec,
		}}
	}
	for _, tt := range []struct {
		name   string
		object *unstructured.Unstructured
		want   []string
	}{
		{"good", pool(map[string]any{"labels": map[string]any{"a": "1"}}, map[string]any{}), nil},
		{"label", pool(map[string]any{"labels": map[string]any{"a": true}}, map[string]any{}), []string{"metadata.labels.a"}},
		{"annotations", pool(map[string]any{"annotations": map[string]any{"b": int64(1), "a": int64(1), "c": "1"}}, map[string]any{}),
			[]string{"metadata.annotations.a", "metadata.annotations.b"}},
		{"list of annotations", pool(map[string]any{"annotations": []any{"a"}}, map[string]any{}), []string{"metadata.annotations"}},
		{"number too large", pool(map[string]any{}, map[string]any{"replicas": 1e20}), []string{"spec.replicas"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, errs := checker.Create(context.Background(), tt.object)
			fields := map[string]bool{}
			for _, e := range errs {
				fields[e.Field] = true
			}
			if got := slices.Sorted(maps.Keys(fields)); !slices.Equal(got, tt.want) {
				t.Errorf("errors %v are about %q, want %q", errs, got, tt.want)
			}
		})
	}
}

// Every CEL rule of every CRD has a case that breaks it.
func TestEveryRuleHasACase(t *testing.T) {
	checker, err := admission.New()
	if err != nil {
		t.Fatal(err)
	}
	cases, err := apitest.Cases()
	if err != nil {
		t.Fatal(err)
	}
	said := map[string]string{} // the texts of all errors, by kind
	for _, c := range cases {
		if c.WantErr != apitest.OK {
			_, errs := judge(t, checker, c)
			said[c.Object.GetKind()] += errs.ToAggregate().Error() + "\n"
		}
	}
	list, err := crds.All()
	if err != nil {
		t.Fatal(err)
	}
	for _, crd := range list {
		kind := crd.Spec.Names.Kind
		eachRule(crd.Spec.Versions[0].Schema.OpenAPIV3Schema, func(message string) {
			if !strings.Contains(said[kind], message) {
				t.Errorf("no case breaks the rule of %s that says %q", kind, message)
			}
		})
	}
}

func eachRule(s *apiextensionsv1.JSONSchemaProps, visit func(message string)) {
	for _, rule := range s.XValidations {
		visit(rule.Message)
	}
	for _, child := range s.Properties {
		eachRule(&child, visit)
	}
	if s.Items != nil {
		eachRule(s.Items.Schema, visit)
	}
}

// A condition without a reason is rejected on every kind except NodeClaim. apitest has no case for this,
// because a server removes the status of new objects.
func TestConditionsNeedAReasonExceptOnClaims(t *testing.T) {
	checker, err := admission.New()
	if err != nil {
		t.Fatal(err)
	}
	cases, err := apitest.Cases()
	if err != nil {
		t.Fatal(err)
	}
	bare := map[string]any{"status": map[string]any{"conditions": []any{map[string]any{
		"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z", "message": "",
	}}}}
	seen := map[string]bool{}
	for _, c := range cases {
		kind := c.Object.GetKind()
		if c.WantErr != apitest.OK || seen[kind] {
			continue
		}
		seen[kind] = true
		o := &unstructured.Unstructured{Object: apitest.Merge(c.Object.Object, bare)}
		_, errs := checker.Create(context.Background(), o)
		if refused := len(errs) > 0; refused == (kind == "NodeClaim") {
			t.Errorf("%s with a condition without reason: %v", kind, errs.ToAggregate())
		}
	}
	if len(seen) != 7 {
		t.Errorf("looked at %d kinds, want 7", len(seen))
	}
}
