package capacitybuffer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	autoscalingv1beta1 "github.com/karpenter-go/karpenter/api/autoscaling/v1beta1"
	"github.com/karpenter-go/karpenter/engine/buffer"
	"github.com/karpenter-go/karpenter/engine/model"
)

// Buffers returns the virtual pods of CapacityBuffers. A virtual pod is a pending pod that does not exist. Provisioning keeps
// free capacity for it.
type Buffers struct {
	// Reader reads buffers and the objects that they reference, from a cache.
	Reader client.Reader
	// Quotas is true if Karpenter may read ResourceQuotas. Otherwise, quotas do not limit buffers.
	Quotas bool
}

// Stock returns s with the virtual pods of all buffers. It logs and omits a buffer whose objects cannot be read. If b is
// nil or the buffers cannot be listed, it returns s.
func (b *Buffers) Stock(ctx context.Context, s *model.Snapshot) *model.Snapshot {
	if b == nil {
		return s
	}
	var buffers autoscalingv1beta1.CapacityBufferList
	if err := b.Reader.List(ctx, &buffers); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "failed to list CapacityBuffers")
		return s
	}
	var pods []*corev1.Pod
	for i, src := range b.sources(ctx, buffers.Items) {
		if src != nil {
			pods = append(pods, buffer.Pods(&buffers.Items[i], *src)...)
		}
	}
	if len(pods) == 0 {
		return s
	}
	return s.Apply(model.Delta{Virtual: pods})
}

// sources returns the source of each buffer: its pod template or scalable object, and its ration. The buffers of a namespace get
// their rations of the limits of the namespace in the order of their names. The source is nil for a buffer that is being
// deleted. It is also nil if the objects of a buffer cannot be read; the error is logged.
func (b *Buffers) sources(ctx context.Context, all []autoscalingv1beta1.CapacityBuffer) []*buffer.Source {
	out := make([]*buffer.Source, len(all))
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(x, y int) int {
		return cmp.Or(strings.Compare(all[x].Namespace, all[y].Namespace), strings.Compare(all[x].Name, all[y].Name))
	})
	quotas := map[string]*buffer.Quotas{}
	for _, i := range order {
		o := &all[i]
		if !o.DeletionTimestamp.IsZero() {
			continue
		}
		src, err := b.source(ctx, o)
		if err == nil && quotas[o.Namespace] == nil {
			quotas[o.Namespace], err = b.quotasOf(ctx, o.Namespace)
		}
		if err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "skipping CapacityBuffer",
				"CapacityBuffer", klog.KRef(o.Namespace, o.Name))
			continue
		}
		src.Ration = quotas[o.Namespace].Give(src.Template, buffer.Count(o.Spec, src))
		out[i] = &src
	}
	return out
}

// quotasOf returns the limits of a namespace. Unless b.Quotas is true, ResourceQuotas are not among them.
func (b *Buffers) quotasOf(ctx context.Context, namespace string) (*buffer.Quotas, error) {
	if !b.Quotas {
		return buffer.NewQuotas(nil), nil
	}
	var list corev1.ResourceQuotaList
	if err := b.Reader.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list resourcequotas of namespace %s: %w", namespace, err)
	}
	quotas := make([]*corev1.ResourceQuota, len(list.Items))
	for i := range list.Items {
		quotas[i] = &list.Items[i]
	}
	return buffer.NewQuotas(quotas), nil
}

// rationed returns the source of one buffer: its pod template or scalable object, and the ration that the limits of the namespace
// leave after the buffers that precede it by name.
func (b *Buffers) rationed(ctx context.Context, o *autoscalingv1beta1.CapacityBuffer) (buffer.Source, error) {
	src, err := b.source(ctx, o)
	if err != nil {
		return src, err
	}
	var beside autoscalingv1beta1.CapacityBufferList
	if err := b.Reader.List(ctx, &beside, client.InNamespace(o.Namespace)); err != nil {
		return src, fmt.Errorf("list capacity buffers of namespace %s: %w", o.Namespace, err)
	}
	for i, other := range b.sources(ctx, beside.Items) {
		if beside.Items[i].Name == o.Name && other != nil {
			src.Ration = other.Ration
		}
	}
	return src, nil
}

// source reads the objects that the buffer references. A missing object is not an error: then the result has a Problem.
func (b *Buffers) source(ctx context.Context, o *autoscalingv1beta1.CapacityBuffer) (buffer.Source, error) {
	switch {
	case o.Spec.PodTemplateRef != nil:
		return b.template(ctx, client.ObjectKey{Namespace: o.Namespace, Name: o.Spec.PodTemplateRef.Name})
	case o.Spec.ScalableRef != nil:
		return b.scalable(ctx, o.Namespace, *o.Spec.ScalableRef)
	}
	return failed(autoscalingv1beta1.ReasonResolutionFailed, "Neither spec.podTemplateRef nor spec.scalableRef is set; fix: set one of them"), nil
}

