package admission_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/karpenter-go/karpenter/api/admission"
)

// claim returns a NodeClaim as the server stores it, with a status.
func claim(t *testing.T, checker *admission.Checker) *unstructured.Unstructured {
	t.Helper()
	stored, errs := checker.Create(context.Background(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "karpenter.sh/v1", "kind": "NodeClaim", "metadata": map[string]any{"name": "default-x"},
		"spec": map[string]any{
			"requirements": []any{map[string]any{"key": "karpenter.sh/capacity-type", "operator": "In", "values": []any{"spot"}}},
			"nodeClassRef": map[string]any{"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "default"},
		},
		"status": map[string]any{"nodeName": "node-1"},
	}})
	if len(errs) > 0 {
		t.Fatal(errs.ToAggregate())
	}
	return stored
}

// An update of the status alone has the same result and the same errors as the complete check.
func TestStatusUpdates(t *testing.T) {
	checker, err := admission.New()
	if err != nil {
		t.Fatal(err)
	}
	condition := func(status string) map[string]any {
		return map[string]any{
			"type": "Launched", "status": status, "reason": "Launched", "message": "", "lastTransitionTime": "2026-06-01T00:00:00Z",
		}
	}
	for name, change := range map[string]func(o map[string]any){
		"valid":              func(o map[string]any) { set(o, condition("True"), "status", "conditions") },
		"bad status":         func(o map[string]any) { set(o, condition("Perhaps"), "status", "conditions") },
		"two of one type":    func(o map[string]any) { set(o, []any{condition("True"), condition("False")}, "status", "conditions") },
		"unknown field":      func(o map[string]any) { set(o, "x", "status", "colour") },
		"wrong type":         func(o map[string]any) { set(o, int64(1), "status", "nodeName") },
		"null":               func(o map[string]any) { o["status"] = nil },
		"no status":          func(o map[string]any) { delete(o, "status") },
		"label":              func(o map[string]any) { set(o, "v", "metadata", "labels", "k") },
		"label of a number":  func(o map[string]any) { set(o, int64(1), "metadata", "labels", "k") },
		"spec and status":    func(o map[string]any) { set(o, "1h", "spec", "expireAfter"); set(o, "node-2", "status", "nodeName") },
		"invalid spec":       func(o map[string]any) { set(o, "soon", "spec", "expireAfter") },
		"spec without class": func(o map[string]any) { delete(o["spec"].(map[string]any), "nodeClassRef") },
	} {
		t.Run(name, func(t *testing.T) {
			stored := claim(t, checker)
			object := stored.DeepCopy()
			change(object.Object)
			want, wantErrs := checker.Update(context.Background(), object, stored)
			got, errs := checker.UpdateStored(context.Background(), object, stored)
			if diff := cmp.Diff(text(wantErrs), text(errs)); diff != "" {
				t.Errorf("errors (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want.Object, got.Object); diff != "" {
				t.Errorf("object (-want +got):\n%s", diff)
			}
		})
	}
}

// set sets the field at a path. A map becomes the only item of a list.
func set(o map[string]any, value any, path ...string) {
	for _, key := range path[:len(path)-1] {
		inner, ok := o[key].(map[string]any)
		if !ok {
			inner = map[string]any{}
			o[key] = inner
		}
		o = inner
	}
	if item, ok := value.(map[string]any); ok {
		value = []any{item}
	}
	o[path[len(path)-1]] = value
}

func text(errs field.ErrorList) (out []string) {
	for _, e := range errs {
		out = append(out, e.Error())
	}
	return out
}
