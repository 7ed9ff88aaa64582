package objects

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// owner is the field manager of Apply.
const owner = client.FieldOwner("karpenter-local")

// Apply sets the fields of object in the cluster, even those that other managers own. It changes neither fields that
// object lacks nor the status.
func Apply(ctx context.Context, c client.Client, object client.Object) error {
	gvk, err := c.GroupVersionKindFor(object)
	if err != nil {
		return fmt.Errorf("apply %s: %w", object.GetName(), err)
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return fmt.Errorf("apply %s %s: %w", gvk.Kind, object.GetName(), err)
	}
	whole := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(content)}
	whole.SetGroupVersionKind(gvk)
	unstructured.RemoveNestedField(whole.Object, "status")
	unstructured.RemoveNestedField(whole.Object, "metadata", "creationTimestamp")
	err = c.Apply(ctx, client.ApplyConfigurationFromUnstructured(whole), owner, client.ForceOwnership)
	if err != nil {
		return fmt.Errorf("apply %s %s: %w", gvk.Kind, object.GetName(), err)
	}
	return nil
}