func failed(reason, message string) buffer.Source {
	return buffer.Source{Problem: &buffer.Problem{Reason: reason, Message: message}}
}

func (b *Buffers) template(ctx context.Context, key client.ObjectKey) (buffer.Source, error) {
	var o corev1.PodTemplate
	switch err := b.Reader.Get(ctx, key, &o); {
	case apierrors.IsNotFound(err):
		return failed(autoscalingv1beta1.ReasonPodTemplateNotFound,
			fmt.Sprintf("PodTemplate %s does not exist in namespace %s; fix: create it, or correct spec.podTemplateRef", key.Name, key.Namespace)), nil
	case err != nil:
		return buffer.Source{}, fmt.Errorf("get PodTemplate %s: %w", key, err)
	}
	return buffer.Source{Template: &o.Template, Generation: o.Generation}, nil
}

// scalable reads an object with a pod template and replicas, such as a Deployment.
func (b *Buffers) scalable(
	ctx context.Context, namespace string, ref autoscalingv1beta1.ScalableRef,
) (buffer.Source, error) {
	o := scalableOf(ref)
	if o == nil {
		return failed(autoscalingv1beta1.ReasonResolutionFailed, fmt.Sprintf(
			"spec.scalableRef is a %s of API group %q; fix: refer to a Deployment, StatefulSet or ReplicaSet of apps", ref.Kind, ref.APIGroup)), nil
	}
	switch err := b.Reader.Get(ctx, client.ObjectKey{Namespace: namespace, Name: ref.Name}, o); {
	case apierrors.IsNotFound(err):
		return failed(autoscalingv1beta1.ReasonScalableRefNotFound,
			fmt.Sprintf("%s %s does not exist in namespace %s; fix: create it, or correct spec.scalableRef", ref.Kind, ref.Name, namespace)), nil
	case err != nil:
		return buffer.Source{}, fmt.Errorf("get %s %s/%s: %w", ref.Kind, namespace, ref.Name, err)
	}
	template, replicas := partsOf(o)
	if replicas == nil {
		one := int32(1)
		replicas = &one
	}
	return buffer.Source{Template: template, Generation: o.GetGeneration(), Scale: replicas}, nil
}

// scalableOf returns an empty object of the kind in ref, or nil if that kind is not supported.
func scalableOf(ref autoscalingv1beta1.ScalableRef) client.Object {
	if ref.APIGroup != appsv1.GroupName {
		return nil
	}
	switch ref.Kind {
	case "Deployment":
		return &appsv1.Deployment{}
	case "StatefulSet":
		return &appsv1.StatefulSet{}
	case "ReplicaSet":
		return &appsv1.ReplicaSet{}
	}
	return nil
}

func partsOf(o client.Object) (template *corev1.PodTemplateSpec, replicas *int32) {
	switch o := o.(type) {
	case *appsv1.Deployment:
		return &o.Spec.Template, o.Spec.Replicas
	case *appsv1.StatefulSet:
		return &o.Spec.Template, o.Spec.Replicas
	case *appsv1.ReplicaSet:
		return &o.Spec.Template, o.Spec.Replicas
	}
	return nil, nil
}

// Fixed returns a PodTemplate for each buffer, and the buffer with a reference to it and a fixed number of pods. The number
// is the one that the buffer's fields and the quotas give now. It omits buffers without pods.
func (b *Buffers) Fixed(ctx context.Context) ([]client.Object, error) {
	var buffers autoscalingv1beta1.CapacityBufferList
	if err := b.Reader.List(ctx, &buffers); err != nil {
		return nil, fmt.Errorf("list CapacityBuffers: %w", err)
	}
	var out []client.Object
	for i, src := range b.sources(ctx, buffers.Items) {
		if src == nil {
			continue
		}
		o := buffers.Items[i].DeepCopy()
		n := buffer.Count(o.Spec, *src)
		if n == 0 {
			continue
		}
		template := &corev1.PodTemplate{Template: *src.Template.DeepCopy()}
		template.Namespace, template.Name = o.Namespace, o.Name
		o.Spec = autoscalingv1beta1.CapacityBufferSpec{
			ProvisioningStrategy: o.Spec.ProvisioningStrategy, PodTemplateRef: &autoscalingv1beta1.LocalObjectRef{Name: o.Name}, Replicas: &n,
		}
		out = append(out, template, o)
	}
	return out, nil
}
