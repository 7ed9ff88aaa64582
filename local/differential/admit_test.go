package differential

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	core "k8s.io/kubernetes/pkg/apis/core"
	_ "k8s.io/kubernetes/pkg/apis/core/install" // registers the API server's defaults
	"k8s.io/kubernetes/pkg/registry/core/pod"
)

// admit returns o as the API server would store it: with defaults, with matchLabelKeys merged into selectors, and validated.
// Its node and status are kept, because a pod may be older than the cluster of the test.
func admit(o *corev1.Pod) (*corev1.Pod, error) {
	in := o.DeepCopy()
	in.Spec.NodeName, in.ResourceVersion, in.OwnerReferences = "", "", nil
	for _, containers := range [][]corev1.Container{in.Spec.Containers, in.Spec.InitContainers} {
		for i := range containers {
			c := &containers[i]
			c.Image, c.TerminationMessagePolicy, c.ImagePullPolicy = "image", corev1.TerminationMessageReadFile, corev1.PullAlways
		}
	}
	legacyscheme.Scheme.Default(in)
	var stored core.Pod
	if err := legacyscheme.Scheme.Convert(in, &stored, nil); err != nil {
		return nil, fmt.Errorf("convert pod: %w", err)
	}
	pod.Strategy.PrepareForCreate(context.Background(), &stored)
	if errs := pod.Strategy.Validate(context.Background(), &stored); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	var out corev1.Pod
	if err := legacyscheme.Scheme.Convert(&stored, &out, nil); err != nil {
		return nil, fmt.Errorf("convert pod back: %w", err)
	}
	out.Status, out.Spec.NodeName, out.OwnerReferences = o.Status, o.Spec.NodeName, o.OwnerReferences
	return &out, nil
}
