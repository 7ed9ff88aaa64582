package cluster

import (
	"fmt"
	"maps"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/component-helpers/apps/poddisruptionbudget"

	"github.com/karpenter-go/karpenter/internal/sim/kubeapi"
)

// disruptedFor is how long an evicted pod counts as disrupted if it is not deleted.
const disruptedFor = 2 * time.Minute

// budget writes the status of a PodDisruptionBudget.
func (w *Workloads) budget(now time.Time, r ref) (time.Time, error) {
	b, ok := kubeapi.Find[*policyv1.PodDisruptionBudget](w.c.server, r.namespace, r.name)
	if !ok {
		return time.Time{}, nil
	}
	selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
	if err != nil {
		selector = labels.Nothing()
	}
	var pods []*corev1.Pod
	for _, pod := range kubeapi.List[*corev1.Pod](w.c.server) {
		if pod.Namespace == b.Namespace && selector.Matches(labels.Set(pod.Labels)) {
			pods = append(pods, pod)
		}
	}
	b = b.DeepCopy()
	next := forgetDisrupted(b, pods, now)
	expected, desired, err := w.goal(b, pods)
	if err != nil {
		// As in kube-controller-manager, no disruption is allowed if the expected number of pods is not known.
		b.Status.DisruptionsAllowed, b.Status.ObservedGeneration = 0, b.Generation
		setSyncFailed(b, err, now)
		_, err = kubeapi.UpdateStatus(w.c.server, b)
		return next, err
	}
	healthy := int32(0)
	for _, pod := range pods {
		if ok, _ := podReady(pod); !ok || pod.DeletionTimestamp != nil {
			continue
		}
		if _, disrupted := b.Status.DisruptedPods[pod.Name]; !disrupted {
			healthy++
		}
	}
	s := &b.Status
	s.ExpectedPods, s.DesiredHealthy, s.CurrentHealthy, s.ObservedGeneration = expected, desired, healthy, b.Generation
	s.DisruptionsAllowed = 0
	if expected > 0 {
		s.DisruptionsAllowed = max(0, healthy-desired)
	}
	setDisruptionAllowed(b, now)
	_, err = kubeapi.UpdateStatus(w.c.server, b)
	return next, err
}

// setDisruptionAllowed sets the condition that says whether a disruption is allowed.
func setDisruptionAllowed(b *policyv1.PodDisruptionBudget, now time.Time) {
	if poddisruptionbudget.ConditionsAreUpToDate(b) {
		return
	}
	before := maps.Collect(byType(b.Status.Conditions))
	poddisruptionbudget.UpdateDisruptionAllowedCondition(b)
	stamp(b, before, now)
}

// setSyncFailed sets the condition that says why the status is not known.
func setSyncFailed(b *policyv1.PodDisruptionBudget, err error, now time.Time) {
	before := maps.Collect(byType(b.Status.Conditions))
	poddisruptionbudget.UpdateDisruptionAllowedCondition(b)
	for i := range b.Status.Conditions {
		if c := &b.Status.Conditions[i]; c.Type == policyv1.DisruptionAllowedCondition {
			c.Reason, c.Message = policyv1.SyncFailedReason, err.Error()
		}
	}
	stamp(b, before, now)
}

func byType(all []metav1.Condition) func(yield func(string, metav1.Condition) bool) {
	return func(yield func(string, metav1.Condition) bool) {
		for _, c := range all {
			if !yield(c.Type, c) {
				return
			}
		}
	}
}

// stamp replaces the times of conditions, which the library takes from the machine's clock.
func stamp(b *policyv1.PodDisruptionBudget, before map[string]metav1.Condition, now time.Time) {
	for i := range b.Status.Conditions {
		c := &b.Status.Conditions[i]
		if old, ok := before[c.Type]; ok && old.Status == c.Status {
			c.LastTransitionTime = old.LastTransitionTime
		} else {
			c.LastTransitionTime = seconds(now)
		}
	}
}

// forgetDisrupted drops disrupted pods that were deleted, or that were not deleted within disruptedFor. It returns when the next
// expires.
func forgetDisrupted(b *policyv1.PodDisruptionBudget, pods []*corev1.Pod, now time.Time) (next time.Time) {
	kept := map[string]metav1.Time{}
	for _, pod := range pods {
		at, ok := b.Status.DisruptedPods[pod.Name]
		if !ok || pod.DeletionTimestamp != nil {
			continue
		}
		if expires := at.Add(disruptedFor); now.Before(expires) {
			kept[pod.Name], next = at, earliest(next, expires)
		}
	}
	b.Status.DisruptedPods = kept
	if len(kept) == 0 {
		b.Status.DisruptedPods = nil
	}
	return next
}

// goal returns how many pods a budget expects, and how many of them must be healthy.
func (w *Workloads) goal(b *policyv1.PodDisruptionBudget, pods []*corev1.Pod) (expected, desired int32, err error) {
	switch {
	case b.Spec.MaxUnavailable != nil:
		if expected, err = w.expectedPods(pods); err != nil {
			return 0, 0, err
		}
		n, err := scaled(b.Spec.MaxUnavailable, intstr.IntOrString{}, expected, true)
		return expected, max(0, expected-n), err
	case b.Spec.MinAvailable == nil:
		return int32(len(pods)), 0, nil
	case b.Spec.MinAvailable.Type == intstr.Int:
		return int32(len(pods)), b.Spec.MinAvailable.IntVal, nil
	}
	if expected, err = w.expectedPods(pods); err != nil {
		return 0, 0, err
	}
	desired, err = scaled(b.Spec.MinAvailable, intstr.IntOrString{}, expected, true)
	return expected, desired, err
}

// expectedPods returns the sum of the replicas of the controllers of pods. Pods without a controller do not count. It fails
// for controllers without a scale, such as DaemonSets and Jobs.
func (w *Workloads) expectedPods(pods []*corev1.Pod) (int32, error) {
	replicas := map[ref]int32{}
	for _, pod := range pods {
		owner := metav1.GetControllerOf(pod)
		if owner == nil {
			continue
		}
		r := ref{owner.Kind, pod.Namespace, owner.Name}
		switch o := w.c.objects[r].(type) {
		case *appsv1.ReplicaSet:
			replicas[r] = replicasOf(o.Spec.Replicas)
			if d := metav1.GetControllerOf(o); d != nil && d.Kind == "Deployment" {
				delete(replicas, r)
				if deployment, ok := w.c.objects[ref{d.Kind, pod.Namespace, d.Name}].(*appsv1.Deployment); ok {
					replicas[ref{d.Kind, pod.Namespace, d.Name}] = replicasOf(deployment.Spec.Replicas)
				}
			}
		case *appsv1.StatefulSet:
			replicas[r] = replicasOf(o.Spec.Replicas)
		case *corev1.ReplicationController:
			replicas[r] = replicasOf(o.Spec.Replicas)
		case nil: // the controller does not exist any more
		default:
			return 0, fmt.Errorf("%s %s does not implement the scale subresource", owner.Kind, owner.Name)
		}
	}
	total := int32(0)
	for _, n := range replicas {
		total += n
	}
	return total, nil
}
