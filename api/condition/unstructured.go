package condition

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// An Unstructured is an object of a kind without a Go type, with the conditions
// in its status.
type Unstructured struct {
	*unstructured.Unstructured
	dependents []string
}

// OfUnstructured returns u with the root condition Ready, which depends on the
// given conditions. Without dependents, the root depends on all other
// conditions of the object.
func OfUnstructured(u *unstructured.Unstructured, dependents ...string) Unstructured {
	return Unstructured{Unstructured: u, dependents: dependents}
}

// StatusConditions implements Object.
func (u Unstructured) StatusConditions() Types {
	types := Types{Root: "Ready", Dependents: u.dependents}
	if len(types.Dependents) > 0 {
		return types
	}
	for _, c := range u.GetConditions() {
		if c.Type != types.Root {
			types.Dependents = append(types.Dependents, c.Type)
		}
	}
	return types
}

// GetConditions implements Object. Conditions that cannot be read are left out.
func (u Unstructured) GetConditions() []metav1.Condition {
	list, _, _ := unstructured.NestedSlice(u.Object, "status", "conditions")
	var out []metav1.Condition
	for _, entry := range list {
		fields, ok := entry.(map[string]any)
		var c metav1.Condition
		if ok && runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &c) == nil {
			out = append(out, c)
		}
	}
	return out
}

// SetConditions implements Object.
func (u Unstructured) SetConditions(conditions []metav1.Condition) {
	list := make([]any, 0, len(conditions))
	for i := range conditions {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&conditions[i])
		if err == nil {
			list = append(list, fields)
		}
	}
	status, _, _ := unstructured.NestedMap(u.Object, "status")
	if status == nil {
		status = map[string]any{}
	}
	status["conditions"] = list
	u.Object["status"] = status
}
