package live

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/internal/ledger"
)

// Ledger returns the stored ledger of costs. ok is false if no controller has stored a ledger. If several controllers
// have, the ledger that was stored last is returned.
func Ledger(ctx context.Context, r client.Reader) (found ledger.Saved, ok bool, err error) {
	var list corev1.ConfigMapList
	if err := r.List(ctx, &list, client.MatchingFields{metav1.ObjectNameField: ledger.MapName}); err != nil {
		return found, false, fmt.Errorf("find ConfigMap %s: %w", ledger.MapName, err)
	}
	for i := range list.Items {
		data := list.Items[i].BinaryData[ledger.MapKey]
		if len(data) == 0 {
			continue
		}
		s, err := ledger.Decode(data)
		if err != nil {
			return found, false, fmt.Errorf("ConfigMap %s/%s: %w", list.Items[i].Namespace, ledger.MapName, err)
		}
		if !ok || s.Until.After(found.Until) {
			found, ok = s, true
		}
	}
	return found, ok, nil
}

// Usage returns the current resource usage of pods from the metrics API, by pod key. It is nil if the cluster does not
// serve that API.
func Usage(ctx context.Context, r client.Reader) (map[string]model.Resources, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "metrics.k8s.io", Version: "v1beta1", Kind: "PodMetricsList"})
	if err := r.List(ctx, list); err != nil {
		if meta.IsNoMatchError(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("list usage of pods: %w", err)
	}
	out := make(map[string]model.Resources, len(list.Items))
	for _, item := range list.Items {
		sum := model.Resources{}
		containers, _, _ := unstructured.NestedSlice(item.Object, "containers")
		for _, c := range containers {
			fields, _ := c.(map[string]any)
			used, _, _ := unstructured.NestedStringMap(fields, "usage")
			amounts := corev1.ResourceList{}
			for name, text := range used {
				if q, err := resource.ParseQuantity(text); err == nil {
					amounts[corev1.ResourceName(name)] = q
				}
			}
			sum = sum.Plus(model.RequestsOf(amounts))
		}
		out[item.GetNamespace()+"/"+item.GetName()] = sum
	}
	return out, nil
}
