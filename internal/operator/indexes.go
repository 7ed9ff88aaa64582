package operator

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/karpenter-go/karpenter/api"
	apiv1 "github.com/karpenter-go/karpenter/api/v1"
)

// An index is a field by which objects can be listed from the cache.
type index struct {
	of    client.Object
	field string
	value func(client.Object) string
}

// indexes returns the fields by which controllers list objects.
func indexes() []index {
	class := func(of client.Object, ref func(client.Object) *apiv1.NodeClassReference, prefix string) []index {
		get := func(f func(*apiv1.NodeClassReference) string) func(client.Object) string {
			return func(o client.Object) string {
				if r := ref(o); r != nil {
					return f(r)
				}
				return ""
			}
		}
		return []index{
			{of, prefix + "group", get(func(r *apiv1.NodeClassReference) string { return r.Group })},
			{of, prefix + "kind", get(func(r *apiv1.NodeClassReference) string { return r.Kind })},
			{of, prefix + "name", get(func(r *apiv1.NodeClassReference) string { return r.Name })},
		}
	}
	all := []index{
		{&corev1.Pod{}, "spec.nodeName", func(o client.Object) string { return o.(*corev1.Pod).Spec.NodeName }},
		{&corev1.Node{}, "spec.providerID", func(o client.Object) string { return o.(*corev1.Node).Spec.ProviderID }},
		{&storagev1.VolumeAttachment{}, "spec.nodeName", func(o client.Object) string {
			return o.(*storagev1.VolumeAttachment).Spec.NodeName
		}},
		{&apiv1.NodeClaim{}, "status.providerID", func(o client.Object) string {
			return o.(*apiv1.NodeClaim).Status.ProviderID
		}},
	}
	all = append(all, class(&apiv1.NodeClaim{}, func(o client.Object) *apiv1.NodeClassReference {
		return o.(*apiv1.NodeClaim).Spec.NodeClassRef
	}, "spec.nodeClassRef.")...)
	return append(all, class(&apiv1.NodePool{}, func(o client.Object) *apiv1.NodeClassReference {
		return o.(*apiv1.NodePool).Spec.Template.Spec.NodeClassRef
	}, "spec.template.spec.nodeClassRef.")...)
}

// addIndexes registers the indexes. It returns an error if a custom resource definition is missing; awaitKinds waits for them before.
func addIndexes(ctx context.Context, mgr ctrl.Manager) error {
	for _, x := range indexes() {
		err := mgr.GetFieldIndexer().IndexField(ctx, x.of, x.field, func(o client.Object) []string {
			if v := x.value(o); v != "" {
				return []string{v}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("index objects of kind %s by %s: %w", api.Kind(x.of), x.field, err)
		}
	}
	return nil
}
